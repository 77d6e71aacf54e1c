"""Turns that cannot be taken: what trying again may help with, and what is given up with the reason."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from pydantic_ai.exceptions import ModelRateLimitError, UserError

from agents import controls, messages
from agents.lifecycle import Outcome, SessionState
from agents.models import Agent
from agents.registration import open_session, register_agent
from tests.eve.runtime.world import (
    WHERE,
    Brain,
    approve,
    call,
    carry_all,
    eve_agent,
    in_this_thread,
    last_report,
    noted,
    open_asks,
    say,
    session_for,
)
from tests.leaf import world as leaf
from workspace.protocols.eve.agent.runtime import EveRuntime
from workspace.protocols.eve.models import EveTurn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"agent": "no.such.module:agent"}, "cannot be imported"),
        ({"agent": "tests.eve.runtime.agents:nobody"}, "defines no agent named nobody"),
        ({"agent": "tests.eve.runtime.agents:refund"}, "defines no agent named refund"),
        ({"agent": WHERE, "model": "nobody:knows"}, "cannot be used"),
    ],
)
def test_an_agent_that_cannot_be_run_is_given_up_with_the_reason(
    owner: User, settings: dict[str, Any], says: str
) -> None:
    session = open_session(eve_agent(owner, **settings))
    (ended,) = say(session, owner)
    assert ended.give_up
    assert says in ended.error
    session.refresh_from_db()
    assert session.state == SessionState.PAUSED


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, "agent"),
        ({"agent": "os"}, "agent"),
        ({"agent": "a.b:c d"}, "agent"),
        ({"agent": WHERE, "max_steps": 0}, "max_steps"),
        ({"agent": WHERE, "unknown": 1}, "unknown"),
    ],
)
def test_settings_are_checked_when_they_are_saved(
    owner: User, settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        register_agent(slug="x", owners=[owner], runtime_key="eve", settings=settings)
    assert field in str(refused.value)
    assert not Agent.objects.filter(slug="x").exists()


def test_a_model_that_is_away_is_tried_again_and_given_up_in_the_end(owner: User) -> None:
    away = [ConnectionError("away")]
    brain = Brain(away, away, away)
    session = session_for(owner, brain, max_attempts=2)
    (first,) = say(session, owner, "Hello")
    assert (first.outcome, first.give_up) == (Outcome.RETRYABLE_ERROR, False)
    controls.start_session(session_id=session.pk, by=owner)
    (second,) = carry_all()
    assert second.give_up
    session.refresh_from_db()
    assert session.state == SessionState.PAUSED


def test_what_was_said_to_a_turn_that_failed_is_told_once(owner: User) -> None:
    brain = Brain([ConnectionError("away")])
    session = session_for(owner, brain)
    say(session, owner, "Hello")
    controls.start_session(session_id=session.pk, by=owner)
    carry_all()
    assert brain.heard() == ["Hello"]
    assert last_report(session) == "Done."


def test_a_tool_that_is_gone_when_it_is_approved_is_not_run(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([call("refund", "c1", charge_id="ch_1", amount=1.0)])
    session = session_for(owner, brain)
    say(session, owner)
    agent = session.agent
    agent.settings = {**agent.settings, "agent": "workspace.demo.billing:billing"}
    agent.save(update_fields=["settings"])
    approve(open_asks(session)[0], owner)
    assert effects == []
    assert "charge" in str(brain.told()["c1"])


def test_a_turn_that_takes_too_long_is_ended(owner: User, effects: list[Any]) -> None:
    brain = Brain([call("waits", seconds=600.0)])
    (ended,) = say(session_for(owner, brain, wall_clock_seconds=2), owner)  # enough to call it
    assert ended.error == "The turn took longer than 2 seconds."
    assert effects == [("waits", 600.0)]


def test_a_turn_that_is_stopped_leaves_nothing_under_way(owner: User, effects: list[Any]) -> None:
    session = session_for(owner, Brain([call("waits", seconds=600.0)]))
    messages.post_message(session_id=session.pk, by=owner, text="Go.")
    turn = leaf.claimed()
    assert turn is not None

    async def listen_and_leave() -> int:
        events = EveRuntime(read=in_this_thread, once=in_this_thread).take_turn(turn)
        while not effects:
            await anext(events)
        await events.aclose()
        return len(asyncio.all_tasks()) - 1

    assert async_to_sync(listen_and_leave)() == 0


def test_a_model_is_found_by_its_name(owner: User) -> None:
    """pydantic-ai's own model for tests calls every tool there is."""
    agent = eve_agent(owner, agent="workspace.demo.billing:billing", model="test")
    session = open_session(agent)
    (ended,) = say(session, owner)
    assert ended.outcome == Outcome.BLOCKED
    assert [one.context["eve"]["toolName"] for one in open_asks(session)] == [
        "refund",
        "ask_question",
    ]


def test_a_conversation_that_does_not_wait_for_the_call_runs_nothing(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([call("refund", "c1", charge_id="ch_1", amount=1.0)])
    session = session_for(owner, brain)
    say(session, owner)
    EveTurn.objects.filter(session=session).update(messages=[])
    (ended,) = approve(open_asks(session)[0], owner)
    assert ended.outcome == Outcome.WORK_DONE
    assert brain.heard() == ["Begin."]
    assert effects == []


def test_a_used_up_quota_waits(owner: User) -> None:
    limit = ModelRateLimitError("some-model", "too many requests", retry_after=7200)
    (ended,) = say(session_for(owner, Brain([limit])), owner)
    assert ended.outcome == Outcome.RATE_LIMITED
    assert ended.retry_at is not None
    assert timedelta(hours=1) < ended.retry_at - datetime.now(UTC) <= timedelta(hours=2)


def test_wrong_use_of_a_model_is_given_up_at_once(owner: User) -> None:
    (ended,) = say(session_for(owner, Brain([UserError("no key")])), owner)
    assert ended.give_up


def test_a_model_that_never_ends_is_stopped(owner: User) -> None:
    steps = [[call("look_up", charge_id=str(n))] for n in range(10)]
    session = session_for(owner, Brain(*steps), max_steps=3)
    (ended,) = say(session, owner)
    assert ended.outcome == Outcome.RETRYABLE_ERROR
    assert "request_limit" in ended.error or "UsageLimitExceeded" in ended.error
    assert len(noted(session, "step.completed")) == 3
