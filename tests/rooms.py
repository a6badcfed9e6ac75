"""Prints how large the rooms are: median, ninetieth percentile and maximum of functions and files."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("capture_site", "capture_sdk", "capture", "viewer", "examples")


def sources(*folders: str) -> Iterator[Path]:
    """The project's own Python files, migrations left out."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts and path.stat().st_size:
                yield path


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """Every function of a file with its length in lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{path.relative_to(ROOT)}:{node.name}"


def describe(what: str, sizes: list[tuple[int, str]]) -> str:
    """One line: median · p90 · max, and which one that is."""
    lengths = sorted(length for length, _ in sizes)
    p90 = lengths[min(len(lengths) - 1, int(len(lengths) * 0.9))]
    return f"{what:<18} {statistics.median(lengths):.0f} · {p90} · {lengths[-1]}   (longest: {max(sizes)[1]})"


def main() -> None:
    """Measure the product and its tests."""
    product, tests = list(sources(*PRODUCT)), list(sources("tests"))
    lines = {path: path.read_text().count("\n") for path in product + tests}
    report = [
        describe("product functions", [each for path in product for each in functions(path)]),
        describe("product files", [(lines[path], str(path.relative_to(ROOT))) for path in product]),
        describe("test functions", [each for path in tests for each in functions(path)]),
        describe("test files", [(lines[path], str(path.relative_to(ROOT))) for path in tests]),
        f"test:source lines  {sum(lines[path] for path in tests) / sum(lines[path] for path in product):.2f}",
    ]
    print("\n".join(["lines (median · p90 · max)", *report]))  # noqa: T201 - what the command is for


if __name__ == "__main__":
    main()
