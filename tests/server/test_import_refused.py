"""What is not imported is refused with its reason, and whatever a file holds, never with a traceback."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from capture.importing import FileRefused, Format
from capture.importing.files import files_in
from tests.data import needs
from tests.server.imported import files, read

_FOREIGN = ("anthropic-managed", "atif", "codex", "mini-swe-agent", "openclaw", "swe-agent")
_READ = ("claude-code", "inspect-ai", "langfuse-export", "tau-bench")


@pytest.mark.parametrize("name", _FOREIGN)
def test_other_formats_are_refused_by_name(name: str) -> None:
    for path in files(name):
        with pytest.raises(FileRefused) as refused:
            read(path)
        assert str(refused.value) == f"{name} trajectories are not read", path


def test_every_folder_of_the_recorded_runs_is_one_or_the_other() -> None:
    folders = {path.name for path in (needs("03-agent-runs") / "trajectories").iterdir()}
    assert folders == {*_FOREIGN, *_READ}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"hello", "it is no JSON: Expecting value at line 1 column 1"),
        (b'{"a": 1}', "its format is unknown"),
        (b"[]", "its format is unknown"),
        (b"\xff\xfe{}", "it is no text: byte 0 is not UTF-8"),
        (b'{"messages": [{"role": "user", "content": "a', "it is cut short"),
        (b'{"messages": [{"role": "user", "content": NaN}]}', "it is no JSON that is read: NaN is no number"),
        (
            b'{"messages": [{"role": "user", "content": 1e999}]}',
            "it is no JSON that is read: the number 1e999",
        ),
        (b'{"messages":' + b"[" * 100_000, "it is no JSON that is read: "),
        (b'{"messages":' + b"[" * 300 + b"]" * 300 + b"}", "it nests deeper than 200 floors"),
        (b'{"type": "user", "uuid": "a", "sessionId": "s", "message": 1}', "line 1: the message of a record"),
        (b'{"eval": {}, "samples": []}', "the log holds no sample"),
        (b'{"eval": {}, "samples": [{"id": 1, "events": [3]}]}', "samples[0].events[0] is no object"),
        (b'{"trace": {"id": "t"}, "observations": [3]}', "observations[0] is no object"),
        (b"PK\x03\x04", "the archive is damaged or cut short"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(FileRefused) as refused:
        read(path)
    assert str(refused.value).startswith(reason)


def test_a_file_read_as_what_it_is_not_is_refused(tmp_path: Path) -> None:
    (path, *_) = files("tau-bench")
    for wanted in set(Format) - {Format.MESSAGES}:
        with pytest.raises(FileRefused):
            read(path, wanted)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match=r"^it cannot be read: No such file"):
        read(tmp_path / "none")
    with pytest.raises(FileRefused, match=r"^it is no file$"):
        read(Path("/dev/zero"))


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    with pytest.raises(FileRefused, match=r"^it is larger than the 67108864 bytes"):
        read(path)


def test_hidden_files_and_links_of_a_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.json", ".hidden", "deep/a.json"):
        (tmp_path / name).touch()
    (tmp_path / "round").symlink_to(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in files_in(tmp_path)] == ["b.json", "deep/a.json"]


@pytest.mark.parametrize("folder", _READ)
def test_a_file_cut_anywhere_is_refused_or_read_as_far_as_it_is_whole(folder: str, tmp_path: Path) -> None:
    chance = random.Random(folder)
    for path in files(folder):
        data = path.read_bytes()
        whole = sum(len(run.events) for run in read(path).runs)
        for place in sorted(chance.sample(range(1, len(data)), 20)):
            cut = tmp_path / path.name
            cut.write_bytes(data[:place])
            try:
                reading = read(cut)
            except FileRefused:
                continue
            assert sum(len(run.events) for run in reading.runs) <= whole
            is_line_end = data[:place].endswith(b"\n") or data[place : place + 1] == b"\n"
            assert reading.notes or is_line_end, (path, place)


def _mangled(value: Any, chance: random.Random) -> Any:
    """The same value with some of its parts replaced by something else."""
    if chance.random() < 0.03:
        return chance.choice(
            [None, 7, [], {}, "\x1b[2J\x00\ud800", [[]], {"id": {}}, True, -1.5, {"$artifact": "a"}]
        )
    if isinstance(value, dict):
        return {name: _mangled(each, chance) for name, each in value.items()}
    return [_mangled(each, chance) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("folder", _READ)
def test_whatever_is_in_a_file_it_is_read_or_refused(folder: str, tmp_path: Path) -> None:
    chance = random.Random(folder)
    sources = [path for path in files(folder) if path.suffix in (".json", ".jsonl")]
    for number in range(25):
        source = sources[number % len(sources)]
        lines = source.read_text().splitlines() if source.suffix == ".jsonl" else [source.read_text()]
        values = [_mangled(json.loads(line), chance) for line in lines if line.strip()]
        path = tmp_path / source.name
        path.write_text("\n".join(map(json.dumps, values)))
        assert all(_reason(path, wanted).isprintable() for wanted in (None, *Format))


def _reason(path: Path, wanted: Format | None) -> str:
    """Why a file is refused; nothing where it is read."""
    try:
        read(path, wanted)
    except FileRefused as refused:
        return str(refused)
    return ""
