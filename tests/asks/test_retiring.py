"""Retiring an agent: nothing of it waits, runs or starts any more, and what was said stays."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.jobs import tick
from agents.lifecycle import AgentState, InboxState, RunStatus, SessionState, Status
from agents.models import Agent, Session
from agents.registration import open_session
from asks.answering import answer_ask
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.queue import queries
from asks.refusals import Refused
from asks.retirement import retire_agent
from tests.factories import AskFactory, RunFactory, ask, draft

pytestmark = pytest.mark.django_db


@pytest.mark.case("X15", "C109")
def test_retiring_withdraws_what_was_asked_and_ends_its_sessions(
    agent: Agent, session: Session, owner: User
) -> None:
    ask(session, draft(), draft())
    other = AskFactory(session=open_session(agent))
    assert queries.count_badge(owner) == 3

    assert retire_agent(agent_id=agent.pk, by=owner)

    assert queries.count_badge(owner) == 0
    assert set(Ask.objects.values_list("status", "closed_by", "close_reason")) == {
        (AskStatus.WITHDRAWN, owner.pk, "The agent was retired.")
    }
    for one in (session, other.session):
        one.refresh_from_db()
        assert (one.state, one.status, one.open_asks) == (SessionState.ENDED, Status.RETIRED, 0)
        assert one.status_reason == "Retired by olga."
        assert [run.status for run in one.runs.all()] == [RunStatus.CANCELLED]
        assert one.runs.get().open_asks == 0


@pytest.mark.parametrize("status", [RunStatus.QUEUED, RunStatus.RUNNING])
def test_a_run_of_it_is_cancelled(
    agent: Agent, session: Session, owner: User, status: RunStatus
) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Hello.")
    session.runs.update(status=RunStatus.CANCELLED, ended_at="2026-01-01T00:00Z")
    run = RunFactory(session=session, status=status)
    retire_agent(agent_id=agent.pk, by=owner)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert session.inbox.get().state == InboxState.QUEUED


def test_nothing_starts_a_retired_agent(agent: Agent, session: Session, owner: User) -> None:
    retire_agent(agent_id=agent.pk, by=owner)
    assert controls.start_session(session_id=session.pk, by=owner) is None
    controls.resume_agent(agent_id=agent.pk, by=owner)
    controls.pause_agent(agent_id=agent.pk, by=owner)
    controls.resume_session(session_id=session.pk, by=owner)
    with pytest.raises(messages.SessionIsOver):
        messages.post_message(session_id=session.pk, by=owner, text="Hello?")
    tick.run_tick()
    agent.refresh_from_db()
    session.refresh_from_db()
    assert agent.lifecycle == AgentState.RETIRED
    assert (session.status, session.runs.count()) == (Status.RETIRED, 0)


def test_its_asks_say_that_they_are_closed(agent: Agent, session: Session, owner: User) -> None:
    asked = AskFactory(session=session)
    retire_agent(agent_id=agent.pk, by=owner)
    result = answer_ask(ask_id=asked.pk, by=owner, option="eu")
    assert isinstance(result, Refused)
    assert result.http_status == 409


def test_retiring_twice_is_retiring_once(agent: Agent, session: Session, owner: User) -> None:
    retire_agent(agent_id=agent.pk, by=owner)
    session.refresh_from_db()
    said = session.last_seq
    assert not retire_agent(agent_id=agent.pk, by=owner)
    session.refresh_from_db()
    assert session.last_seq == said
