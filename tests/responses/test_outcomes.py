"""A paused response says what became of its question, and which response goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents import controls
from agents.models import Agent
from asks import answering, withdrawing
from asks.deadlines import expiry
from asks.models import Ask, Verdict
from asks.undo import retracting
from tests.responses.answers import refused
from tests.responses.world import (
    REQUEST,
    Caller,
    ask_of,
    brain,
    carry_all,
    events,
    hybrid_agent,
    key_for,
    question,
    row,
    words,
)
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server import service

pytestmark = pytest.mark.django_db
PROGRAM = ("run:create", "run:read")


@pytest.fixture
def program(agent: Agent) -> Caller:
    """A program with a key of the agent's: no person's."""
    return Caller(key_for(agent, None, PROGRAM, name="program"))


def press(paused: dict[str, Any], owner: User, label: str = "EU") -> None:
    ask = ask_of(paused)
    answering.answer_ask(ask_id=ask.pk, by=owner, option=ask.options.get(label=label).key)


def test_an_open_question_is_waited_for(program: Caller) -> None:
    paused = program.ask()

    envelope = program.look(paused)["envelope"]

    assert envelope == paused["envelope"]
    assert envelope["status"] == "awaiting_human"
    assert [one["status"] for one in envelope["questions"]] == ["open"]
    assert envelope["next_response_id"] is None


def test_an_answer_on_the_page_names_the_response_that_goes_on(
    program: Caller, owner: User
) -> None:
    """The asking program reads it with its own key, until the end."""
    paused = program.ask()
    press(paused, owner, "US")

    found = program.look(paused)
    assert found["envelope"]["status"] == "answered"
    assert found["metadata"]["envelope_status"] == "answered"
    assert found["status"] == "completed"
    going_on = {"id": found["envelope"]["next_response_id"]}
    assert program.look(going_on)["status"] == "in_progress"

    carry_all()
    done = program.look(going_on)
    assert "Reconciled US for 2026-10-16" in words(done)
    assert done["previous_response_id"] == paused["id"]
    assert program.call(service.list_input_items, done["id"])["data"][0]["output"] == "US"


def test_a_chain_of_questions_is_followed_to_its_end(program: Caller, owner: User) -> None:
    paused = program.ask("ask_twice")
    press(paused, owner)
    carry_all()
    second = program.look({"id": program.look(paused)["envelope"]["next_response_id"]})
    assert second["envelope"]["status"] == "awaiting_human"

    press(second, owner, "yes")
    carry_all()

    done = program.look({"id": program.look(second)["envelope"]["next_response_id"]})
    assert "Reconciled yes" in words(done)


def test_a_person_answers_over_the_wire_and_the_program_goes_on(
    program: Caller, caller: Caller
) -> None:
    paused = program.ask()

    done = caller.answer(paused, "EU")

    assert program.look(paused)["envelope"]["next_response_id"] == done["id"]
    assert program.look(done) == done


def withdraw(ask: Ask, owner: User) -> None:
    withdrawing.withdraw_ask(ask_id=ask.pk, by=owner, reason="Not needed.", via="page")


def expire(ask: Ask, owner: User) -> None:
    Ask.objects.filter(pk=ask.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    expiry.expire_due_asks()


@pytest.mark.parametrize(("close", "status"), [(withdraw, "withdrawn"), (expire, "expired")])
def test_a_question_that_closes_without_an_answer_is_not_waited_for(
    program: Caller, owner: User, close: Callable[[Ask, User], None], status: str
) -> None:
    paused = program.ask()

    close(ask_of(paused), owner)
    carry_all()

    envelope = program.look(paused)["envelope"]
    assert (envelope["status"], envelope["next_response_id"]) == (status, None)
    assert [one["status"] for one in envelope["questions"]] == [status]


def test_a_program_reads_no_response_of_another_key(
    program: Caller, agent: Agent, owner: User
) -> None:
    other = Caller(key_for(agent, None, PROGRAM, name="another program"))
    paused = program.ask()
    press(paused, owner)
    going_on = Response.objects.get(answers=ask_of(paused))

    for name in (paused["id"], going_on.public_id):
        assert refused(lambda name=name: other.look({"id": name})).status == 404


def test_the_stream_of_a_paused_response_stays_what_it_was(program: Caller, owner: User) -> None:
    paused = program.ask()
    before = events(paused)

    press(paused, owner)

    assert events(paused) == before
    assert row(paused).body == paused


def test_an_answer_whose_turn_failed_is_followed_to_the_next_try(
    owner: User, tmp_path: Path
) -> None:
    script = (
        "tries = pathlib.Path('tries')\n"
        "if '# The answer' in prompt and not tries.exists():\n"
        "    tries.write_text('1'); sys.exit(1)\n"
        "if '# The answer' in prompt:\n    print('Built.')\n"
        f"else:\n    {question()}"
    )
    agent = hybrid_agent(owner, command=brain(tmp_path, script), max_attempts=1)
    program = Caller(key_for(agent, None, PROGRAM, name="program"))
    paused = program.create(REQUEST)
    press(paused, owner)
    carry_all()
    first = program.look(paused)["envelope"]["next_response_id"]
    assert program.look({"id": first})["status"] == "failed"

    controls.resume_session(session_id=row(paused).session_id, by=owner)
    carry_all()

    going_on = program.look(paused)["envelope"]["next_response_id"]
    assert going_on != first
    assert "Built." in words(program.look({"id": going_on}))


def test_an_answer_that_can_be_taken_back_is_none_yet(program: Caller, owner: User) -> None:
    """The program hears of it when it takes effect, and of the one that stands only."""
    paused = program.ask()
    ask = ask_of(paused)

    def press_for_now(label: str) -> Verdict:
        done = answering.answer_ask(
            ask_id=ask.pk,
            by=owner,
            option=ask.options.get(label=label).key,
            undo=timedelta(seconds=5),
        )
        assert isinstance(done, answering.Answered)
        return done.verdict

    taken_back = press_for_now("EU")
    assert program.look(paused)["envelope"] == paused["envelope"]
    retracting.retract_verdict(verdict_id=taken_back.pk, by=owner)
    assert program.look(paused)["envelope"] == paused["envelope"]

    stands = press_for_now("US")
    retracting.start_now(verdict_id=stands.pk, by=owner)
    carry_all()

    going_on = program.look(paused)["envelope"]["next_response_id"]
    assert "Reconciled US" in words(program.look({"id": going_on}))
