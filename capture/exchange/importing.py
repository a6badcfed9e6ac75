"""An exported hand read back from a file that may be hostile: everything is checked, in one transaction.

Importing twice is the same as once. A turn, envelope or charge that is here already and differs is a conflict: what is
here stays, what is new beside it is still imported, and whoever asked is told.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from django.db import DataError, InterfaceError, OperationalError, transaction

from capture.access import log_access
from capture.exchange.archive import ArchiveReader
from capture.exchange.charges import read_charges
from capture.exchange.errors import ExchangeError
from capture.exchange.kept import Kept, keep_envelope, keep_record
from capture.exchange.manifest import MANIFEST_NAME, Absence, Manifest, RecordEntry
from capture.exchange.reading import check_whole, read_manifest
from capture.hands import StoresUnavailable
from capture.ledger import charges_of_hand, record_charges
from capture.limits import EXPORT_MANIFEST_BYTES
from capture.models import AccessAction
from capture.pins.seats import lock_seat
from capture.pins.verifying import Verdict, judge
from capture.soundness import sound_record
from capture.weight import light_fields
from capture_sdk.codec import unframe
from capture_sdk.errors import RecordError
from capture_sdk.records import TurnKey, TurnRecord


@dataclass(slots=True)
class Tally:
    """Of one kind of thing: how many came in, how many were here already, and which are here and differ."""

    inserted: int = 0
    present: int = 0
    conflicts: list[str] = field(default_factory=list)

    def add(self, kept: Kept, what: str) -> None:
        """Count one."""
        self.inserted += kept is Kept.INSERTED
        self.present += kept is Kept.PRESENT
        if kept is Kept.CONFLICT:
            self.conflicts.append(what)


@dataclass(slots=True)
class Import:
    """What an import did, or would do; ``prompts`` counts what hashing each turn's prompt told."""

    manifest: Manifest
    records: Tally = field(default_factory=Tally)
    envelopes: Tally = field(default_factory=Tally)
    charges: Tally = field(default_factory=Tally)
    prompts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))

    @property
    def conflicts(self) -> list[str]:
        """Everything that is here and differs."""
        return [*self.records.conflicts, *self.envelopes.conflicts, *self.charges.conflicts]

    @property
    def missing(self) -> tuple[Absence, ...]:
        """What the file says that it lacks."""
        return self.manifest.missing


def import_hand(path: Path, *, by: str, dry_run: bool = False) -> Import:
    """Read a file back; with ``dry_run`` everything is checked and counted, and nothing stays.

    Raises ExchangeError for a file that is not taken, of which nothing was written, and StoresUnavailable.
    """
    try:
        with path.open("rb") as file, transaction.atomic():
            done = _import(ArchiveReader(file), by)
            if dry_run:
                transaction.set_rollback(True)
            else:
                _log(done.manifest, by)
            return done
    except DataError as exc:
        raise ExchangeError("the file holds a value that the durable store cannot hold") from exc
    except (OperationalError, InterfaceError) as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc


def _import(archive: ArchiveReader, by: str) -> Import:
    manifest = read_manifest(archive.read(MANIFEST_NAME, EXPORT_MANIFEST_BYTES))
    check_whole(manifest, archive.names)
    for agent_id in sorted(manifest.agents):
        lock_seat((manifest.table_id, manifest.hand_number, agent_id))
    done = Import(manifest)
    _take_envelopes(archive, done)
    _take_records(archive, done, by)
    _take_charges(archive, done)
    return done


def _take_envelopes(archive: ArchiveReader, done: Import) -> None:
    for entry in done.manifest.envelopes:
        body = archive.checked(entry.member)
        if entry.member.sha256 != entry.env_hash:
            raise ExchangeError(f"{entry.member.name!r} is not the envelope {entry.env_hash}")
        kept = keep_envelope(done.manifest, entry, body)
        done.envelopes.add(kept, f"envelope {entry.env_hash} of {entry.agent_id!r}")


def _take_records(archive: ArchiveReader, done: Import, by: str) -> None:
    members = {(each.agent_id, each.env_hash): each.member for each in done.manifest.envelopes}
    envelope = lru_cache(maxsize=4)(archive.checked)
    used: set[tuple[str, str]] = set()
    for entry in done.manifest.records:
        data = archive.checked(entry.member)
        record = _record(done.manifest, entry, data)
        need = (entry.agent_id, (record.prompt.env_hash if record.prompt else None) or "")
        used.add(need)
        whole = record.with_envelope(envelope(members[need]) if need in members else None)
        done.prompts[judge(whole)[0]] += 1
        kept = keep_record(entry, record, data, by)
        done.records.add(kept, f"turn {entry.action_index} of {entry.agent_id!r}")
    if members.keys() - used:
        raise ExchangeError("the file holds an envelope that none of its turns needs")


def _record(manifest: Manifest, entry: RecordEntry, data: bytes) -> TurnRecord:
    try:
        light_fields(unframe(data))
        record = sound_record(data)
    except RecordError as exc:
        raise ExchangeError(f"{entry.member.name!r} is no record: {exc}") from exc
    key = TurnKey(manifest.table_id, manifest.hand_number, entry.agent_id, entry.action_index)
    if record.key != key:
        raise ExchangeError(f"{entry.member.name!r} is the record of another turn than the manifest says")
    return record


def _take_charges(archive: ArchiveReader, done: Import) -> None:
    """Through the ledger's own writer, where the first charge of a turn stays."""
    manifest = done.manifest
    given = {
        charge.key: charge
        for charge in read_charges(archive.checked(manifest.charges, EXPORT_MANIFEST_BYTES))
    }
    for key in given:
        if (key.table_id, key.hand_number) != manifest.hand or key.agent_id not in manifest.agents:
            raise ExchangeError("the file holds a charge of another hand or agent than the manifest says")
    done.charges.inserted = record_charges(list(given.values()))
    here = {charge.key: charge for charge in charges_of_hand(*manifest.hand, agent_id=None)}
    differing = [key for key, charge in given.items() if here[key] != charge]
    done.charges.conflicts += [f"charge {key.action_index} of {key.agent_id!r}" for key in differing]
    done.charges.present = len(given) - done.charges.inserted - len(differing)


def _log(manifest: Manifest, by: str) -> None:
    log_access(AccessAction.IMPORT, actor=by, hand=manifest.hand, agents=manifest.agents)
