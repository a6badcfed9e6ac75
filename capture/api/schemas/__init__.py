"""The JSON Schemas (2020-12) of what the API answers and takes, by the names that operations give them."""

from typing import Final

from capture.api.schemas.answers import ANSWERS
from capture.api.schemas.bodies import BATCHES
from capture.api.schemas.failures import ERROR
from capture.api.schemas.runs import RUN_ANSWERS, RUN_BATCHES
from capture.api.schemas.values import VALUES
from capture.api.schemas.words import Schema

__all__ = ["SCHEMAS", "Schema"]

SCHEMAS: Final[dict[str, Schema]] = VALUES | ANSWERS | RUN_ANSWERS | BATCHES | RUN_BATCHES | {"Error": ERROR}
