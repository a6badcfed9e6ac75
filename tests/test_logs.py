"""Log lines: one a request, with its id, as JSON in a service, and nothing in them that was asked or recorded."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Http

from capture.access import current_request_id
from tests.served import Service
from tests.site_process import PRODUCTION, STRONG_KEY, Answer, ask, live

pytestmark = pytest.mark.django_db
HAND = "/internal/agent-capture/hand-all"
SECRET = "s3cr3t-0f-river-rat"
KEY = {"X-Service-Key": STRONG_KEY}
SERVICE = PRODUCTION | {"AGENT_CAPTURE_SERVICE_KEYS": f"operator:read-all+promote:{STRONG_KEY}"}


def lines(log: str) -> list[dict[str, Any]]:
    """Every line of a log, which are all JSON objects."""
    return [json.loads(line) for line in log.splitlines()]


def requests(log: str) -> list[dict[str, Any]]:
    return [each for each in lines(log) if each["logger"] == "capture.requests"]


def provoked(**environment: str) -> Answer:
    """A request that fails unexpectedly, with a secret at every place and in the text of its error."""
    headers = KEY | {"Authorization": SECRET, "Cookie": f"sessionid={SECRET}", "X-Request-Id": "r-5"}
    return ask(
        SERVICE | environment,
        f"/{SECRET}?tableId={SECRET}",
        "POST",
        data=json.dumps({"tableId": SECRET}),
        content_type="application/json",
        headers=headers,
        secure=True,
        urls="tests.failing_urls",
    )


@pytest.mark.parametrize("given", ["a", "A-1.b_c:d", "x" * 128])
def test_a_callers_id_is_taken_over(given: str) -> None:
    answer = Http().get("/healthz", headers={"X-Request-Id": given})
    assert answer.headers["X-Request-Id"] == given
    assert current_request_id.get() == ""


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\x00b", 'a"b', "é", "a\u2028b"])
def test_an_id_that_could_do_harm_is_replaced(given: str) -> None:
    made = Http().get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"]
    assert re.fullmatch("[0-9a-f]{32}", made)


@pytest.mark.parametrize(
    "path", ["/no/such/place", HAND, "/agent-capture/", "/static/nothing.css", "/readyz", "/admin/"]
)
def test_every_answer_has_an_id(path: str) -> None:
    assert Http().get(path).headers["X-Request-Id"]


def test_an_answer_that_no_view_gave_has_an_id() -> None:
    redirected, refused = ask(PRODUCTION, HAND), ask(PRODUCTION, "/healthz", headers={"host": "elsewhere"})
    down = ask(PRODUCTION, "/agent-capture/", secure=True, headers={"Cookie": "sessionid=somebody"})
    assert [each.status for each in (redirected, refused, down)] == [301, 400, 503]
    assert all(each.headers["x-request-id"] for each in (redirected, refused, down))


def test_a_request_is_one_line_that_says_who_and_how_long() -> None:
    answer = ask(SERVICE, f"{HAND}?tableId={SECRET}", headers=KEY | {"X-Request-Id": "r-1"}, secure=True)
    (line,) = requests(answer.log)
    assert (line["method"], line["route"], line["status"]) == ("GET", "capture:hand-all", 400)
    assert (line["actor"], line["request_id"], line["level"]) == ("key:operator", "r-1", "INFO")
    assert line["ms"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert SECRET not in answer.log
    assert STRONG_KEY not in answer.log


def test_a_person_is_named_where_a_page_asked_who_it_is(admin_client: Any, caplog: Any) -> None:
    with caplog.at_level("INFO", "capture.requests"):
        admin_client.get("/admin/")
        admin_client.get("/healthz")
    page, probe = [record.__dict__ for record in caplog.records if record.name == "capture.requests"]
    assert (page["route"], page["actor"]) == ("admin:index", "user:admin")
    assert "actor" not in probe


def test_a_session_is_not_read_for_a_log_line(admin_client: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        admin_client.get("/healthz")


@pytest.mark.parametrize("form", ["json", "line"])
def test_an_error_leaves_its_way_through_the_code_and_nothing_that_was_sent(form: str) -> None:
    answer = provoked(LOG_FORMAT=form)
    assert answer.status == 500
    assert SECRET not in answer.log + answer.body
    assert STRONG_KEY not in answer.log
    assert "failing_urls.py" in answer.log
    assert answer.log.index("KeyError") < answer.log.index("ValueError")


def test_an_answer_while_a_store_is_down_is_one_line_with_its_id() -> None:
    said = [line for line in lines(ask(PRODUCTION, "/readyz").log) if line["logger"] != "psycopg.pool"]
    assert [(line["logger"], line["status"], line["level"]) for line in said] == [
        ("capture.requests", 503, "WARNING")
    ]
    assert said[0]["request_id"] != "-"


def test_every_line_of_a_failed_request_carries_its_id() -> None:
    said = {line["logger"]: line for line in lines(provoked().log)}
    assert set(said) == {"django.request", "capture.requests"}
    assert {line["request_id"] for line in said.values()} == {"r-5"}
    assert said["django.request"]["message"] == "Internal Server Error: [address]"
    assert (said["capture.requests"]["route"], said["capture.requests"]["level"]) == ("fail", "WARNING")


def test_development_shows_what_an_error_says() -> None:
    assert SECRET in provoked(DEBUG="1", ALLOWED_HOSTS="*").log


def test_development_keeps_its_plain_lines() -> None:
    answer = ask(
        PRODUCTION | {"DEBUG": "1", "ALLOWED_HOSTS": "*"}, "/healthz", headers={"X-Request-Id": "r-3"}
    )
    (line,) = [each for each in answer.log.splitlines() if "capture.requests" in each]
    assert re.fullmatch(
        r"\S+Z INFO capture.requests request method=GET route=healthz status=200 ms=[\d.]+ \[r-3\]", line
    )


@pytest.mark.parametrize("form", ["json", "line"])
def test_the_form_can_be_chosen(form: str) -> None:
    log = ask(PRODUCTION | {"LOG_FORMAT": form}, "/healthz").log
    assert log.startswith("{") is (form == "json")


@pytest.fixture
def service(tmp_path: Path, redis_url: str, transactional_db: None) -> Iterator[Service]:
    started = Service(tmp_path, live(redis_url))
    try:
        started.wait()
        yield started
    finally:
        started.stop()


def test_the_servers_own_lines_are_json_too_and_it_keeps_no_access_log(service: Service) -> None:
    host = {"Host": "capture.example.org", "X-Forwarded-Proto": "https"}
    assert service.get(f"{HAND}?tableId={SECRET}", host | KEY)[0] == 400
    service.stop()
    log = service.log.read_text()
    said = lines("\n".join(line for line in log.splitlines() if not line.startswith("System check")))
    assert {"gunicorn.error", "capture.requests"} <= {line["logger"] for line in said}
    assert SECRET not in log
