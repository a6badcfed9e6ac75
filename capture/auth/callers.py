"""Who calls, and what that allows: the same for a program with a key and for a person with a session."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, PermissionsMixin


class Scope(StrEnum):
    """What a caller may do."""

    INGEST = "ingest"
    READ_OWN = "read-own"
    READ_ALL = "read-all"
    PROMOTE = "promote"


SEE: Final = "capture.view_agentcallrecord"
KEEP: Final = "capture.pin_hand"
# A person's permissions, as the scopes they stand for. Nobody ingests by hand.
_GRANTS: Final = {SEE: (Scope.READ_OWN, Scope.READ_ALL), KEEP: (Scope.PROMOTE,)}


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in: ``actor`` is ``key:NAME`` or ``user:NAME``, ``agents`` None for any agent."""

    actor: str
    scopes: frozenset[Scope]
    agents: frozenset[str] | None

    def covers(self, agent_id: str) -> bool:
        """Whether the caller may act for this agent."""
        return self.agents is None or agent_id in self.agents


def caller_of_user(user: AbstractBaseUser | AnonymousUser) -> Caller | None:
    """A member of staff, with the scopes of their permissions; None for anybody else."""
    if not isinstance(user, PermissionsMixin) or not (user.is_active and getattr(user, "is_staff", False)):
        return None
    scopes = {scope for right, granted in _GRANTS.items() if user.has_perm(right) for scope in granted}
    return Caller(actor_of_user(user), frozenset(scopes), None)


def actor_of_user(user: AbstractBaseUser | AnonymousUser) -> str:
    """How a person stands in the access log."""
    return f"user:{user.get_username()}"
