"""The prompt of a plain turn: whole, in two parts, or with an envelope that the buffer is thought to have."""

import json
from collections.abc import Mapping
from typing import Any, Final

from capture_sdk.errors import RecordError
from capture_sdk.prompt import Prompt, split, text_bytes
from capture_sdk.wire import unbase64

Item = Mapping[str, Any]
Text = str | bytes

PROMPT_FIELDS: Final = ("prompt", "envelope", "remainder", "joiner", "envHash", "promptSha256")
_HASH_DIGITS: Final = 64


def prompt_from_json(item: Item) -> Prompt | None:
    """The prompt in whichever form it came; None where it was not captured. Raises RecordError."""
    forms = [name for name in ("prompt", "envelope", "envHash") if item.get(name) is not None]
    if len(forms) > 1:
        raise RecordError(f"a turn has either {forms[0]} or {forms[1]}, not both")
    if not forms:
        return None
    if forms == ["envHash"]:
        return _prompt_by_hash(item)
    made = _parts(item) if forms == ["envelope"] else _whole(item["prompt"])
    wanted = item.get("promptSha256")
    if wanted is not None and _hash("promptSha256", wanted) != made.sha256:
        raise RecordError(f"the prompt hashes to {made.sha256}, and promptSha256 says {wanted}")
    return made


def _parts(item: Item) -> Prompt:
    return split(read_text("envelope", item["envelope"]), *_rest(item))


def _whole(given: object) -> Prompt:
    if not isinstance(given, list):
        return split("", read_text("prompt", given))
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    made = split("", text)
    return Prompt(
        made.envelope, made.joiner, made.remainder, None, made.sha256, is_text=True, is_messages=True
    )


def _prompt_by_hash(item: Item) -> Prompt:
    """Its envelope is in the buffer or will be asked for, so the sha256 of the whole has to be told."""
    remainder, joiner = _rest(item)
    if item.get("promptSha256") is None:
        raise RecordError(
            "promptSha256 is missing: with envHash alone the whole prompt cannot be hashed here"
        )
    return Prompt(
        envelope=None,
        joiner=text_bytes(joiner),
        remainder=text_bytes(remainder),
        env_hash=_hash("envHash", item["envHash"]),
        sha256=_hash("promptSha256", item["promptSha256"]),
        is_text=isinstance(remainder, str) and isinstance(joiner, str),
    )


def _rest(item: Item) -> tuple[Text, Text]:
    joiner = item.get("joiner")
    return read_text("remainder", item.get("remainder") or ""), "\n" if joiner is None else read_text(
        "joiner", joiner
    )


def _hash(name: str, given: object) -> str:
    if not isinstance(given, str) or len(given) != _HASH_DIGITS or set(given) - set("0123456789abcdef"):
        raise RecordError(f"{name} must be a sha256 in 64 small hex digits, not {str(given)[:80]!r}")
    return given


def read_text(name: str, given: object) -> Text:
    """Text, or the bytes that ``{"$bytes": base64}`` stands for. Raises RecordError naming the field."""
    if isinstance(given, str):
        return given
    if isinstance(given, dict) and given.keys() == {"$bytes"}:
        return unbase64(name, given["$bytes"])
    raise RecordError(f'{name} must be text, or {{"$bytes": base64}}, not {type(given).__name__}')
