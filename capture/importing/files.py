"""Files of recorded runs: found, bounded, recognised, and given to the reader of their format."""

import itertools
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from capture.importing.building import Reading
from capture.importing.claude_code import read_claude_code
from capture.importing.errors import FileRefused
from capture.importing.inspect_logs import read_inspect
from capture.importing.langfuse import read_langfuse
from capture.importing.messages import read_messages
from capture.importing.recognising import Format, recognise
from capture.limits import IMPORT_FILE_BYTES, IMPORT_FILES

_READERS: Final[Mapping[Format, Callable[[Any, str], Reading]]] = {
    Format.MESSAGES: read_messages,
    Format.CLAUDE_CODE: read_claude_code,
    Format.INSPECT: read_inspect,
    Format.LANGFUSE: read_langfuse,
}


def files_in(path: Path) -> list[Path]:
    """A file itself, or every file within a folder, sorted; hidden ones and links within it are left alone.

    Raises FileRefused.
    """
    if not path.is_dir():
        return [path]
    found = list(itertools.islice(_walk(path), IMPORT_FILES + 1))
    if len(found) > IMPORT_FILES:
        raise FileRefused(f"the folder holds more than {IMPORT_FILES} files: give its parts one by one")
    return sorted(found)


def read_file(path: Path, *, agent_id: str | None, wanted: Format | None = None) -> tuple[Format, Reading]:
    """The runs of one file, for an agent; where none is named, for one named as the format is. Raises FileRefused."""
    data = _bytes(path)
    known = recognise(data, wanted)
    reader = _READERS[known.format]
    return known.format, reader(known.content, agent_id or str(known.format))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def _bytes(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FileRefused("it is no file")
        with path.open("rb") as file:
            data = file.read(IMPORT_FILE_BYTES + 1)
    except OSError as exc:
        raise FileRefused(f"it cannot be read: {exc.strerror or exc}") from exc
    if len(data) > IMPORT_FILE_BYTES:
        raise FileRefused(f"it is larger than the {IMPORT_FILE_BYTES} bytes that an import accepts")
    return data
