"""A real command takes the grants of its turn from the worker: each once, written down before."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.lifecycle import Outcome
from agents.models import Run, Session
from agents.running.runtime import Said, Turn
from asks.actions.interrupted import ask_about_interrupted
from asks.drafts import ActionDraft
from asks.models import Ask, Effect, EffectEnd, Redemption
from tests.factories import AskFactory, claim, finish, verdict_on
from workspace.protocols.markers.permissions import approved_tools
from workspace.protocols.markers.permissions.grant_socket import GrantsOfTurn, _answer
from workspace.protocols.markers.runtime import MarkersRuntime

pytestmark = pytest.mark.django_db(transaction=True)
BASH = ActionDraft("execute", {"command": "rm -rf x"})
HERE = Path(__file__).parent
MOCK = HERE.parent / "conformance/markers/mock_acp_agent.py"


@pytest.fixture
def approved(session: Session, owner: User) -> Ask:
    asked: Ask = AskFactory(session=session, action=BASH)
    verdict_on(asked, owner)
    return asked


@pytest.fixture
def turn(session: Session, approved: Ask) -> Turn:
    return claim(session.runs.latest("number"))


def act(turn: Turn, prompt: str) -> str:
    """What the agent says in a turn in which it wants to use its tool."""
    agent = [sys.executable, approved_tools.__file__, sys.executable, str(MOCK)]
    command = [sys.executable, str(HERE / "taking.py"), prompt, *agent]
    settings = {"command": command, "format": "acpx"}
    return _said(replace(turn, agent=replace(turn.agent, settings=settings)))


def _said(turn: Turn) -> str:
    async def events_of() -> list[Any]:
        async with aclosing(MarkersRuntime().take_turn(turn)) as events:
            return [event async for event in events]

    return "".join(event.text for event in asyncio.run(events_of()) if isinstance(event, Said))


def test_an_approved_tool_is_given_once_and_its_end_written_down(
    turn: Turn, session: Session
) -> None:
    said = act(turn, "perm twice")
    assert said.index("permission: a") < said.index("permission: r")
    assert Redemption.objects.get().run_id == turn.run_id
    assert Effect.objects.get().end == EffectEnd.DONE
    assert not session.events.filter(kind="ignored").exists(), "the second is asked by acpx instead"


@pytest.mark.usefixtures("approved")
def test_what_was_not_approved_is_not_given(turn: Turn) -> None:
    assert "permission: r" in act(turn, "perm again")
    assert not Redemption.objects.exists()


@pytest.mark.case("C22", "C39")
def test_a_turn_that_broke_with_it_in_hand_never_gets_it_again(
    turn: Turn, session: Session, owner: User
) -> None:
    """It was given, and nobody says how it ended: the owner is asked, and the next try is refused."""
    assert "permission: a" in act(turn, "perm lost")
    assert Redemption.objects.exists()
    assert not Effect.objects.exists()
    finish(turn, Outcome.RETRYABLE_ERROR)
    assert ask_about_interrupted() == 1
    assert "may or may not have happened" in Ask.objects.latest("pk").prompt
    verdict_on(Ask.objects.latest("pk"), owner, option="did-not-happen")
    again = claim(session.runs.latest("number"))
    assert "execute" in [given.data.get("operation") for given in again.given], "it is owed again"
    assert "permission: r" in act(again, "perm")
    assert Redemption.objects.count() == 1


@pytest.mark.usefixtures("approved")
def test_a_claim_that_was_lost_gives_nothing(turn: Turn) -> None:
    Run.objects.filter(pk=turn.run_id).update(epoch=turn.epoch + 1)
    assert "permission: r" in act(turn, "perm")
    assert not Redemption.objects.exists()


def test_a_plain_command_takes_what_is_approved_too(session: Session, owner: User) -> None:
    pay = ActionDraft("pay", {"to": "ACME", "amount": 5})
    verdict_on(AskFactory(session=session, action=pay), owner)
    turn = claim(session.runs.latest("number"))
    again = json.dumps({"amount": 5.0, "to": "ACME"})
    once = f""""$0" "$1" --once pay '{again}' -- echo"""
    script = f"{once} paid; {once} twice"
    command = ["sh", "-c", script, sys.executable, approved_tools.__file__]
    assert (
        _said(replace(turn, agent=replace(turn.agent, settings={"command": command}))) == "paid\n"
    )
    assert Effect.objects.get().end == EffectEnd.DONE


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"take": 1, "params": {}}',
        b'{"take": "Bash"}',
        b'{"end": "1", "happened": true}',
        b'{"end": true, "happened": true}',
        b'{"take": "Bash", "params": ' + b"[" * 100_000,
    ],
)
def test_what_makes_no_sense_gives_nothing(turn: Turn, line: bytes) -> None:
    assert asyncio.run(_answer(GrantsOfTurn(turn), line)) is None
    assert not Redemption.objects.exists()


def test_an_end_of_what_was_not_begun_here_is_none(turn: Turn) -> None:
    book = GrantsOfTurn(turn)
    begun = asyncio.run(_answer(book, b'{"take": "execute", "params": {"command": "rm -rf x"}}'))
    assert isinstance(begun, int)
    asyncio.run(_answer(book, json.dumps({"end": begun + 1, "happened": True}).encode()))
    assert not Effect.objects.exists()
    asyncio.run(_answer(book, json.dumps({"end": begun, "happened": 1}).encode()))
    assert Effect.objects.get().end == EffectEnd.FAILED
