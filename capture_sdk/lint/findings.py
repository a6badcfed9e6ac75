"""The findings of one file: sends that nothing allows, and allowances that are not in order."""

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import Final

from capture_sdk.lint.sends import sends

_ALLOWANCE: Final = re.compile(r"#\s*outbox:\s*allowed because\b[ \t:]*(.*)$")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing to mend, with its place (line and column from 1)."""

    path: str
    line: int
    column: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"


class UnreadableSource(Exception):
    """A file that is not Python source; the message says where and why."""


def check(source: str, path: str = "<source>") -> list[Finding]:
    """The findings of one file's source, by place. Raises UnreadableSource when it does not parse."""
    try:
        tree = ast.parse(source)
        allowances = _allowances(source)
        found_sends = list(sends(tree))
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError) as exc:
        raise UnreadableSource(f"{path}:{getattr(exc, 'lineno', None) or 1}: {exc}") from exc
    used: set[int] = set()
    found = []
    for send in found_sends:
        lines = range(send.line - 1, send.last_line + 1)
        allowed = next((line for line in lines if allowances.get(line)), None)
        if allowed is not None:
            used.add(allowed)
        elif not send.is_wrapped:
            found.append(Finding(path, send.line, send.column, "OUT001", send.message))
    for line, reason in allowances.items():
        if not reason:
            found.append(Finding(path, line, 1, "OUT002", "say why: # outbox: allowed because <reason>"))
        elif line not in used:
            found.append(Finding(path, line, 1, "OUT003", "this allowance allows nothing: remove it"))
    return sorted(found)


def _allowances(source: str) -> dict[int, str]:
    """Line of each allowance, with its reason. Comments only: a string that looks like one is none."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and (match := _ALLOWANCE.search(token.string)):
            found[token.start[0]] = match[1].strip()
    return found
