"""The one shape of every error."""

from typing import Final

from capture.api.errors import ApiError
from capture.api.schemas.words import STRING, Schema, closed, one_of

ERROR: Final[Schema] = closed(
    "Whatever went wrong.",
    error=closed(
        "What it was.",
        code=one_of(
            sorted({each.code for each in ApiError.__subclasses__()}), "One word, for programs to branch on."
        ),
        message=STRING | {"description": "A sentence for people: it names the value and the remedy."},
        fields={
            "type": "object",
            "description": "What was wrong where, by the parameter's name.",
            "additionalProperties": STRING,
        },
    ),
)
