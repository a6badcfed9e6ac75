"""An outage of Postgres is waited for once, told from an error, and over when it is over."""

from typing import NoReturn

import psycopg
import pytest
from django.db import OperationalError, ProgrammingError, connection

from capture import durable
from capture.durable import DurableUnavailable, ask


@pytest.fixture(autouse=True)
def outage(monkeypatch: pytest.MonkeyPatch) -> durable._Outage:
    fresh = durable._Outage()
    monkeypatch.setattr(durable, "_outage", fresh)
    return fresh


def refused() -> NoReturn:
    try:
        psycopg.connect("host=127.0.0.1 port=1 connect_timeout=1")
    except psycopg.OperationalError as exc:
        raise OperationalError(str(exc)) from exc
    raise AssertionError("somebody listens on port 1")


def test_nobody_waits_a_second_time() -> None:
    with pytest.raises(DurableUnavailable, match="OperationalError"):
        ask(refused)
    with pytest.raises(DurableUnavailable, match="a moment ago"):
        ask(lambda: pytest.fail("it was asked again"))


def test_after_the_moment_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "OUTAGE_SECONDS", 0)
    with pytest.raises(DurableUnavailable):
        ask(refused)
    assert ask(lambda: 7) == 7


@pytest.mark.django_db
def test_a_query_that_takes_too_long_is_no_outage(outage: durable._Outage) -> None:
    def slow() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 20")
            cursor.execute("SELECT pg_sleep(5)")

    with pytest.raises(DurableUnavailable):
        ask(slow)
    assert not outage.is_on()


@pytest.mark.django_db
def test_a_wrong_query_is_a_fault_of_ours() -> None:
    with pytest.raises(ProgrammingError), connection.cursor() as cursor:
        ask(lambda: cursor.execute("SELECT nothing FROM nowhere"))
