"""Workers are killed again and again while approved calls run: each is done once, or asked about."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents import messages
from agents.lifecycle import RunStatus
from agents.models import Run, Session
from agents.registration import open_session
from asks.lifecycle import AskStatus
from asks.models import Ask, Effect, EffectEnd, Grant
from tests.dispatch.conftest import database, owner, start_worker
from tests.dispatch.world import Worker, eventually
from tests.eve.runtime.world import eve_agent, last_report
from tests.factories import verdict_on

pytestmark = pytest.mark.chaos
__all__ = ["database", "owner", "start_worker"]

SESSIONS = 24
KILLS = 8
#: A call takes so long, so that many a worker dies in the middle of one.
SECONDS = "0.3"


def answer_what_is_asked(owner: User) -> int:
    """As an owner does who approves every call, and for each lost one looks and says that it happened."""
    waiting = Ask.objects.filter(status=AskStatus.OPEN).order_by("pk")
    for asked in waiting:
        lost = asked.request_key.startswith("effect:")
        verdict_on(asked, owner, option="happened" if lost else "approve")
    return len(waiting)


def all_is_over(sessions: list[Session], owner: User) -> bool:
    answer_what_is_asked(owner)
    return all(last_report(session) for session in sessions)


def test_killing_workers_never_runs_an_approved_call_twice(
    owner: User, tmp_path: Path, start_worker: Callable[..., Worker]
) -> None:
    effects = tmp_path / "effects"
    effects.touch()
    env = {
        "RUN_LEASE_SECONDS": "2",
        "NEEDS_YOU_TEST_EFFECTS": str(effects),
        "NEEDS_YOU_TEST_SECONDS": SECONDS,
    }
    agent = eve_agent(owner, max_attempts=50)
    sessions = [open_session(agent) for _ in range(SESSIONS)]
    for number, session in enumerate(sessions):
        words = f'call slow_refund {{"charge_id": "ch_{number}"}}'
        messages.post_message(session_id=session.pk, by=owner, text=words)
    for _ in range(KILLS):
        worker = start_worker("--concurrency", "3", **env)
        ends = time.monotonic() + random.uniform(0.5, 3)  # noqa: S311 -- when, not what
        while time.monotonic() < ends:
            answer_what_is_asked(owner)
            time.sleep(0.05)
        worker.kill()
    start_worker("--concurrency", "3", **env)
    eventually(lambda: all_is_over(sessions, owner), "every session has come to its end")
    done = Counter(effects.read_text().splitlines())
    assert max(done.values()) == 1
    assert Grant.objects.count() == SESSIONS
    assert Effect.objects.count() == SESSIONS
    well = Effect.objects.filter(end=EffectEnd.DONE).count()
    lost = Effect.objects.filter(end=EffectEnd.UNKNOWN).count()
    assert well + lost == SESSIONS
    assert well <= len(done) <= SESSIONS
    assert not Run.objects.filter(status=RunStatus.FAILED).exists()
    print(f"{well} calls done, {lost} asked about, after {KILLS} killed workers")  # noqa: T201
