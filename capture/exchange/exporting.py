"""A kept hand written to a file: the pinned records' bytes, their envelopes, and the ledger's charges.

An export is of what is kept. What the ledger knows and nobody pinned is named as missing, in the file and to whoever
asked; what only the buffer has is pinned first, with ``promote_hand``.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.db import InterfaceError, OperationalError

from capture.access import log_access
from capture.buffer import Buffer, BufferUnavailable
from capture.exchange.archive import ArchiveWriter, Member, placed
from capture.exchange.charges import write_charges
from capture.exchange.errors import ExchangeError
from capture.exchange.manifest import (
    MANIFEST_NAME,
    Absence,
    EnvelopeEntry,
    Manifest,
    RecordEntry,
    write_manifest,
)
from capture.hands import StoresUnavailable
from capture.ledger import charges_of_hand
from capture.limits import EXPORT_MANIFEST_BYTES
from capture.models import AccessAction, AgentCallRecord
from capture.pins.walking import fetched, sizes, stored_envelope, stored_record
from capture_sdk.records import Charge


@dataclass(frozen=True, slots=True)
class Export:
    """What a file holds, and what it does not.

    ``in_buffer`` are turns that the buffer has and nobody keeps, also such as the ledger does not know; they are not
    in the manifest, for they come and go. It is None where the buffer does not answer.
    """

    agents: tuple[str, ...]
    records: int
    envelopes: int
    charges: int
    missing: tuple[Absence, ...]
    in_buffer: tuple[Absence, ...] | None


def export_hand(
    table_id: str, hand_number: int, path: Path, *, agents: Sequence[str] | None, by: str
) -> Export:
    """Write a hand, or these agents' part of it, to ``path``, which is replaced if it is there.

    Raises ExchangeError when nothing of it is kept or one of the agents is not, and StoresUnavailable.
    """
    hand = (table_id, hand_number)
    try:
        chosen = _chosen(hand, agents)
        with placed(path) as file:
            manifest, charges = _write(file, hand, chosen)
            log_access(AccessAction.EXPORT, actor=by, hand=hand, agents=manifest.agents)
    except (OperationalError, InterfaceError) as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc
    return Export(
        agents=manifest.agents,
        records=len(manifest.records),
        envelopes=len(manifest.envelopes),
        charges=len(charges),
        missing=manifest.missing,
        in_buffer=_in_buffer(manifest, chosen),
    )


def _chosen(hand: tuple[str, int], agents: Sequence[str] | None) -> list[str] | None:
    """The agents that were asked for, each of which has something that is kept; None for all."""
    rows = AgentCallRecord.objects.filter(table_id=hand[0], hand_number=hand[1])
    kept = set(rows.values_list("agent_id", flat=True).distinct())
    unkept = sorted(set(agents or ()) - kept)
    if not kept or unkept:
        whose = f" of {', '.join(map(repr, unkept))}" if unkept else ""
        raise ExchangeError(f"nothing{whose} is kept of {hand[0]!r}:{hand[1]}: {_remedy(hand, unkept)}")
    return sorted(set(agents)) if agents is not None else None


def _remedy(hand: tuple[str, int], agents: list[str]) -> str:
    try:
        live = Buffer.connect().agents(*hand)
    except BufferUnavailable:
        return "the buffer, which may have it, does not answer"
    if live & set(agents or live):
        return "it is in the buffer alone; keep it with promote_hand first"
    return "the buffer does not have it either"


def _in_buffer(manifest: Manifest, agents: list[str] | None) -> tuple[Absence, ...] | None:
    """What ``promote_hand`` would still keep of these agents. A rival's keys are not asked for."""
    buffer = Buffer.connect()
    try:
        asked = agents if agents is not None else sorted(buffer.agents(*manifest.hand))
        lives = buffer.lives({manifest.hand: asked})
    except BufferUnavailable:
        return None
    kept = {(each.agent_id, each.action_index) for each in manifest.records}
    live = [(agent, index) for (_, _, agent), life in lives.items() for index in life.indexes]
    return tuple(Absence(*each, "in_buffer") for each in sorted(live) if each not in kept)


def _write(file: IO[bytes], hand: tuple[str, int], agents: list[str] | None) -> tuple[Manifest, list[Charge]]:
    """Everything but the manifest goes first, row by row; the manifest tells what was met."""
    archive = ArchiveWriter(file)
    records, unreadable, needed = _records(archive, hand, agents)
    envelopes, unwhole = _envelopes(archive, hand, needed)
    charges = _charges(hand, agents)
    met: tuple[RecordEntry | Absence, ...] = (*records, *unreadable)
    known = {(each.agent_id, each.action_index) for each in met}
    manifest = Manifest(
        table_id=hand[0],
        hand_number=hand[1],
        agents=tuple(sorted({agent for agent, _ in known} | {each.key.agent_id for each in charges})),
        records=tuple(records),
        envelopes=tuple(envelopes),
        charges=archive.add("charges.json", write_charges(charges), EXPORT_MANIFEST_BYTES),
        missing=(*unreadable, *unwhole, *_unkept(charges, known)),
    )
    archive.add(MANIFEST_NAME, write_manifest(manifest), EXPORT_MANIFEST_BYTES)
    archive.close()
    return manifest, charges


_Needed = dict[tuple[str, str], list[int]]  # an agent's envelope by its hash, and the turns that need it


def _records(
    archive: ArchiveWriter, hand: tuple[str, int], agents: list[str] | None
) -> tuple[list[RecordEntry], list[Absence], _Needed]:
    """The records that can be read, those that cannot, and what the former need."""
    entries: list[RecordEntry] = []
    unreadable: list[Absence] = []
    needed: _Needed = {}
    for row in _rows(hand, agents):
        record = stored_record(row)
        if record is None:
            unreadable.append(Absence(row.agent_id, row.action_index, "unreadable"))
            continue
        entries.append(_entry(row, archive.add(f"records/{len(entries):05}", bytes(row.record))))
        if record.prompt is not None and record.prompt.env_hash is not None:
            needed.setdefault((row.agent_id, record.prompt.env_hash), []).append(row.action_index)
    return entries, unreadable, needed


def _rows(hand: tuple[str, int], agents: list[str] | None) -> Iterator[AgentCallRecord]:
    """The hand's pinned turns, by action index, then agent: an order that every installation shares."""
    rows = AgentCallRecord.objects.filter(table_id=hand[0], hand_number=hand[1])
    if agents is not None:
        rows = rows.filter(agent_id__in=agents)
    for chunk in fetched(sizes(rows.order_by("action_index", "agent_id"))):
        yield from chunk


def _entry(row: AgentCallRecord, member: Member) -> RecordEntry:
    return RecordEntry(
        row.agent_id, row.action_index, row.agent_version_id, row.pinned_at, row.pinned_by, member
    )


def _envelopes(
    archive: ArchiveWriter, hand: tuple[str, int], needed: _Needed
) -> tuple[list[EnvelopeEntry], list[Absence]]:
    """The envelopes that are as recorded; a damaged one does not leave as if it were good."""
    entries: list[EnvelopeEntry] = []
    unwhole: list[Absence] = []
    for (agent_id, env_hash), indexes in sorted(needed.items()):
        body = stored_envelope((*hand, agent_id), env_hash)
        if body is not None and hashlib.sha256(body).hexdigest() == env_hash:
            member = archive.add(f"envelopes/{env_hash}", body)
            entries.append(EnvelopeEntry(agent_id, env_hash, member))
        else:
            reason = "envelope_gone" if body is None else "envelope_damaged"
            unwhole += [Absence(agent_id, index, reason) for index in indexes]
    return entries, unwhole


def _charges(hand: tuple[str, int], agents: list[str] | None) -> list[Charge]:
    charges = charges_of_hand(*hand, agent_id=None)
    return [each for each in charges if agents is None or each.key.agent_id in agents]


def _unkept(charges: Sequence[Charge], known: set[tuple[str, int]]) -> Iterator[Absence]:
    for charge in charges:
        if not charge.is_fallback and (charge.key.agent_id, charge.key.action_index) not in known:
            yield Absence(charge.key.agent_id, charge.key.action_index, "not_kept")
