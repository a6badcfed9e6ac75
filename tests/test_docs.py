"""The documents are kept true: every setting, command, endpoint, check and link is in them."""

import re
from pathlib import Path

from capture.api.urls import OPERATIONS
from tests.site_process import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCS = {path.name: path.read_text() for path in reversed(PAGES)}


def source(*parts: str) -> str:
    return ROOT.joinpath(*parts).read_text()


def test_every_setting_is_documented() -> None:
    read = set(re.findall(r'"([A-Z][A-Z_]{4,})"', source("capture_site", "env.py")))
    assert {"AGENT_CAPTURE_REDIS_URL", "CAPTURE_EMBEDDED", "DEBUG"} <= read
    assert not [name for name in read if f"`{name}`" not in DOCS["settings.md"]]


def test_every_setting_of_the_sdk_is_documented() -> None:
    read = set(re.findall(r'environ\.get\("([A-Z_]+)"', source("capture_sdk", "config.py")))
    assert len(read) == 8
    assert not [name for name in read if f"`{name}`" not in DOCS["sdk.md"]]


def test_the_example_environment_names_every_setting_of_a_service() -> None:
    example = set(re.findall(r"^([A-Z_]+)=", source(".env.example"), re.MULTILINE))
    table = set(re.findall(r"^\| `([A-Z_]+)`", DOCS["settings.md"], re.MULTILINE))
    assert example == {name for name in table if not name.startswith("CAPTURE_EMBEDDED")}


def test_every_command_is_documented() -> None:
    commands = [path.stem for path in ROOT.glob("*/management/commands/*.py") if path.stem != "__init__"]
    commands += [
        path.stem for path in ROOT.glob("examples/*/management/commands/*.py") if path.stem != "__init__"
    ]
    assert len(commands) >= 5
    assert not [name for name in commands if f"`{name}`" not in DOCS["operations.md"]]


def test_every_endpoint_is_documented() -> None:
    assert not [each for each in OPERATIONS if not re.search(rf"{each.method} {each.path}\b", DOCS["api.md"])]


def test_every_limit_is_documented_with_its_reason() -> None:
    named = re.findall(r"^# (.+)\n([A-Z_]+): Final = ", source("capture", "limits.py"), re.MULTILINE)
    values = re.findall(r"^([A-Z_]+): Final", source("capture", "limits.py"), re.MULTILINE)
    assert [name for _, name in named] == [name for name in values if name != "MIB"]
    rows = [re.escape(f"| `{name}` | ") + r"[^|]+" + re.escape(f" | {why} |") for why, name in named]
    assert not [row for row in rows if not re.search(row, DOCS["limits.md"])]


def test_every_check_is_documented() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "capture").rglob("*.py"))
    ids = set(re.findall(r"capture\.[EWD]\d{3}", sources))
    assert len(ids) >= 27
    assert not [each for each in ids if f"`{each}`" not in DOCS["operations.md"]]


def test_every_link_leads_somewhere() -> None:
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()):
            assert target.startswith("http") or (path.parent / target).exists(), f"{path}: {target}"


def test_the_project_names_no_path_of_a_machine() -> None:
    private = re.compile(r"/(work|root|home)/\w")
    for path in ROOT.rglob("*"):
        inner = path.relative_to(ROOT).parts
        is_ours = not any(part.startswith(".") or part in ("staticfiles", "vendor") for part in inner)
        if is_ours and path.is_file() and path.suffix in (".py", ".md", ".toml", ".html", ".css", ".js"):
            assert not private.search(path.read_text()), path


def test_the_readme_names_the_two_commands_first() -> None:
    assert re.findall(r"^\$ (.+)$", DOCS["README.md"], re.MULTILINE) == ["make demo", "make test"]
    assert (Path(ROOT) / "docs" / "images" / "hand.png").exists()
