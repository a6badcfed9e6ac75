"""The API, asked by a machine that read its description: no fault of ours, and no lie.

``API_EXAMPLES=2000`` asks for longer than every run of the tests does.
"""

import json
import os
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection

from capture.api.urls import OPERATIONS
from capture_sdk.runs.records import RunKey
from capture_site.wsgi import application
from tests.build import fall_back, play, seat
from tests.described import assert_conforms, description
from tests.runs import a_run, buffered

pytestmark = pytest.mark.django_db(transaction=True)

HEAD = {"X-Service-Key": "every-scope-key-0123456789abcdef"}
BATCHES = [f"/{each.path}" for each in OPERATIONS if each.batch]
EXAMPLES = settings(
    max_examples=int(os.environ.get("API_EXAMPLES", "60")),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),  # the stores are shared by all the examples, on purpose
)

api = schemathesis.openapi.from_dict(description())
api.app = application
api.config.update(base_url="http://localhost/internal/agent-capture")


@pytest.fixture(autouse=True)
def _stage(buffer: Any, settings: Any) -> None:
    """A key of every scope, and a hand that has the names which come first to such a machine's mind."""
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"all:read-own+read-all+promote+ingest:{HEAD['X-Service-Key']}"
    play(seat("0", table_id="0", hand_number=0), 0)
    fall_back(seat("0", table_id="0", hand_number=0), 1)
    buffered(*a_run(RunKey("0", "0")))


@api.exclude(path=BATCHES).parametrize()
@EXAMPLES
def test_every_question_is_answered_as_described(case: Any) -> None:
    answer = case.call_and_validate(headers=HEAD)
    assert case.meta.generation.mode.is_negative or answer.status_code not in (401, 403)


@api.include(path=BATCHES).parametrize()
@EXAMPLES
def test_every_batch_is_answered_as_described(case: Any) -> None:
    # A bad item is told so in its own result: the batch is not rejected for it.
    answer = case.call_and_validate(headers=HEAD, excluded_checks=[negative_data_rejection])
    assert case.meta.generation.mode.is_negative or answer.status_code not in (401, 403)
    if answer.status_code == 200:
        items = case.body[case.path.rpartition("/")[2]]
        results = json.loads(answer.content)["results"]
        refused = [item for item, each in zip(items, results, strict=True) if each["status"] != "written"]
        assert case.path != "/charges" or not [item for item in refused if is_charge(item)]


def is_charge(item: Any) -> bool:
    """Whether it is what the description calls a charge, its integers written without a fraction of zero."""
    try:
        assert_conforms(item, {"$ref": "#/components/schemas/Charge"})
    except jsonschema_rs.ValidationError:
        return False
    return not any(
        isinstance(value, float) for name, value in item.items() if name not in ("amount", "usage")
    )
