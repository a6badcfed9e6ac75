"""With Postgres really down: the API serves the buffer and says so, the pages answer 503 and say so."""

import json
from typing import Any

import pytest

from tests.build import HAND, TABLE, Seat, redis_client
from tests.site_process import PRODUCTION, run

ASK = """
import json, sys, django
django.setup()
from django.test import Client
path, cookie = sys.argv[1:]
client = Client(headers={"X-Service-Key": "hunter2hunter2hunter2hunter2", "host": "capture.example.org"})
if cookie:
    client.cookies["sessionid"] = cookie
response = client.get(path, secure=True)
print(json.dumps([response.status_code, response.content.decode()]))
"""


@pytest.fixture
def environment(redis_url: str) -> dict[str, str]:
    """A service whose Postgres nobody serves."""
    site = {"AGENT_CAPTURE_REDIS_URL": redis_url, "DJANGO_SETTINGS_MODULE": "capture_site.settings"}
    return PRODUCTION | site


def ask(environment: dict[str, str], path: str, cookie: str = "") -> tuple[int, str]:
    finished = run("-c", ASK, path, cookie, environment=environment)
    assert finished.returncode == 0, finished.stderr
    status, content = json.loads(finished.stdout)
    return status, content


def test_the_api_serves_the_buffer_and_says_what_it_could_not_ask(redis: Any, environment: Any) -> None:
    Seat(redis_client(redis)).play(1)
    query = f"tableId={TABLE}&handNumber={HAND}"
    status, content = ask(environment, f"/internal/agent-capture/hand-all?{query}")
    answer = json.loads(content)
    assert status == 200
    assert answer["sources"] == {"buffer": "ok", "durable": "unavailable"}
    assert (answer["expected"], len(answer["turns"])) == (None, 1)
    assert answer["state"] == "unknown"


def test_recent_hands_are_503(environment: Any) -> None:
    status, content = ask(environment, "/internal/agent-capture/recent-hands")
    assert (status, json.loads(content)["error"]["code"]) == (503, "store_unavailable")


def test_the_pages_are_503_and_say_so(environment: Any) -> None:
    status, content = ask(environment, "/agent-capture/", "a-session-of-somebody")
    assert status == 503
    assert "A store does not answer" in content


def test_with_both_down_everything_is_503(environment: Any) -> None:
    dead = environment | {"AGENT_CAPTURE_REDIS_URL": "redis://127.0.0.1:1/0"}
    status, _ = ask(dead, f"/internal/agent-capture/hand?tableId={TABLE}&handNumber={HAND}&agentId=a")
    assert status == 503
