"""Redis key names and the TTL rule: the contract between whoever writes the buffer and whoever reads it.

    turn:{tableId}:{handNumber}:{agentId}:{actionIndex}   one captured turn
    hand:{tableId}:{handNumber}:{agentId}                 that agent's action-index set
    agents:{tableId}:{handNumber}                         the operator's fan-out set
    env:{envHash}                                         an envelope, stored once, shared
    dict:{hash}                                           an earlier record, the zstd dictionary of later ones
    run:{agentId}:{runId}                                 one run: its events in order of arrival, and its head
    runs:{agentId}                                        that agent's runs, by their last event
    run-agents                                            the agents that have runs: the operator's fan-out
    art:{sha256}                                          an artifact, compressed, stored once, shared

Ids are percent-encoded where they hold ``:``, ``%`` or a control character, so that no id can reach
into another agent's keys and two different id tuples never share a key.

TTL rule: a key that others need outlives them. A shared key's TTL is only ever lengthened.
"""

import re
from typing import Final

from capture_sdk.errors import IdError

ID_MAX_LENGTH: Final = 200
INDEX_MAX: Final = 2**63 - 1

_RESERVED = re.compile(r"[:%\x00-\x1f\x7f-\x9f]")


def checked_id(name: str, value: object) -> str:
    """Return ``value`` if it is an acceptable id: 1 to 200 characters, without NUL, that UTF-8 can write.

    Raises IdError naming the field and the value.
    """
    if not isinstance(value, str):
        raise IdError(f"{name} must be a string, not {type(value).__name__}")
    if not 1 <= len(value) <= ID_MAX_LENGTH:
        raise IdError(f"{name} must have 1 to {ID_MAX_LENGTH} characters, not {len(value)}")
    if "\x00" in value:
        raise IdError(f"{name} {value!r} holds a NUL character, which no store can key")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise IdError(f"{name} {value!r} holds half a surrogate pair, which no store can key") from None
    return str(value)


def checked_index(name: str, value: object) -> int:
    """Return ``value`` if it is an integer from 0 to 2**63 - 1. Raises IdError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise IdError(f"{name} must be an integer, not {type(value).__name__}")
    if not 0 <= value <= INDEX_MAX:
        raise IdError(f"{name} must lie between 0 and 2**63 - 1")
    return int(value)


def encode_id(value: str) -> str:
    """Percent-encode what would be read as a separator: ``:``, ``%`` and control characters."""
    return _RESERVED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), value)


def turn_key(table_id: str, hand_number: int, agent_id: str, action_index: int) -> str:
    """The key of one captured turn."""
    return f"turn:{encode_id(table_id)}:{hand_number}:{encode_id(agent_id)}:{action_index}"


def hand_key(table_id: str, hand_number: int, agent_id: str) -> str:
    """The key of the set of action indexes that one agent has captured in one hand."""
    return f"hand:{encode_id(table_id)}:{hand_number}:{encode_id(agent_id)}"


def agents_key(table_id: str, hand_number: int) -> str:
    """The key of the set of agents that have captured a turn in one hand (members are plain ids)."""
    return f"agents:{encode_id(table_id)}:{hand_number}"


def envelope_key(env_hash: str) -> str:
    """The key of an envelope; ``env_hash`` is the sha256, in hex, of its bytes."""
    return f"env:{env_hash}"


def dictionary_key(content_hash: str) -> str:
    """The key of a dictionary: the first 16 bytes, in hex, of the sha256 of its content, uncompressed."""
    return f"dict:{content_hash}"


def run_key(agent_id: str, run_id: str) -> str:
    """The key of one run."""
    return f"run:{encode_id(agent_id)}:{encode_id(run_id)}"


def runs_key(agent_id: str) -> str:
    """The key of the sorted set of one agent's run ids (plain ids; scores are the store's ms)."""
    return f"runs:{encode_id(agent_id)}"


RUN_AGENTS_KEY: Final = "run-agents"


def artifact_key(sha256: str) -> str:
    """The key of an artifact: the sha256, in hex, of its bytes as they were before compression."""
    return f"art:{sha256}"
