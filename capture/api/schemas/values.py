"""Values that agents recorded, as strict JSON: what JSON cannot hold has a form of its own."""

from typing import Final

from capture.api.schemas.words import BASE64, BOOLEAN, STRING, Schema, closed, one_of, ref

VALUES: Final[dict[str, Schema]] = {
    "Bytes": closed("Bytes that are not text.", **{"$bytes": BASE64}),
    "Float": closed("A number that JSON lacks.", **{"$float": one_of(("nan", "inf", "-inf"))}),
    "Integer": closed(
        "An integer of more digits than a reader may be asked to read, in hexadecimal.",
        **{"$int": {"type": "string", "pattern": "^-?0x[0-9a-f]+$"}},
    ),
    "Text": {
        "description": "Text as it was recorded, half surrogates included, or bytes that are not text.",
        "anyOf": [STRING, ref("Bytes")],
    },
    "Number": {
        "description": "A number, every digit kept.",
        "anyOf": [{"type": "number"}, ref("Float"), ref("Integer")],
    },
    "Plain": {
        "description": "One plain value: text as a rule, and whatever else an agent gave in its place.",
        "anyOf": [STRING, BOOLEAN, ref("Number")],
    },
}
