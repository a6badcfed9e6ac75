"""What the API narrows recent hands to, and how it refuses what it cannot read."""

from typing import Any

import pytest
from django.test import Client as Http

from capture.api.filters import hand_filter
from capture.api.parameters import moment
from capture.ledger import record_charges
from capture.recent import EVERY_HAND, HandFilter, StandsOut
from tests.charges import NOW, charge, pinned_turn

KEY = "operator-key-0123456789abcdef"


@pytest.fixture(autouse=True)
def keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"operator:read-all:{KEY}"


def ask(**query: Any) -> Any:
    return Http().get("/internal/agent-capture/recent-hands", query, headers={"X-Service-Key": KEY})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({}, [2, 1]),
        ({"tableId": "u"}, [2]),
        ({"agentId": "b"}, [2]),
        ({"agentVersionId": "v 1+"}, [1]),
        ({"model": "m&m"}, [1]),
        ({"standsOut": "fallback"}, [2]),
        ({"since": NOW.isoformat(), "until": "2024-01-02T13:00:01+01:00"}, [1]),
        ({"until": NOW.isoformat()}, []),
        ({"pinned": "true"}, [1]),
        ({"pinned": "false", "tableId": "t"}, []),
        ({"tableId": "", "standsOut": "", "since": "", "pinned": ""}, [2, 1]),
    ],
)
def test_each_filter_narrows_the_list(buffer: Any, query: dict[str, str], numbers: list[int]) -> None:
    record_charges([charge(0, hand=1, model="m&m", agent_version_id="v 1+")])
    record_charges([charge(5, "b", 2, "u", is_fallback=True)])
    pinned_turn(0, hand=1)
    assert [hand["handNumber"] for hand in ask(**query).json()["hands"]] == numbers


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("tableId", "x" * 201, "1 to 200 characters"),
        ("agentId", "a\x00b", "NUL"),
        ("standsOut", "Clamped", "one of clamped, fallback, redacted, not 'Clamped'"),
        ("since", "2026-01-31T12:00:00", "names no offset"),
        ("since", "2026-01-31", "names no offset"),
        ("until", "yesterday", "ISO 8601 such as 2026-01-31T12:00:00Z, not 'yesterday'"),
        ("until", "0001-01-01T00:00:00+14:00", "ISO 8601"),
        ("since", "9" * 5_000, "ISO 8601"),
        ("pinned", "1", "one of true, false, not '1'"),
        ("pinned", "True", "one of true, false"),
    ],
)
def test_what_is_no_filter_is_400_and_named_with_what_is_wanted(name: str, value: str, wanted: str) -> None:
    response = ask(**{name: value})
    error = response.json()["error"]
    assert (response.status_code, error["code"], list(error["fields"])) == (400, "bad_value", [name])
    assert error["message"].startswith(f"{name} ")
    assert wanted in error["message"]


def test_a_time_may_be_written_in_every_zone_and_with_a_plus_that_a_query_made_a_blank() -> None:
    for said in ["2024-01-02T12:00:00Z", "2024-01-02T14:00:00+02:00", "2024-01-02T14:00:00 02:00"]:
        assert moment("since", said) == NOW


def test_what_is_not_given_stays_open() -> None:
    assert hand_filter({}) == EVERY_HAND
    assert hand_filter({"standsOut": "redacted"}) == HandFilter(stands_out=StandsOut.REDACTED)
