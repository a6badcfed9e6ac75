"""What the API can be asked: one value an endpoint, from which its doors and its description are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from django.http import HttpRequest, HttpResponse

from capture.api.parameters import Parameter
from capture.auth import Caller, Scope
from capture_sdk.records import TurnKey


class ApiRequest(HttpRequest):
    """A request that was let in. ``given`` has the parameters, read: from the query, or a command's JSON body."""

    caller: Caller
    given: Mapping[str, Any]


def hand_of(request: ApiRequest) -> tuple[str, int]:
    """Table id and hand number that a request names."""
    return request.given["tableId"], request.given["handNumber"]


def agent_of(request: ApiRequest) -> str:
    """The agent that a request names, which its caller covers."""
    return str(request.given["agentId"])


def turn_of(request: ApiRequest) -> TurnKey:
    """The turn that a request names."""
    return TurnKey(*hand_of(request), agent_of(request), request.given["actionIndex"])


class View(Protocol):
    """What answers an operation."""

    def __call__(self, request: ApiRequest) -> HttpResponse: ...


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint: ``path`` below the API's root, for callers with at least one of ``scopes``.

    ``batch`` names the list that a batch's body carries. ``answer`` is the schema of a good answer, or the media
    type of one that is not JSON, and ``headers`` what its head then says; ``statuses`` are those it has beside 200 and
    the errors of every operation.
    """

    method: str
    path: str
    scopes: frozenset[Scope]
    parameters: tuple[Parameter, ...]
    batch: str | None
    answer: str
    statuses: tuple[int, ...]
    view: View
    headers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in URLs, metrics and logs."""
        return self.path

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return (self.view.__doc__ or "").strip()

    @property
    def is_of_every_agent(self) -> bool:
        """Whether it shows every agent's turns, which a caller bound to some may not see."""
        is_of_one = any(each.name == "agentId" and each.is_required for each in self.parameters)
        is_always = self.batch is None and not self.is_for_everybody and not is_of_one
        return is_always and not self.may_name_agent

    @property
    def may_name_agent(self) -> bool:
        """Whether it shows one agent's where that is named, and every agent's where none is."""
        is_optional = any(each.name == "agentId" and not each.is_required for each in self.parameters)
        return is_optional and Scope.READ_OWN in self.scopes

    @property
    def is_for_everybody(self) -> bool:
        """Whether any valid key or session will do, whatever its scopes and agents."""
        return self.scopes == EVERYBODY


EVERYBODY: Final = frozenset(Scope)
ANYTHING: Final = "application/octet-stream"


def operation(
    method: str,
    path: str,
    *scopes: Scope,
    parameters: tuple[Parameter, ...] = (),
    batch: str | None = None,
    answer: str,
    statuses: tuple[int, ...] = (),
    headers: tuple[str, ...] = (),
) -> Callable[[View], Operation]:
    """Make a view an operation."""

    def made(view: View) -> Operation:
        return Operation(method, path, frozenset(scopes), parameters, batch, answer, statuses, view, headers)

    return made
