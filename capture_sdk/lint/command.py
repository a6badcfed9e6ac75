"""The command: files and folders in, findings and an exit status out."""

import argparse
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from capture_sdk.lint.findings import UnreadableSource, check

_SKIPPED: Final = frozenset(
    {".venv", "venv", "build", "dist", "node_modules", "__pycache__", "site-packages"}
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check files and folders, print what is found, and return the exit status."""
    parser = argparse.ArgumentParser(prog="capture-outbox-lint", description="Finds sends around the outbox.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, or a folder to walk")
    unreadable = findings = 0
    for path in _sources(parser.parse_args(arguments).paths):
        try:
            with tokenize.open(path) as file:
                found = check(file.read(), str(path))
        except (UnreadableSource, OSError, SyntaxError, UnicodeDecodeError) as exc:
            unreadable += 1
            sys.stderr.write(f"{exc if isinstance(exc, UnreadableSource) else f'{path}: {exc}'}\n")
            continue
        findings += len(found)
        sys.stdout.writelines(f"{each}\n" for each in found)
    return 2 if unreadable else 1 if findings else 0


def _sources(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*.py")):
            inner = file.relative_to(path).parts[:-1]
            if not any(part in _SKIPPED or part.startswith(".") for part in inner):
                yield file
