"""The HTTP transport, for agents that hold no Redis credentials: batches to the server's ingest endpoints.

An envelope goes by its hash, and by its bytes only when the server asks for them. An artifact goes with its bytes
until the server has taken it once, and then as an envelope does. A batch that is too large is halved; a turn or an
event that is too large alone is refused with its reason.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from uuid import uuid4

from capture_sdk.config import Config
from capture_sdk.errors import TransportError
from capture_sdk.posting import Poster
from capture_sdk.transports import EventParcel, Parcel, Refusal
from capture_sdk.wire import (
    ARTIFACT_NEEDED,
    ENVELOPE_NEEDED,
    REFUSED,
    RUN_EVENTS_PATH,
    TURNS_PATH,
    WRITTEN,
    event_json,
    turn_json,
)

_TOO_LARGE: Final = "http_413"
_ARTIFACTS_REMEMBERED: Final = (
    4_096  # hashes the server has taken: 0.5 MB, and what an agent works with at a time
)
_Cargo = TypeVar("_Cargo")
# What is posted of a parcel: alone, or with the bytes that the server asked for.
_Item = Callable[[_Cargo, bool], dict[str, object]]


class HttpTransport:
    """Posts parcels to ``config.base_url`` with ``config.service_key``."""

    takes_dictionaries = (
        False  # what crosses the network stands alone; the server packs it for its own buffer
    )

    def __init__(self, config: Config) -> None:
        self._poster = Poster(config)
        self._taken: dict[str, None] = {}  # artifacts that the server has, the latest last

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Post a batch, then once more those turns whose envelopes the server asks for."""
        return _refusals(self._asked(TURNS_PATH, "turns", parcels, _turn, ENVELOPE_NEEDED))

    def write_events(self, parcels: Sequence[EventParcel]) -> list[Refusal]:
        """Post a batch, then once more those events whose artifacts the server lacks after all."""
        results = self._asked(RUN_EVENTS_PATH, "events", parcels, self._event, ARTIFACT_NEEDED)
        for parcel, result in zip(parcels, results, strict=True):
            if result["status"] == WRITTEN:
                self._taken |= dict.fromkeys(blob.hash for blob in parcel.artifacts)
        for sha256 in list(itertools.islice(self._taken, max(0, len(self._taken) - _ARTIFACTS_REMEMBERED))):
            del self._taken[sha256]
        return _refusals(results)

    def close(self) -> None:
        """Close the kept connections."""
        self._poster.close()

    def forked(self) -> None:
        """The poster knows by itself that it is in another process."""

    def _asked(
        self, path: str, name: str, parcels: Sequence[_Cargo], item: _Item[_Cargo], needed: str
    ) -> list[dict[str, Any]]:
        results = self._post(path, name, parcels, lambda parcel: item(parcel, False))
        asked = [place for place, each in enumerate(results) if each["status"] == needed]
        if asked:
            again = self._post(path, name, [parcels[place] for place in asked], lambda each: item(each, True))
            for place, result in zip(asked, again, strict=True):
                results[place] = result
        return results

    def _post(
        self, path: str, name: str, parcels: Sequence[_Cargo], item: Callable[[_Cargo], dict[str, object]]
    ) -> list[dict[str, Any]]:
        try:
            payload = {name: [item(parcel) for parcel in parcels]}
            results = self._poster.post(path, payload, request_id=uuid4().hex)
        except TransportError as exc:
            if exc.reason != _TOO_LARGE:
                raise
            if len(parcels) == 1:
                return [{"status": REFUSED, "reason": "too_large"}]
            middle = len(parcels) // 2
            halves = (parcels[:middle], parcels[middle:])
            return [result for half in halves for result in self._post(path, name, half, item)]
        if len(results) != len(parcels):
            raise TransportError("no_capture_server", retryable=False)
        return results

    def _event(self, parcel: EventParcel, with_artifacts: bool) -> dict[str, object]:
        artifacts = [
            (blob.hash, blob.data if with_artifacts or blob.hash not in self._taken else None)
            for blob in parcel.artifacts
        ]
        return event_json(parcel.event, artifacts)


def _turn(parcel: Parcel, with_envelope: bool) -> dict[str, object]:
    if parcel.envelope is None:
        return turn_json(parcel.record, None, None)
    return turn_json(parcel.record, parcel.envelope.hash, parcel.envelope.data if with_envelope else None)


def _refusals(results: Sequence[dict[str, Any]]) -> list[Refusal]:
    return [
        Refusal(place, str(each.get("reason") or each["status"]), retryable=each["status"] != REFUSED)
        for place, each in enumerate(results)
        if each["status"] != WRITTEN
    ]
