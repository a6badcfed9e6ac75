"""What each model call of a run was given: every text of its request, with where it came from. Pure.

Requests are those of OpenAI (chat and responses), Anthropic, Gemini and Bedrock; any other JSON is listed by its
entries, any other text as a whole. A request that was not captured, holds nothing, is not available, or was left out
is each said as that, and none of them is an empty list.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from capture.limits import INVENTORY_BYTES, INVENTORY_ITEMS
from capture.runs.inventory import opening
from capture.runs.inventory.formats import finds, format_of
from capture.runs.inventory.found import Found, Kind, Visibility
from capture.runs.inventory.items import Item, annotated, item_of, item_of_annotation, unread_item
from capture.runs.inventory.opening import Opened, Read, RequestState, Room
from capture.runs.pairing import ModelCall, Moment, Paired

__all__ = ["CallContext", "Inventory", "Item", "Read", "RequestState", "inventory"]


@dataclass(frozen=True, slots=True)
class CallContext:
    """One model call's items. ``is_cut``: there are more of them than are listed.

    ``format`` is what the request was read as, ``bytes`` what its artifact has, as read; 0 for one that is none.
    """

    call: str
    state: RequestState
    format: str | None
    artifact: str | None
    items: tuple[Item, ...]
    bytes: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Inventory:
    """A run's model calls with their items, and ``alone`` the annotations that no request holds."""

    calls: tuple[CallContext, ...]
    alone: tuple[Item, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, call by call."""
        return tuple(item for call in self.calls for item in call.items) + self.alone

    @property
    def is_cut(self) -> bool:
        """Whether something was left out for its size."""
        return any(call.is_cut or call.state is RequestState.LEFT_OUT for call in self.calls)


def inventory(paired: Paired, read: Read, *, call: str | None = None) -> Inventory:
    """List what each model call was given, or one of them; ``read`` gives an artifact's bytes, None for an absent one.

    At most ``INVENTORY_ITEMS`` items out of ``INVENTORY_BYTES`` of requests: a call beyond that is ``left_out``.
    """
    said = _by_call(paired)
    known = {each.event_id for each in paired.calls}
    room = Room(INVENTORY_ITEMS, INVENTORY_BYTES)
    strange = [each for key, many in said.items() if key not in known for each in many]
    calls, alone = [], [item_of_annotation(each) for each in strange]
    for each in paired.calls:
        if call in (None, each.event_id):
            found, unmet = _of_call(each, read, said.get(each.event_id, ()), room)
            taken = max(found.bytes, sum(item.bytes or 0 for item in found.items))
            room = Room(room.items - len(found.items), room.bytes - taken)
            calls.append(found)
            alone += unmet
    return Inventory(tuple(calls), tuple(alone))


def _by_call(paired: Paired) -> Mapping[str | None, Sequence[Moment]]:
    """Annotations by the call that they name, or that they were made in."""
    calls = {each.event_id for each in paired.calls}
    found: defaultdict[str | None, list[Moment]] = defaultdict(list)
    for each in paired.annotations:
        parent = each.event.parent_id
        found[each.text("call") or (parent if parent in calls else None)].append(each)
    return found


def _of_call(
    call: ModelCall, read: Read, said: Sequence[Moment], room: Room
) -> tuple[CallContext, Sequence[Item]]:
    opened = opening.opened(call.start.fields, read, room)
    if opened.state is RequestState.LISTED:
        try:
            return _listed(call, opened, said, room.items)
        except RecursionError:
            opened = replace(opened, state=RequestState.LEFT_OUT)
    items: tuple[Item, ...] = ()
    if opened.state is RequestState.UNREAD:
        items = (unread_item(opened.data, opened.reason, call=call.event_id, artifact=opened.artifact),)
    return _context(call, opened, items), [item_of_annotation(each) for each in said]


def _listed(
    call: ModelCall, opened: Opened, said: Sequence[Moment], room: int
) -> tuple[CallContext, Sequence[Item]]:
    told = format_of(opened.body)
    found = list(islice(_all_finds(call, opened.body, told), room + 1))
    items = [item_of(each, call=call.event_id, artifact=opened.artifact) for each in found[:room]]
    changed, alone = annotated(items, [each.alias for each in found[:room]], said)
    context = _context(call, opened, tuple(changed))
    return replace(context, format=told, is_cut=len(found) > room), alone


def _context(call: ModelCall, opened: Opened, items: tuple[Item, ...]) -> CallContext:
    return CallContext(call.event_id, opened.state, None, opened.artifact, items, bytes=opened.size)


def _all_finds(call: ModelCall, body: object, told: str) -> Iterable[Found]:
    yield from finds(body, told)
    fields = call.start.fields
    beside = ("settings",) if "request" not in fields else ("params", "settings")
    for name in beside:
        if fields.get(name):
            yield Found(f"({name})", fields[name], Kind.SETTINGS, visibility=Visibility.HIDDEN)
