"""Service keys and sessions: who calls, and what that allows. Refused by default, compared in constant time.

Keys come from the environment (``configured``) or were made by command and live in the database (``stored``).
"""

from capture.auth.callers import KEEP, SEE, Caller, Scope, actor_of_user, caller_of_user
from capture.auth.configured import configured_key, parse_keys, plain_key
from capture.auth.stored import KeysUnavailable, stored_key

__all__ = [
    "KEEP",
    "SEE",
    "Caller",
    "KeysUnavailable",
    "Scope",
    "actor_of_user",
    "caller_of_key",
    "caller_of_user",
    "parse_keys",
    "plain_key",
]


def caller_of_key(presented: str) -> Caller | None:
    """Whose key it is, or None for anything that is not a key of ours.

    Raises KeysUnavailable when it may be one that is kept in the database, and that does not answer.
    """
    return configured_key(presented) or stored_key(presented)
