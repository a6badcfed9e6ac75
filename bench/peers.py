"""Virtual environments for what the project itself does not need, under ``.bench/`` of the checkout."""

import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / ".bench"
INSTALL_SECONDS: Final = 400.0

_PSUTIL: Final = "psutil==7.2.2"
PINS: Final[Mapping[str, tuple[str, ...]]] = {
    "bare": ("msgspec==0.23.0", "ormsgpack==1.13.1", "zstandard==0.25.0", "redis==8.1.0", _PSUTIL),
    "otel": ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2", _PSUTIL),
    "langfuse": ("langfuse==5.0.4", _PSUTIL),
    "opik": ("opik==2.2.122", _PSUTIL),
}


@dataclass(frozen=True, slots=True)
class Missing:
    """An environment that could not be made, and why."""

    name: str
    reason: str


def prepare(names: Iterable[str]) -> tuple[dict[str, Path], list[Missing]]:
    """Make each environment that is not there yet; the interpreters by name, and what is missing."""
    made = [_environment(name) for name in names]
    pythons = {each.parent.parent.name: each for each in made if isinstance(each, Path)}
    return pythons, [each for each in made if isinstance(each, Missing)]


def _environment(name: str) -> Path | Missing:
    folder = FOLDER / name
    python, note = folder / "bin" / "python", folder / "installed"
    wanted = "\n".join(PINS[name])
    if note.exists() and note.read_text() == wanted:
        return python
    sys.stderr.write(f"bench: installing {', '.join(PINS[name])}\n")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS[name]]
    for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], install):
        if reason := _failure(command):
            return Missing(name, reason)
    note.write_text(wanted)
    return python


def _failure(command: list[str]) -> str | None:
    """Why a command failed, in one line; None when it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"took longer than {INSTALL_SECONDS:.0f} s"
    if done.returncode == 0:
        return None
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    errors = [line for line in said if "error" in line.lower()]
    return (errors or said or ["no reason was given"])[-1].strip()
