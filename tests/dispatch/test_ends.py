"""A turn's end is stored even if something about it is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from django.contrib.auth.models import User
from pydantic import BaseModel

from agents import registration
from agents.lifecycle import AgentState, Outcome, RunStatus
from agents.models import Run
from agents.running import runner, runtime
from agents.running.runtime import Ended, Said, Turn, TurnEvent, Usage
from tests.dispatch.world import said, start
from tests.factories import NoSettings, home_of


class Clumsy:
    """A runtime whose turn ends with an invalid ask."""

    key = "clumsy"
    settings_model: type[BaseModel] = NoSettings

    async def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]:
        del turn
        yield Said("What I found before I fell.")
        yield Usage({"tokens": 5, "share": float("nan"), "words": "\0"})
        yield Ended(outcome=Outcome.BLOCKED, asks=("no draft",))


class Curious:
    """A runtime whose ``read_ahead`` fails a given number of times."""

    key = "curious"
    settings_model: type[BaseModel] = NoSettings
    failures = 0

    def read_ahead(self, turn: Turn) -> str:
        if Curious.failures:
            Curious.failures -= 1
            raise ValueError("nothing legible")
        return f"what turn {turn.number} begins with"

    async def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]:
        read = turn.read or self.read_ahead(turn)
        yield Ended(outcome=Outcome.NO_WORK, report=f"It read {read}.")


runtime.register_runtime(Clumsy())
runtime.register_runtime(Curious())


def carried(runtime_key: str) -> Run:
    owner = User.objects.create_user("olga")
    agent = registration.register_agent(
        slug="faller",
        owners=[owner],
        runtime_key=runtime_key,
        settings={},
        lifecycle=AgentState.ACTIVE,
    )
    run = start(home_of(agent), owner)
    asyncio.run(runner.carry_run(run.pk))
    return Run.objects.select_related("session").get(pk=run.pk)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("failures", "status", "words"),
    [
        (0, RunStatus.COMPLETED, "It read what turn 1 begins with."),
        (1, RunStatus.COMPLETED, "It read what turn 1 begins with."),
        (2, RunStatus.FAILED, "The runtime broke: ValueError: nothing legible"),
    ],
)
def test_what_cannot_be_read_ahead_is_read_by_the_turn(
    failures: int, status: RunStatus, words: str
) -> None:
    Curious.failures = failures
    ended = carried("curious")
    assert ended.status == status
    assert ended.session.events.filter(kind__in=("summary", "error")).get().text == words


@pytest.mark.usefixtures("database")
def test_what_a_turn_said_last_stays_when_its_end_cannot_be_stored() -> None:
    ended = carried("clumsy")
    session = ended.session
    assert ended.status == RunStatus.FAILED
    assert "could not be stored: TypeError" in ended.error
    assert ended.usage == {"tokens": 5, "share": None, "words": "\ufffd"}
    assert said(session) == "What I found before I fell."
    kinds = list(session.events.order_by("seq").values_list("kind", flat=True))
    assert kinds[-4:] == ["output", "usage", "error", "ended"]
