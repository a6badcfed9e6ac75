"""JSON laid out for reading: line breaks and indents between its tokens, each of which stays as it was recorded."""

import re
from collections.abc import Iterator
from typing import Final

from capture.limits import RUN_LAYOUT_BYTES

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_DEEPEST: Final = 64  # levels that are set in further and further


def is_json(text: bytes) -> bool:
    """Whether a text looks like JSON that is worth laying out, and is short enough for it."""
    return len(text) <= RUN_LAYOUT_BYTES and text.lstrip()[:1] in (b"{", b"[")


def laid_out(text: bytes) -> bytes:
    """The same tokens on lines of their own. What is no JSON comes out as odd as it is, and complete."""
    return b"".join(_parts(text))


def _parts(text: bytes) -> Iterator[bytes]:
    depth, before = 0, b""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in (b"}", b"]"):
            depth = max(depth - 1, 0)
            if before not in (b"{", b"["):
                yield _line(depth)
        elif before in (b"{", b"[", b","):
            yield _line(depth)
        elif before and token not in (b",", b":"):
            yield b" "
        yield token
        if token in (b"{", b"["):
            depth += 1
        before = token


def _line(depth: int) -> bytes:
    return b"\n" + b"  " * min(depth, _DEEPEST)
