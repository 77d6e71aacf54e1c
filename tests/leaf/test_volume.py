"""Files on the shared volume: confined to it, whole or not there, and nothing else taken for one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import httpx
import pytest

from tests.leaf.world import ITEM
from workspace.protocols.common.http import one_line_json
from workspace.protocols.leaf import wire
from workspace.protocols.leaf.client.http import HarnessClient
from workspace.protocols.leaf.server.facts import LeafFacts
from workspace.protocols.leaf.server.volume import (
    MAX_BYTES,
    Missing,
    Outside,
    UnreadableItem,
    Volume,
)
from workspace.protocols.leaf.settings import RemoteLeafSettings
from workspace.protocols.leaf.wire import BadDecision, Refs

MARKER = {
    "status": "awaiting_approval",
    "sessionId": "run/1",
    "gateId": 0,
    "gate": {"summary": "s", "proposed_action": "p"},
    "ts": "2026-01-01T00:00:00Z",
}


@pytest.fixture
def on(volume: Path) -> Volume:
    return Volume(str(volume))


@pytest.mark.case("leaf-G05", "leaf-G06", "leaf-G07", "leaf-G08", "leaf-M10")
def test_reading_a_decision_file(on: Volume, volume: Path) -> None:
    def decision(text: str) -> object:
        (volume / "d.json").write_text(text)
        return wire.validate_decision(on.read(f"{volume}/d.json"))

    assert decision('{"gateId":0,"action":"approve"}') == wire.GateDecision(
        gate_id=0, action="approve"
    )
    for text in ('{"gateId":0,"act', "", "\0", "[" * 100_000):
        with pytest.raises(UnreadableItem):
            decision(text)
    for text in ('{"gateId":0,"action":"maybe"}', "[]", "null", '"approve"'):
        with pytest.raises(BadDecision):
            decision(text)
    with pytest.raises(Missing):
        on.read(f"{volume}/nowhere/none.json")


@pytest.mark.case("leaf-M01", "leaf-M06", "leaf-M07")
def test_where_the_markers_are() -> None:
    plain = Refs(inputs_ref="/v/i", result_ref="/v/r")
    named = Refs(inputs_ref="/v/i", result_ref="/v/r", gate_ref="/v/g", done_marker_ref="/v/d")

    assert (plain.gate, plain.done) == ("/v/r.gate", "/v/r.status")
    assert (named.gate, named.done) == ("/v/g", "/v/d")


@pytest.mark.case("leaf-M02", "leaf-M08", "leaf-M11")
def test_a_marker_comes_back_and_leaves_nothing_half_written(on: Volume, volume: Path) -> None:
    path = f"{volume}/results/deep/r.json.gate"

    on.write(path, MARKER)
    on.write(path, MARKER)

    assert on.read(path) == MARKER
    assert Path(path).read_text() == one_line_json(MARKER)
    assert [each.name for each in (volume / "results/deep").iterdir()] == ["r.json.gate"]


@pytest.mark.case("leaf-M03", "leaf-M04", "leaf-M05")
@pytest.mark.parametrize(
    ("marker", "gate_id"),
    [
        (MARKER, 0),
        ("awaiting_approval", None),
        ({**MARKER, "status": "paused"}, None),
        ({**MARKER, "gate": {"summary": "s"}}, None),
        ({**MARKER, "gate": None}, None),
        ({**MARKER, "gateId": "0"}, None),
        ({**MARKER, "gateId": True}, None),
    ],
)
async def test_a_malformed_gate_marker_is_none(
    volume: Path, marker: object, gate_id: int | None
) -> None:
    """The client looks at the volume first; without a marker there, it asks the harness."""
    settings = RemoteLeafSettings(
        base_url="https://harness.example", dialect="files", volume=str(volume)
    )
    facts = LeafFacts(session_id="s1", item=wire.validate_item(ITEM))
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"status": "running"}))
    async with httpx.AsyncClient(transport=transport) as calls:
        client = HarnessClient(settings, facts, "s1", calls)
        refs = client._refs()
        assert refs is not None
        _put(Path(refs.gate), json.dumps(marker))
        reply = await client.status()
    assert (reply.is_paused, reply.gate_id) == (gate_id is not None, gate_id)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_an_unchanged_marker_is_not_written_again(on: Volume, volume: Path) -> None:
    path = f"{volume}/g"
    on.write_if_other(path, MARKER, apart_from="ts")
    first = Path(path).stat().st_ino

    on.write_if_other(path, {**MARKER, "ts": "later"}, apart_from="ts")
    assert Path(path).stat().st_ino == first
    on.write_if_other(path, {**MARKER, "gateId": 1}, apart_from="ts")
    assert Path(path).stat().st_ino != first


@pytest.mark.case("leaf-X11")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/hostname",
        "{volume}",
        "{volume}/",
        "{volume}/../outside",
        "{volume}/a/../../outside",
        "{volume}-other/x",
        "relative/x",
        "",
        "{volume}/a\0b",
    ],
)
def test_paths_that_are_not_below_the_volume(on: Volume, volume: Path, path: str) -> None:
    path = path.replace("{volume}", str(volume))

    for use in (on.read, on.remove, lambda place: on.write(place, {})):
        with pytest.raises(Outside):
            use(path)


@pytest.mark.case("leaf-X11")
def test_links_lead_nowhere(on: Volume, volume: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text('{"secret":1}')
    (volume / "folder").symlink_to(outside)
    (volume / "file.json").symlink_to(outside / "secret.json")
    (volume / "new.json").symlink_to(outside / "new.json")

    for path in ("folder/secret.json", "file.json"):
        with pytest.raises(UnreadableItem):
            on.read(f"{volume}/{path}")
    with pytest.raises(OSError, match=r"."):
        on.write(f"{volume}/folder/new.json", {})
    on.write(f"{volume}/new.json", {"mine": 1})
    on.write(f"{volume}/file.json", {"mine": 1})
    on.remove(f"{volume}/folder/secret.json")

    assert [each.name for each in outside.iterdir()] == ["secret.json"]
    assert (outside / "secret.json").read_text() == '{"secret":1}'
    assert not (volume / "new.json").is_symlink()


def test_only_plain_small_files_are_read(on: Volume, volume: Path) -> None:
    os.mkfifo(volume / "pipe")
    (volume / "folder").mkdir()
    (volume / "large").write_text(" " * (MAX_BYTES + 1))
    (volume / "binary").write_bytes(b"\xff\xfe")

    for name in ("pipe", "folder", "large", "binary"):
        with pytest.raises(UnreadableItem):
            on.read(f"{volume}/{name}")


def test_the_other_side_may_know_the_volume_by_another_path(volume: Path) -> None:
    on = Volume(str(volume), "/mnt/leaf")

    on.write("/mnt/leaf/run/r.json", {"a": 1})

    assert (volume / "run/r.json").read_text() == '{"a":1}'
    assert on.read(f"{volume}/run/r.json") == {"a": 1}
    with pytest.raises(Outside):
        on.check("/mnt/leafage/r.json")
