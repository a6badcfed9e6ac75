"""The few words that the schemas are written in."""

from collections.abc import Iterable, Mapping
from typing import Final

Schema = dict[str, object]

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
INTEGER: Final[Schema] = {"type": "integer"}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
SHA256: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
BASE64: Final[Schema] = {
    "type": "string",
    "contentEncoding": "base64",
    "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
}


def ref(name: str) -> Schema:
    """The schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def closed(about: str, /, *, optional: Iterable[str] = (), **properties: Mapping[str, object]) -> Schema:
    """An object of exactly these properties; all are always there but the ``optional`` ones."""
    return {
        "type": "object",
        "description": about,
        "properties": properties,
        "required": [name for name in properties if name not in set(optional)],
        "additionalProperties": False,
    }


def listed(items: Schema, about: str = "", *, most: int | None = None) -> Schema:
    """A list of these, at most so many."""
    return {"type": "array", "items": items} | said(about) | ({} if most is None else {"maxItems": most})


def one_of(words: Iterable[str], about: str = "") -> Schema:
    """One of these words: the members of a StrEnum, as a rule."""
    return {"type": "string", "enum": [str(word) for word in words]} | said(about)


def or_null(schema: Schema, about: str = "") -> Schema:
    """This, or null: not captured, or not known."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]} | said(about)
    return {"anyOf": [schema, {"type": "null"}]} | said(about)


def anything(about: str) -> Schema:
    """Any JSON: what an agent recorded is its own."""
    return {"description": about}


def said(about: str) -> Schema:
    """The description, where there is one."""
    return {"description": about} if about else {}
