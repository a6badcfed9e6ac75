"""The HTTP transport, for agents that hold no Redis credentials: batches to the server's ingest endpoint.

An envelope goes by its hash, and by its bytes only when the server asks for them. A batch that is too large
is halved; a turn that is too large alone is refused with its reason.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from capture_sdk.config import Config
from capture_sdk.errors import TransportError
from capture_sdk.posting import Poster
from capture_sdk.transports import Parcel, Refusal
from capture_sdk.wire import ENVELOPE_NEEDED, REFUSED, TURNS_PATH, WRITTEN, turn_json

_TOO_LARGE: Final = "http_413"


class HttpTransport:
    """Posts parcels to ``config.base_url`` with ``config.service_key``."""

    takes_dictionaries = (
        False  # what crosses the network stands alone; the server packs it for its own buffer
    )

    def __init__(self, config: Config) -> None:
        self._poster = Poster(config)

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Post a batch, then once more those turns whose envelopes the server asks for."""
        results = self._post(parcels, with_envelopes=False)
        asked = [place for place, each in enumerate(results) if each["status"] == ENVELOPE_NEEDED]
        if asked:
            again = self._post([parcels[place] for place in asked], with_envelopes=True)
            for place, result in zip(asked, again, strict=True):
                results[place] = result
        return [
            Refusal(place, str(each.get("reason") or each["status"]), retryable=each["status"] != REFUSED)
            for place, each in enumerate(results)
            if each["status"] != WRITTEN
        ]

    def close(self) -> None:
        """Close the kept connections."""
        self._poster.close()

    def forked(self) -> None:
        """The poster knows by itself that it is in another process."""

    def _post(self, parcels: Sequence[Parcel], *, with_envelopes: bool) -> list[dict[str, Any]]:
        items = [_item(parcel, with_envelopes) for parcel in parcels]
        try:
            results = self._poster.post(TURNS_PATH, {"turns": items}, request_id=uuid4().hex)
        except TransportError as exc:
            if exc.reason != _TOO_LARGE:
                raise
            return self._halves(parcels, with_envelopes=with_envelopes)
        if len(results) != len(parcels):
            raise TransportError("no_capture_server", retryable=False)
        return results

    def _halves(self, parcels: Sequence[Parcel], *, with_envelopes: bool) -> list[dict[str, Any]]:
        if len(parcels) == 1:
            return [{"status": REFUSED, "reason": "too_large"}]
        middle = len(parcels) // 2
        return [
            *self._post(parcels[:middle], with_envelopes=with_envelopes),
            *self._post(parcels[middle:], with_envelopes=with_envelopes),
        ]


def _item(parcel: Parcel, with_envelope: bool) -> dict[str, object]:
    if parcel.envelope is None:
        return turn_json(parcel.record, None, None)
    return turn_json(parcel.record, parcel.envelope.hash, parcel.envelope.data if with_envelope else None)
