"""What an operation is asked with, as OpenAPI says it: parameters in the query, or a body of JSON."""

from capture.api.bodies import ENCODINGS
from capture.api.operations import Operation
from capture.api.parameters import DIGITS_SCHEMA, INDEX_SCHEMA, Parameter
from capture.api.schemas.words import Schema, ref
from capture.limits import BATCH_BYTES, COMMAND_BYTES


def asked(operation: Operation) -> Schema:
    """Its parameters, or its request body."""
    if operation.method == "POST":
        return {"requestBody": _body(operation)}
    return {"parameters": [_parameter(each) for each in operation.parameters]}


def _parameter(parameter: Parameter) -> Schema:
    empty: Schema = {} if parameter.is_required else {"allowEmptyValue": True}  # as if it were not given
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.is_required,
        "schema": parameter.schema,
        **empty,
    }


def _body(operation: Operation) -> Schema:
    limit = COMMAND_BYTES if operation.batch is None else BATCH_BYTES
    schema = _command(operation) if operation.batch is None else ref(f"{operation.batch.title()}Batch")
    return {
        "description": f"At most {limit} bytes, decompressed. Content-Encoding: {', '.join(ENCODINGS)}.",
        "required": True,
        "content": {"application/json": {"schema": schema}},
        "x-max-bytes": limit,
        "x-content-encodings": list(ENCODINGS),
    }


def _command(operation: Operation) -> Schema:
    """A command's parameters are the properties of one JSON object."""
    return {
        "type": "object",
        "properties": {each.name: _property(each) for each in operation.parameters},
        "required": [each.name for each in operation.parameters if each.is_required],
        "additionalProperties": False,
    }


def _property(parameter: Parameter) -> Schema:
    forms: list[Schema] = [dict(parameter.schema)]
    if parameter.schema is INDEX_SCHEMA:
        forms.append(DIGITS_SCHEMA)
    if not parameter.is_required:
        forms.append({"enum": [None, ""]})
    return {"description": parameter.about} | (forms[0] if len(forms) == 1 else {"anyOf": forms})
