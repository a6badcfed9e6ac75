"""A file's runs made durable, and what came of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from capture.access import log_run_access
from capture.importing.building import ImportedRun, Reading
from capture.importing.errors import FileRefused
from capture.importing.files import files_in, read_file
from capture.importing.recognising import Format
from capture.models import AccessAction
from capture.runs.writing import store_run
from capture_sdk.runs.records import EventKind


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What an import did with one file, or would do: its runs, or why it was refused. ``inserted`` counts events."""

    path: Path
    format: Format | None = None
    runs: tuple[ImportedRun, ...] = ()
    inserted: int = 0
    notes: tuple[str, ...] = ()
    refused: str | None = None

    @property
    def events(self) -> int:
        """Events in the file, whether they were here already or not."""
        return sum(len(run.events) for run in self.runs)

    def count(self, kind: EventKind) -> int:
        """Events of one kind in the file."""
        return sum(run.count(kind) for run in self.runs)


@dataclass(frozen=True, slots=True)
class Importer:
    """Imports files, one by one, for an agent; ``wanted`` is the format that somebody says they have."""

    by: str
    agent_id: str | None = None
    wanted: Format | None = None
    dry_run: bool = False

    def take(self, paths: list[Path]) -> Iterator[ImportedFile]:
        """Import files and all that folders hold. Raises StoresUnavailable; what was imported before it stays."""
        seen: set[Path] = set()
        for path in paths:
            try:
                found = files_in(path)
            except (FileRefused, OSError) as exc:
                yield ImportedFile(path, refused=str(FileRefused(str(exc))))
                continue
            for each in found:
                if each not in seen:
                    seen.add(each)
                    yield self._file(each)

    def _file(self, path: Path) -> ImportedFile:
        try:
            known, reading = read_file(path, agent_id=self.agent_id, wanted=self.wanted)
        except FileRefused as exc:
            return ImportedFile(path, refused=str(exc))
        inserted = 0 if self.dry_run else self._store(reading)
        return ImportedFile(path, known, reading.runs, inserted, reading.notes)

    def _store(self, reading: Reading) -> int:
        """Each run in a transaction of its own; events that are here already are not written again."""
        inserted = 0
        for run in reading.runs:
            written = store_run(run.events, run.artifacts, by=self.by)[run.key]
            inserted += written.inserted
            detail = f"{written.inserted} of {len(run.events)} events were new"
            log_run_access(AccessAction.IMPORT_RUN, run.key, actor=self.by, detail=detail)
        return inserted
