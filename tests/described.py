"""A client that lets no answer of the API pass that is not as the API describes itself."""

import functools
import json
from typing import Any, cast

import jsonschema_rs
from django.http import HttpResponse
from django.test import Client

from capture.api.handlers import ROOTS
from capture.api.openapi import written
from capture.api.operations import ANYTHING


class DescribedHttp(Client):
    """Django's test client; every answer from below either door is held against the description."""

    def request(self, **request: Any) -> Any:
        """Ask, and check what comes back."""
        response = super().request(**request)
        root = next((each for each in ROOTS if request["PATH_INFO"].startswith(each)), None)
        if root is not None:
            method = str(request["REQUEST_METHOD"])
            assert_described(cast(HttpResponse, response), method, request["PATH_INFO"].removeprefix(root))
        return response


@functools.cache
def description() -> dict[str, Any]:
    """The document, as it is served."""
    return cast(dict[str, Any], json.loads(written().body))


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """Every path, method and operation of the document."""
    paths = description()["paths"]
    return [(path, method, each) for path, item in paths.items() for method, each in item.items()]


def assert_described(response: HttpResponse, method: str, path: str) -> None:
    """The status, the head and the body are those that the description gives this path and method."""
    described = _described(path, method.lower(), response.status_code)
    for name, header in described.get("headers", {}).items():
        _assert_header(response, name, _resolved(header))
    content = described.get("content", {})
    if method == "HEAD" or not content:
        assert response.content == b""
        return
    (kind,) = content
    assert response["Content-Type"].partition(";")[0] == kind
    if kind != ANYTHING:
        assert_conforms(json.loads(response.content, parse_constant=_no_json), content[kind]["schema"])


def assert_conforms(value: object, schema: dict[str, Any]) -> None:
    """The value is as the schema says, and JSON: half surrogates, which the validator does not take, apart."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    _validator(json.dumps(schema)).validate(json.loads(text.encode("utf-8", "replace")))


def _described(path: str, method: str, status: int) -> dict[str, Any]:
    """What the description says of this status; of an address that it does not have, only what no operation has."""
    item = description()["paths"].get(f"/{path}")
    if item is None:
        assert status in (400, 401, 403, 404, 503), f"{status} from an address that is not described"
        return _resolved({"$ref": f"#/components/responses/Error{status}"})
    known = item.get("get" if method == "head" else method)
    if known is None:
        assert status in (400, 401, 403, 405, 503), f"{status} for a method that is not described"
        known = next(iter(item.values()))
    assert str(status) in known["responses"], f"{status} is not described for {method} {path}"
    return _resolved(known["responses"][str(status)])


def _resolved(given: dict[str, Any]) -> dict[str, Any]:
    found: Any = given
    while "$ref" in found:
        steps = found["$ref"].removeprefix("#/").split("/")
        found = functools.reduce(lambda at, step: at[step], steps, description())
    return cast(dict[str, Any], found)


def _assert_header(response: HttpResponse, name: str, header: dict[str, Any]) -> None:
    if name not in response:
        assert not header["required"], f"{name} is missing"
        return
    is_number = header["schema"]["type"] == "integer"
    assert_conforms(int(response[name]) if is_number else response[name], header["schema"])


def _no_json(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@functools.cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    root = json.loads(schema) | {"components": description()["components"]}
    return jsonschema_rs.Draft202012Validator(root, validate_formats=True)
