"""How a turn's end is written when something about it is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from django.contrib.auth.models import User
from pydantic import BaseModel

from agents import dispatch, registering, runtime
from agents.lifecycle import AgentState, Outcome, RunStatus
from agents.models import Run
from agents.runtime import Ended, Said, Turn, TurnEvent, Usage
from tests.dispatch.world import said, start
from tests.factories import NoSettings, home_of


class Clumsy:
    """A runtime whose turn ends with an ask that is none."""

    key = "clumsy"
    settings_model: type[BaseModel] = NoSettings

    async def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]:
        del turn
        yield Said("What I found before I fell.")
        yield Usage({"tokens": 5, "share": float("nan"), "words": "\0"})
        yield Ended(outcome=Outcome.BLOCKED, asks=("no draft",))


runtime.register(Clumsy())


@pytest.mark.usefixtures("database")
def test_what_a_turn_said_last_stays_when_its_end_cannot_be_stored() -> None:
    owner = User.objects.create_user("olga")
    agent = registering.register_agent(
        slug="faller",
        owners=[owner],
        runtime_key="clumsy",
        settings={},
        lifecycle=AgentState.ACTIVE,
    )
    session = home_of(agent)
    run = start(session, owner)

    asyncio.run(dispatch.carry_run(run.pk))

    ended = Run.objects.get(pk=run.pk)
    assert ended.status == RunStatus.FAILED
    assert "could not be stored: TypeError" in ended.error
    assert ended.usage == {"tokens": 5, "share": None, "words": "\ufffd"}
    assert said(session) == "What I found before I fell."
    kinds = list(session.events.order_by("seq").values_list("kind", flat=True))
    assert kinds[-4:] == ["output", "usage", "error", "ended"]
