"""The files dialect is confined to its volume, and says so when that is away."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents.models import Session
from tests.leaf.test_files import ask_status, folder, marker, run
from tests.leaf.world import (
    ITEM,
    Folder,
    Orchestrator,
    carry_all,
    key_for,
    leaf_agent,
)

__all__ = ["folder"]

pytestmark = pytest.mark.django_db


@pytest.mark.case("leaf-X11")
@pytest.mark.parametrize(
    "field", ["inputsRef", "resultRef", "gateRef", "doneMarkerRef", "decisionRef"]
)
@pytest.mark.parametrize("path", ["/etc/needs-you", "{volume}/../x", "relative", "{volume}"])
def test_every_path_is_confined(
    orchestrator: Orchestrator, folder: Folder, volume: Path, field: str, path: str
) -> None:
    refs = {**folder.envelope(), field: path.replace("{volume}", str(volume))}

    sent = orchestrator.send(refs)

    assert sent.status_code == 400
    assert sent.json()["error"] == "envelope_invalid"  # type: ignore[attr-defined]
    assert not Session.objects.filter(is_home=False).exists()


@pytest.mark.case("leaf-H08", "leaf-H10", "leaf-H12")
def test_the_status_reads_nothing_outside(
    orchestrator: Orchestrator, folder: Folder, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.status"
    outside.write_text('{"status":"done"}')

    done = orchestrator.ask_status(doneMarker=str(outside))
    gate = orchestrator.ask_status(doneMarker=str(folder.done), gateMarker=str(outside))
    none = orchestrator.ask_status(gateMarker=str(folder.gate))

    assert (done.status_code, done.json()["error"]) == (403, "doneMarker_forbidden")  # type: ignore[attr-defined]
    assert (gate.status_code, gate.json()["error"]) == (403, "gateMarker_forbidden")  # type: ignore[attr-defined]
    assert (none.status_code, none.json()["error"]) == (400, "doneMarker_required")  # type: ignore[attr-defined]


@pytest.mark.case("leaf-H07", "leaf-H11", "leaf-X8")
def test_a_marker_nobody_will_write(orchestrator: Orchestrator, folder: Folder) -> None:
    assert ask_status(orchestrator, folder) == {"status": "queued", "known": False}


def test_an_agent_without_a_volume_serves_no_files(owner: User, folder: Folder) -> None:
    orchestrator = Orchestrator(key_for(leaf_agent(owner), owner))

    assert orchestrator.send(folder.envelope()).status_code == 400
    assert orchestrator.ask_status(doneMarker=str(folder.done)).status_code == 403


def test_one_session_speaks_one_dialect_and_writes_one_result(
    orchestrator: Orchestrator, folder: Folder, volume: Path
) -> None:
    run(orchestrator, folder)
    other = {**folder.envelope(), "resultRef": f"{volume}/results/other.json"}

    assert orchestrator.send({"sessionId": "run/1", "item": ITEM}).status_code == 409
    assert orchestrator.send(other).status_code == 409
    folder.write(folder.input, {**ITEM, "pattern": "exec("})
    assert orchestrator.send(folder.envelope()).status_code == 409
    folder.input.unlink()
    assert orchestrator.send(folder.envelope()).status_code == 200


def test_a_volume_that_cannot_be_written_is_no_answer(
    orchestrator: Orchestrator, folder: Folder, volume: Path
) -> None:
    orchestrator.send(folder.envelope(later=True))
    carry_all()
    folder.result.parent.rmdir()
    folder.result.parent.write_text("in the way")

    sent = orchestrator.send(folder.envelope())

    assert sent.status_code == 503
    assert sent.json()["error"] == "volume_unavailable"  # type: ignore[attr-defined]
    folder.result.parent.unlink()
    assert orchestrator.send(folder.envelope()).json()["status"] == "paused"  # type: ignore[attr-defined]
    assert marker(folder.gate)["gateId"] == 0
