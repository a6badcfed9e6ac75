"""``capture_stats``: both stores side by side; one that is down is named, and the other told."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from capture.models import AgentInferenceCharge
from capture.pins.pin import promote
from capture.search.index import index_pending
from capture.stats import durable
from tests.build import HAND, TABLE, fall_back, play, seat
from tests.site_process import PRODUCTION, manage

pytestmark = pytest.mark.django_db


def run() -> tuple[dict[str, Any], str]:
    """The figures, and what was said beside them."""
    out, err = StringIO(), StringIO()
    call_command("capture_stats", "--json", stdout=out, stderr=err)
    return json.loads(out.getvalue()), err.getvalue()


def test_a_key_without_a_ttl_is_counted_and_warned_of(buffer: Any) -> None:
    seat().play(1)
    assert run()[1] == ""
    buffer.persist(f"turn:{TABLE}:{HAND}:river-rat:1")
    buffer.set("somebody:else", 1)
    figures, said = run()
    assert figures["buffer"]["withoutTtl"] == 2
    assert "2 keys of the capture Redis have no TTL" in said


def test_the_durable_side_is_counted_and_weighed(buffer: Any) -> None:
    play(seat("a"), 1)
    fall_back(seat("a"), 2)
    promote(TABLE, HAND, agent_id="a", by="test")
    index_pending(1)
    figures = run()[0]["durable"]
    assert figures["rows"] == {
        "turns": 1,
        "envelopes": 1,
        "dictionaries": 1,
        "charges": 2,
        "hands": 1,
        "searchTexts": 4,
        "runs": 0,
        "runEvents": 0,
        "artifacts": 0,
    }
    disk = figures["diskBytes"]
    assert figures["bytesPerTurn"] == disk["turns"] + disk["envelopes"] + disk["dictionaries"] > 0
    assert figures["estimated"] == []


def test_a_large_table_is_estimated_and_says_so(buffer: Any, monkeypatch: Any) -> None:
    fall_back(seat(), 1)
    fall_back(seat(), 2)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agent_inference_charges, agent_hands")
    AgentInferenceCharge.objects.all().delete()
    monkeypatch.setattr(durable, "STATS_EXACT_ROWS", 1)
    figures = durable.durable_figures()
    assert (figures.estimated, figures.rows["charges"]) == (["charges"], 2)


def test_empty_stores_have_figures_too(buffer: Any) -> None:
    figures, _ = run()
    assert (figures["buffer"]["rawBytes"], figures["durable"]["bytesPerTurn"]) == (None, None)
    assert figures["buffer"]["server"]["maxmemory_policy"] == buffer.info()["maxmemory_policy"]


def test_a_buffer_that_is_down_is_named_and_the_other_is_told(dead_buffer: None) -> None:
    out = StringIO()
    with pytest.raises(CommandError, match="no answer from: buffer"):
        call_command("capture_stats", "--json", stdout=out)
    figures = json.loads(out.getvalue())
    assert (figures["buffer"], figures["down"]) == (None, ["buffer"])
    assert figures["durable"]["rows"]["turns"] == 0


def test_a_durable_store_that_is_down_is_named_and_the_other_is_told(redis_url: str) -> None:
    site = PRODUCTION | {"AGENT_CAPTURE_REDIS_URL": redis_url}
    finished = manage("capture_stats", "--json", environment=site)
    assert finished.returncode == 1
    figures = json.loads(finished.stdout)
    assert (figures["durable"], figures["down"]) == (None, ["durable"])
    assert figures["buffer"]["keys"]["turns"] >= 0
    assert "no answer from: durable" in finished.stderr


def test_people_get_lines(buffer: Any) -> None:
    out = StringIO()
    call_command("capture_stats", stdout=out)
    lines = dict(line.split(maxsplit=1) for line in out.getvalue().splitlines())
    assert (lines["buffer.keys.turns"], lines["durable.rows.hands"]) == ("0", "0")
