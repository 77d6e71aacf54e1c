"""How many statements a turn that parks takes, from its request to its question: pinned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Max
from django.test.utils import CaptureQueriesContext

from agents import claims, settlement
from agents.events.log import NewEvent
from agents.models import Run, Session
from agents.running.runtime import Ended, Turn
from tests.responses.world import Caller, brain, hybrid_agent, key_for, play, question
from workspace.protocols.responses.agent import work
from workspace.protocols.responses.settings import ResponsesSettings

pytestmark = pytest.mark.django_db


def statements(verb: Callable[[], object]) -> int:
    """How many statements a verb sends, not counting where transactions begin and end."""
    with CaptureQueriesContext(connection) as sent:
        verb()
    return sum("SAVEPOINT" not in query["sql"] for query in sent)


def claim(run: Run, *, again: bool = False) -> Turn:
    turn = claims.claim_run(run_id=run.pk, worker="test", again=again)
    assert turn is not None
    return turn


def begin(turn: Turn) -> None:
    work.begin_work(turn, ResponsesSettings.model_validate(turn.agent.settings))


def test_a_turn_costs_the_same_however_many_came_before(owner: User, tmp_path: Path) -> None:
    agent = hybrid_agent(owner, command=brain(tmp_path, question()), max_usd_per_run=None)
    caller = Caller(key_for(agent, owner))
    caller.create("{}")
    after_one = statements_of_a_turn(caller)
    for _ in range(10):
        caller.create("{}")

    assert statements_of_a_turn(caller) == after_one


def statements_of_a_turn(caller: Caller) -> list[int]:
    """Count the statements of creating, claiming, beginning, telling and settling a turn."""
    creating = statements(lambda: caller.send(input="{}"))
    run = Run.objects.latest("pk")
    claiming = statements(lambda: claim(run))
    turn = claim(run, again=True)
    step = NewEvent("step", "agent:x", "It begins.", once_key="1:1")
    beginning = statements(lambda: begin(turn))
    telling = statements(lambda: claims.append_events(turn.fence, [step]))
    ended = play(turn)[-1]
    assert isinstance(ended, Ended)
    settling = statements(lambda: settlement.settle_run(turn.fence, ended))
    return [creating, claiming, beginning, telling, settling]


def test_a_session_knows_its_last_event_whoever_wrote_it(owner: User, tmp_path: Path) -> None:
    """Opening and settling store the number once, at their end."""
    agent = hybrid_agent(owner, command=brain(tmp_path, question()))
    caller = Caller(key_for(agent, owner))

    paused = caller.create("{}")
    _check()
    caller.answer(paused, "EU")
    _check()


def _check() -> None:
    sessions = Session.objects.annotate(newest=Max("events__seq"))
    for session in sessions:
        assert session.last_seq == session.newest
