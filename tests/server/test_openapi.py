"""The description of the API: valid, whole, and the same from both doors."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import jsonschema_rs
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve
from schemathesis.specs.openapi.definitions import OPENAPI_31

from capture.api.openapi import FOR_PEOPLE, operation_id
from capture.api.urls import OPERATIONS
from capture.auth import Scope
from capture_sdk import __version__
from capture_sdk.wire import charge_from_json, charge_json
from tests.described import DescribedHttp, description, operations
from tests.site_process import ROOT

pytestmark = pytest.mark.django_db

# What is sent in has parts that may be left out; what is answered has none.
_OPEN = ("RecordedTurn", "PlainTurn", "Charge", "RecordedEvent", "PlainEvent", "EventArtifact")
KEYS, STAFF = "/internal/agent-capture/", "/api/hosted-agent/"
BOUND = {"X-Service-Key": "bound-key-0123456789abcdef"}
CHARGE = {
    "tableId": "t",
    "handNumber": 1,
    "agentId": "a",
    "actionIndex": 1,
    "chargedAt": "2026-01-01T00:00:00Z",
}


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"bound:ingest@somebody:{BOUND['X-Service-Key']}"


def person(**fields: Any) -> DescribedHttp:
    client = DescribedHttp()
    client.force_login(User.objects.create_user("kim", **fields))
    return client


def walk(value: object) -> Iterator[dict[str, Any]]:
    """Every object within."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(each)


def test_it_is_openapi_3_1() -> None:
    jsonschema_rs.validator_for(OPENAPI_31).validate(description())
    assert description()["info"]["version"] == __version__


@pytest.mark.parametrize("name", description()["components"]["schemas"])
def test_every_schema_is_one_of_2020_12(name: str) -> None:
    schema = description()["components"]["schemas"][name]
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema)


def test_every_reference_leads_somewhere_and_every_component_is_led_to() -> None:
    asked = {each["$ref"] for each in walk(description()) if isinstance(each.get("$ref"), str)}
    there = {
        f"#/components/{kind}/{name}"
        for kind, components in description()["components"].items()
        if kind != "securitySchemes"
        for name in components
    }
    assert asked == there


def test_every_operation_is_described_and_nothing_else() -> None:
    described = {(method.upper(), path, each["operationId"]) for path, method, each in operations()}
    assert described == {(each.method, f"/{each.path}", operation_id(each)) for each in OPERATIONS}
    assert all(each["summary"].endswith(".") and each["description"] for _, _, each in operations())


@pytest.mark.parametrize("root", [KEYS, STAFF])
def test_every_path_of_it_is_answered_by_its_own_route(root: str) -> None:
    for path, _, _ in operations():
        assert resolve(root + path.removeprefix("/")).url_name == path.removeprefix("/")


@pytest.mark.parametrize("door", [KEYS, STAFF])
@pytest.mark.parametrize("below", ["", "/some/where"])
def test_its_servers_are_both_doors_wherever_it_was_fetched(door: str, below: str) -> None:
    fetched = f"https://example.org{below}{door}openapi.json"
    servers = [urljoin(fetched, each["url"]) for each in description()["servers"]]
    assert servers == [f"https://example.org{below}{root}".rstrip("/") for root in (KEYS, STAFF)]


def test_any_key_and_any_member_of_staff_reads_it() -> None:
    answers = [
        DescribedHttp().get(f"{KEYS}openapi.json", headers=BOUND),
        person(is_staff=True).get(f"{STAFF}openapi.json"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.json() for answer in answers] == [description()] * 2


def test_nobody_else_reads_it() -> None:
    assert DescribedHttp().get(f"{KEYS}openapi.json").status_code == 401
    assert DescribedHttp().get(f"{STAFF}openapi.json").status_code == 401
    assert person().get(f"{STAFF}openapi.json").status_code == 403


@pytest.mark.parametrize("form", ["{}", "W/{}", '"another", {}', "*"])
def test_who_has_it_is_told_so(form: str) -> None:
    etag = DescribedHttp().get(f"{KEYS}openapi.json", headers=BOUND)["ETag"]
    head = BOUND | {"If-None-Match": form.format(etag)}
    answer = DescribedHttp().get(f"{KEYS}openapi.json", headers=head)
    assert (answer.status_code, answer["ETag"], answer.content) == (304, etag, b"")


def test_who_has_another_is_sent_it() -> None:
    head = BOUND | {"If-None-Match": '"another"'}
    assert DescribedHttp().get(f"{KEYS}openapi.json", headers=head).status_code == 200


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.path)
def test_a_session_is_named_as_a_way_in_exactly_where_it_is_one(operation: Any) -> None:
    ways = description()["paths"][f"/{operation.path}"][operation.method.lower()]["security"]
    client = person(is_staff=True, is_superuser=True)
    answer = client.generic(operation.method, STAFF + operation.path, b"{}", content_type="application/json")
    assert any("staffSession" in way for way in ways) == (answer.status_code != 403)
    assert all(("csrfToken" in way) == (operation.method == "POST") for way in ways if "staffSession" in way)


def test_people_have_every_scope_but_the_machines_one() -> None:
    assert FOR_PEOPLE | {Scope.INGEST} == set(Scope)
    assert all(each["x-scopes"] for _, _, each in operations())


@pytest.mark.parametrize("name", description()["components"]["schemas"])
def test_a_closed_shape_requires_whatever_is_not_said_to_be_optional(name: str) -> None:
    shapes = [each for each in walk(description()["components"]["schemas"][name]) if "properties" in each]
    optional = {prop for each in shapes for prop in each["properties"] if prop not in each["required"]}
    assert not optional or name in (*_OPEN, "OpenApi")
    assert all(set(each["required"]) <= set(each["properties"]) for each in shapes if name != "OpenApi")


def test_a_charge_has_every_field_that_is_taken_and_no_other() -> None:
    schema = description()["components"]["schemas"]["Charge"]
    assert set(schema["properties"]) == set(charge_json(charge_from_json(CHARGE)))
    assert charge_from_json(CHARGE | dict.fromkeys(set(schema["properties"]) - set(CHARGE)))
    assert set(schema["required"]) == set(CHARGE)


def test_every_error_of_the_document_is_the_one_shape() -> None:
    for each in description()["components"]["responses"].values():
        assert each["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


def test_it_holds_no_key_and_no_path_of_the_machine() -> None:
    text = json.dumps(description())
    assert BOUND["X-Service-Key"] not in text
    assert str(ROOT) not in text


def test_an_answer_that_is_not_as_described_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.api.shapes.sources_json", lambda **_: {"buffer": "fine"})
    with pytest.raises(jsonschema_rs.ValidationError):
        person(is_staff=True, is_superuser=True).get(f"{STAFF}recent-hands")
    assert Client().get(f"{KEYS}hand").status_code == 401
