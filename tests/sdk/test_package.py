"""The package stands by itself: typed, small, and importable without anything of the server."""

import inspect
import json
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest

import capture_sdk
from tests.site_process import ROOT

PROGRAM = """
import json, sys
from capture_sdk import Client, Config, ConfigError, MemoryTransport, Outbox, knowledge

@knowledge
def build(state): return "envelope " * 50, str(state)

transport = MemoryTransport()
outbox = Outbox(lambda message: None)
with Client(transport=transport) as client:
    with client.turn(table_id="t", hand_number=1, agent_id="a", action_index=1, outbox=outbox) as turn:
        turn.prompt(*build({"pot": 1}))
        turn.response("fold")
        turn.parsed("fold")
        outbox.send({"action": "fold"})
(record,) = transport.records()
said = {}
for options in ({"redis_url": "redis://host"}, {"base_url": "http://host", "service_key": "k" * 20}):
    try:
        Client(**options)
    except ConfigError as exc:
        said[next(iter(options))] = str(exc)
print(json.dumps({
    "status": record.prompt.status(), "sent": record.sent, "said": said,
    "foreign": sorted(name for name in ("django", "redis", "urllib3", "cryptography", "httpx") if name in sys.modules),
    "where": sys.modules["capture_sdk"].__file__,
}))
"""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the package and what it brings along, and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    wheels, source = folder / "wheels", folder / "source"
    source.mkdir()  # a copy: building leaves files behind, which the next build would take for sources
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "capture_sdk", source / "capture_sdk", ignore=shutil.ignore_patterns("__pycache__")
    )
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    run([*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(source)])
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    run(
        [
            str(python),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "-q",
            "install",
            str(next(wheels.glob("*.whl"))),
        ]
    )
    return python


def run(command: list[str], **options: Any) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)
    assert finished.returncode == 0, finished.stderr
    return str(finished.stdout)


def test_the_wheel_works_in_a_clean_environment_and_says_what_an_extra_needs(
    clean: Path, tmp_path: Path
) -> None:
    said = json.loads(run([str(clean), "-c", PROGRAM], cwd=tmp_path))
    assert (said["status"], said["sent"], said["foreign"]) == ("verified", ["fold", None], [])
    assert "venv" in said["where"]
    assert "capture-sdk[redis]" in said["said"]["redis_url"]
    assert "capture-sdk[http]" in said["said"]["base_url"]


def test_the_wheel_is_small_typed_and_has_its_command(clean: Path) -> None:
    listed = run([str(clean), "-m", "pip", "--disable-pip-version-check", "list", "--format", "json"])
    names = {each["name"].lower() for each in json.loads(listed)} - {"pip", "setuptools", "wheel"}
    assert names <= {
        "capture-sdk",
        "ormsgpack",
        "backports-zstd",
        "backports.zstd",
        "typing-extensions",
        "typing_extensions",
    }
    package = Path(run([str(clean), "-c", "import capture_sdk; print(capture_sdk.__file__)"]).strip()).parent
    assert (package / "py.typed").exists()
    assert "usage" in run([str(clean.parent / "capture-outbox-lint"), "--help"])


def test_every_folder_of_the_package_is_in_the_wheel() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for path in ROOT.glob("capture_sdk/**/__init__.py")
    }
    assert set(listed) == there


def public() -> list[Any]:
    found = []
    for name in capture_sdk.__all__:
        thing = getattr(capture_sdk, name)
        members = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else [(name, thing)]
        found += [
            pytest.param(function, id=f"{name}.{each}")
            for each, function in members
            if callable(function) and (not each.startswith("_") or each in ("__init__", "__enter__"))
        ]
    return found


@pytest.mark.parametrize("function", public())
def test_no_public_signature_says_any(function: Any) -> None:
    if not getattr(function, "__module__", "").startswith("capture_sdk"):
        return  # an enum's or a dataclass's own
    assert "Any" not in str(inspect.signature(function))


def test_everything_public_has_a_docstring() -> None:
    assert not [
        name
        for name in capture_sdk.__all__
        if name != "__version__" and not getattr(capture_sdk, name).__doc__
    ]
