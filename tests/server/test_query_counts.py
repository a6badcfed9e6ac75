"""What a read or a pin costs the stores does not grow with the hand: counted, so that it cannot creep in."""

from typing import Any

import pytest
from django.test import Client as Http

from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db

HEAD = {"X-Service-Key": "operator-key-0123456789abcdef"}
ROOT = "/internal/agent-capture/"
HAND_OF: dict[str, str | int] = {"tableId": TABLE, "handNumber": HAND}
SEAT: dict[str, str | int] = HAND_OF | {"agentId": "river-rat"}


@pytest.fixture(autouse=True, params=[1, 30])
def _hand(request: pytest.FixtureRequest, settings: Any, buffer: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"operator:read-all+promote:{HEAD['X-Service-Key']}"
    for agent in ("river-rat", "rival"):
        for index in range(request.param):
            play(seat(agent), index)


def test_a_live_hand_is_two_queries_and_a_line_of_the_access_log(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(3):
        assert Http().get(f"{ROOT}hand", SEAT, headers=HEAD).status_code == 200


def test_a_pinned_one_asks_for_its_envelopes_and_dictionaries_too(django_assert_num_queries: Any) -> None:
    Http().post(f"{ROOT}promote", SEAT, content_type="application/json", headers=HEAD)
    with django_assert_num_queries(5):
        assert Http().get(f"{ROOT}hand", SEAT, headers=HEAD).status_code == 200


def test_every_agents_hand_is_no_more(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(3):
        assert Http().get(f"{ROOT}hand-all", HAND_OF, headers=HEAD).status_code == 200


def test_a_prompt_costs_no_more_than_itself(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        query = SEAT | {"actionIndex": 0}
        assert Http().get(f"{ROOT}prompt", query, headers=HEAD).status_code == 200


def test_a_pin_writes_in_a_fixed_number_of_statements(django_assert_num_queries: Any) -> None:
    # Savepoint, lock, charges, count; dictionaries, envelopes and records written, and read back; release; the log.
    with django_assert_num_queries(12):
        answer = Http().post(f"{ROOT}promote", SEAT, content_type="application/json", headers=HEAD)
    assert answer.json()["status"] == "pinned"


def test_a_page_of_recent_hands_asks_the_ledger_nothing(django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(2) as queries:
        assert Http().get(f"{ROOT}recent-hands", headers=HEAD).status_code == 200
    assert not [query for query in queries if "agent_inference_charges" in query["sql"]]
