"""A worker that is killed between an approval and its effect: the effect is asked about, not repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import messages
from agents.lifecycle import RunStatus
from agents.models import Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Effect, EffectEnd, Redemption
from tests.dispatch.conftest import database, owner, start_worker
from tests.dispatch.world import Worker, eventually
from tests.eve.runtime.world import last_report, session_for
from tests.factories import verdict_on

__all__ = ["database", "owner", "start_worker"]


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    """The file in which the workers' tools say what they did."""
    file = tmp_path / "effects"
    file.touch()
    return file


def asked(session: Session, words: str) -> Ask:
    waiting = Ask.objects.filter(session=session, status=AskStatus.OPEN, prompt__contains=words)
    eventually(waiting.exists, f"{words!r} is asked")
    return waiting.get()


@pytest.mark.case("eve-killed")
def test_a_worker_killed_in_the_middle_of_an_approved_call_asks_and_never_repeats_it(
    owner: User, effects: Path, start_worker: Callable[..., Worker]
) -> None:
    env: dict[str, Any] = {
        "RUN_LEASE_SECONDS": "2",
        "NEEDS_YOU_TEST_EFFECTS": str(effects),
        "NEEDS_YOU_TEST_SECONDS": "600",
    }
    session = session_for(owner)
    worker = start_worker(**env)
    call = 'call slow_refund {"charge_id": "ch_1"}'
    messages.post_message(session_id=session.pk, by=owner, text=call)
    verdict_on(asked(session, "Approve tool call"), owner, option="approve")
    eventually(effects.read_text, "the call is under way")
    worker.kill()
    start_worker(**env)
    look = asked(session, "may or may not have happened")
    assert effects.read_text().count("slow_refund") == 1
    assert Effect.objects.get().end == EffectEnd.UNKNOWN
    waiting = session.runs.filter(status=RunStatus.WAITING_HUMAN)
    eventually(waiting.exists, "the run waits for the owner")
    assert waiting.get().epoch > 1
    verdict_on(look, owner, option="happened")
    eventually(lambda: last_report(session), "the agent has gone on")
    assert "The owner checked and wrote" in last_report(session)
    assert effects.read_text().count("slow_refund") == 1
    assert Redemption.objects.count() == 1
