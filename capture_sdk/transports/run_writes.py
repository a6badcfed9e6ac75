"""How events of runs are written: the scripts, and the commands of one batch. The Redis transport runs them.

A run's key is one hash: each event under its id, as its arrival number (8 bytes) and its encoded bytes, beside the
run's head, whose fields begin with NUL, as no id can:

    \\0events                  the last arrival number; the first follows the ms of the run's beginning times 1,024, so
                              that a run which expired and begins again goes on counting upwards
    \\0began  \\0at             when the first and the last event arrived, in the store's ms
    \\0count:{kind}            events of this kind
    \\0first:run.started  \\0last:run.finished  \\0last:run.resumed     as events stand under their ids; a
                              resumption by one that only takes part is none
    \\0artifacts  \\0artifact:{sha256}      how many artifacts the events refer to, and which

TTL rule: artifacts outlive the run, and each event renews the run. A run with artifacts is therefore renewed once its
time has become shorter by the slack, after all its artifacts, and not for each event anew.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from capture_sdk.errors import RecordError
from capture_sdk.keys import RUN_AGENTS_KEY, artifact_key, run_key, runs_key
from capture_sdk.runs.records import EventKind, RunKey, decode_event
from capture_sdk.transports import EventParcel

# KEYS[1] gets events: ARGV[3..] are id, kind, head field or nothing, encoded event, number of artifacts, their hashes.
# The answer is the artifacts that must be renewed before KEYS[1] can be.
ADD_EVENTS: Final = r"""
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ms = string.format('%.0f', now)
local ttl, slack = tonumber(ARGV[1]), tonumber(ARGV[2])
local place = tonumber(redis.call('HGET', KEYS[1], '\0events') or now * 1024)
local before, i = place, 3
while ARGV[i] do
  local id, kind, mark, event, count = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4])
  local held = struct.pack('>I8', place + 1) .. event
  if redis.call('HSETNX', KEYS[1], id, held) == 1 then
    place = place + 1
    redis.call('HINCRBY', KEYS[1], '\0count:' .. kind, 1)
    if string.sub(mark, 2, 6) == 'first' then redis.call('HSETNX', KEYS[1], mark, held)
    elseif mark ~= '' then redis.call('HSET', KEYS[1], mark, held) end
    for j = i + 5, i + 4 + count do
      local new = redis.call('HSETNX', KEYS[1], '\0artifact:' .. ARGV[j], '')
      if new == 1 then redis.call('HINCRBY', KEYS[1], '\0artifacts', 1) end
    end
  end
  i = i + 5 + count
end
if place > before then
  redis.call('HSETNX', KEYS[1], '\0began', ms)
  redis.call('HSET', KEYS[1], '\0at', ms, '\0events', string.format('%.0f', place))
end
local left = redis.call('PTTL', KEYS[1])
local shares = redis.call('HEXISTS', KEYS[1], '\0artifacts') == 1
if left < 0 or (left < ttl and not shares) then redis.call('PEXPIRE', KEYS[1], ttl) end
local due = {}
if left >= 0 and left < ttl - slack and shares then
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(name, 1, 10) == '\0artifact:' then due[#due + 1] = string.sub(name, 11) end
  end
end
return due
"""
# KEYS[1] is a sorted set whose members ARGV[2..] were active now; what was not for ARGV[1] ms leaves it.
MARK_ACTIVE: Final = """
local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], string.format('%.0f', ms), ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', ms - ARGV[1]))
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
"""

# A command, and the places in the batch of the parcels that fail when it does.
Command = tuple[tuple[object, ...], tuple[int, ...]]

ARRIVALS_PER_MS: Final = 1_024  # as many as the script counts: a place in a run stays below 2**53
_WEEK_MS: Final = 7 * 86_400_000
_SLACK_MS: Final = 600_000  # a run of a day's time is renewed six times an hour at most
_MARKS: Final = {
    EventKind.RUN_STARTED: "\0first:run.started",
    EventKind.RUN_FINISHED: "\0last:run.finished",
    EventKind.RUN_RESUMED: "\0last:run.resumed",
}


def remembered_ms(ttl_ms: int) -> int:
    """For how long a run's name is known after its last event: longer than the run, so that it can be missed."""
    return max(_WEEK_MS, 2 * ttl_ms)


def event_writes(
    parcels: Sequence[EventParcel], lacking: Collection[str], ttl_ms: int
) -> Iterator[tuple[RunKey | None, Command]]:
    """Each run's events that can be read back, with the run, and the sets that name it."""
    runs: dict[RunKey, list[int]] = {}
    for place, parcel in enumerate(parcels):
        if not any(blob.key in lacking for blob in parcel.blobs):
            runs.setdefault(parcel.run, []).append(place)
    slack = min(_SLACK_MS, ttl_ms // 16)
    for run, places in runs.items():
        values = [value for place in places for value in _values(parcels[place])]
        yield run, ((ADD_EVENTS, run_key(run.agent_id, run.run_id), ttl_ms, slack, *values), tuple(places))
    agents: dict[str, list[str]] = {}
    for run in runs:
        agents.setdefault(run.agent_id, []).append(run.run_id)
    kept = remembered_ms(ttl_ms)
    for agent_id, names in agents.items():
        places = [place for run in runs if run.agent_id == agent_id for place in runs[run]]
        yield None, ((MARK_ACTIVE, runs_key(agent_id), kept, *names), tuple(places))
    if agents:
        everywhere = tuple(place for places in runs.values() for place in places)
        yield None, ((MARK_ACTIVE, RUN_AGENTS_KEY, kept, *agents), everywhere)


def renewals_of(run: RunKey, artifacts: Iterable[bytes], renew: str, ttl_ms: int) -> Iterator[Command]:
    """What keeps a run that goes on, and what it needs: artifacts before it, and once more behind it."""
    keys = [artifact_key(sha256.decode()) for sha256 in artifacts]
    for key in (*keys, run_key(run.agent_id, run.run_id), *keys):
        yield (renew, key, ttl_ms), ()


def _values(parcel: EventParcel) -> tuple[object, ...]:
    hashes = tuple(dict.fromkeys(blob.hash for blob in parcel.artifacts))
    kind = parcel.kind.encode("utf-8", "surrogatepass")
    return parcel.event_id, kind, _mark(parcel), parcel.event, len(hashes), *hashes


def _mark(parcel: EventParcel) -> str:
    """The field of the head that tells what this event does, if it does anything for the run as a whole."""
    if parcel.kind == EventKind.RUN_RESUMED and _is_part(parcel.event):
        return ""
    return _MARKS.get(parcel.kind, "")  # type: ignore[call-overload,no-any-return]


def _is_part(event: bytes) -> bool:
    try:
        return decode_event(event).fields.get("isPart") is True
    except (RecordError, ValueError):
        return False  # a reader will say that it is damaged
