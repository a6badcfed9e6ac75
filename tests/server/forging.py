"""What the tests of hostile files share: an exported hand, taken apart and put together as a forger would."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from capture.exchange import export_hand
from capture.exchange.archive import ArchiveWriter
from capture.models import AgentAccess, AgentCallEnvelope, AgentCallRecord, AgentInferenceCharge
from capture.pins.pin import promote
from tests.build import HAND, TABLE, play, seat
from tests.server.exchanging import wipe

Members = dict[str, bytes]
Content = dict[str, Any]


def exported(folder: Path) -> Path:
    """An exported hand of two agents, which this installation no longer has."""
    for agent in ("a", "b"):
        play(seat(agent), 1)
        promote(TABLE, HAND, agent_id=agent, by="user:anna")
    export_hand(TABLE, HAND, folder / "hand.zip", agents=None, by="test")
    wipe()
    return folder / "hand.zip"


def members(path: Path) -> Members:
    """Every member by its name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, content: Members, **options: Any) -> None:
    """Write a zip of these members; ``options`` are those of ``ZipFile``."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def remake(path: Path, change: Callable[[Content, Members], None]) -> None:
    """Change manifest and members; sizes and hashes are made to fit, as a forger would."""
    content = members(path)
    manifest = json.loads(content.pop("manifest.json"))
    change(manifest, content)
    for entry in (*manifest["records"], *manifest["envelopes"], manifest["charges"]):
        with path.open("wb") as file:
            fits = ArchiveWriter(file).add("x", content.get(entry["member"], b""))
        entry.update(sha256=fits.sha256, size=fits.size)
    write(path, content | {"manifest.json": json.dumps(manifest).encode()})


def forge_entry(path: Path, change: Content) -> None:
    """Change the first record's entry in the manifest, and nothing else."""
    content = members(path)
    manifest = json.loads(content["manifest.json"])
    manifest["records"][0].update(change)
    write(path, content | {"manifest.json": json.dumps(manifest).encode()})


def refusal(path: Path) -> str:
    """The sentence that the command ends with; the tables are as empty as before."""
    with pytest.raises(CommandError) as caught:
        call_command("import_hand", str(path))
    for model in (AgentCallRecord, AgentCallEnvelope, AgentInferenceCharge):
        assert not model.objects.exists()
    assert not AgentAccess.objects.filter(action="import").exists()
    message = str(caught.value)
    assert message.startswith("nothing was imported: ")
    assert message.isprintable()
    assert len(message) < 600
    return message
