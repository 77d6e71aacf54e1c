"""Retiring an agent: nothing of it waits, runs or starts any more, and what was said stays."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from agents import controls, messages
from agents.jobs import tick
from agents.lifecycle import AgentState, InboxState, RunStatus, SessionState, Status
from agents.models import Agent, Session
from agents.registration import open_session
from asks.answering import answer_ask
from asks.lifecycle import AskStatus
from asks.models import Ask, LedgerRecord
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


def test_the_command_retires_an_agent(agent: Agent, session: Session, owner: User) -> None:
    asked = AskFactory(session=session)
    before = Session.objects.get(pk=session.pk).last_seq
    call_command("agent", "retire", agent.slug, "--by", owner.username)
    for row in (agent, session, asked):
        row.refresh_from_db()
    assert agent.lifecycle == AgentState.RETIRED
    assert (session.state, session.status) == (SessionState.ENDED, Status.RETIRED)
    assert (asked.status, asked.closed_by) == (AskStatus.WITHDRAWN, owner)
    events = session.events.filter(seq__gt=before, actor="human:olga").order_by("seq")
    assert list(events.values_list("kind", flat=True)) == ["withdrawn", "state"]
    record = LedgerRecord.objects.get(subject=f"ask:{asked.pk}", kind="withdrawn")
    assert record.actor == "human:olga"


@pytest.mark.parametrize(
    ("slug", "by", "message"),
    [
        ("nobody", "olga", "There is no agent “nobody”."),
        ("builder", "nobody", "There is no user “nobody”."),
    ],
)
@pytest.mark.usefixtures("owner")
def test_the_command_names_who_is_missing(slug: str, by: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("agent", "retire", slug, "--by", by)


def test_the_command_does_not_retire_twice(agent: Agent, owner: User) -> None:
    retire_agent(agent_id=agent.pk, by=owner)
    with pytest.raises(CommandError, match="retired already"):
        call_command("agent", "retire", agent.slug, "--by", owner.username)
