"""A person starts, stops, pauses and resumes. Inbox items are kept in every case."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents import claims, controls, messages, settlement
from agents.lifecycle import (
    AgentState,
    Cause,
    InboxState,
    Outcome,
    RunStatus,
    SessionState,
    Status,
)
from agents.models import Agent, Run, Session
from agents.registration import open_session
from agents.running.runtime import Ended
from asks.lifecycle import AskStatus
from tests.factories import AgentFactory, AskFactory, begin, claim, home_of, turn_of, verdict_on

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("lifecycle", [AgentState.DRAFT, AgentState.ACTIVE, AgentState.PAUSED])
def test_starting_makes_active_and_starts(owner: User, lifecycle: AgentState) -> None:
    agent = AgentFactory(owners=[owner], lifecycle=lifecycle)
    run = controls.start_session(session_id=home_of(agent).pk, by=owner)
    assert run is not None
    agent.refresh_from_db()
    assert (agent.lifecycle, run.status) == (AgentState.ACTIVE, RunStatus.QUEUED)


def test_starting_twice_starts_once(session: Session, owner: User) -> None:
    first = controls.start_session(session_id=session.pk, by=owner)
    assert controls.start_session(session_id=session.pk, by=owner) == first
    turn = claim(Run.objects.get())
    assert controls.start_session(session_id=session.pk, by=owner) == first
    assert turn.cause == Cause.HUMAN


def test_starting_lets_a_waiting_run_go_on_and_its_ask_stays(session: Session, owner: User) -> None:
    asked = AskFactory(session=session)
    run = controls.start_session(session_id=session.pk, by=owner)
    assert run is not None
    assert run.number == 2
    asked.refresh_from_db()
    assert asked.status == AskStatus.OPEN


def test_starting_lifts_a_blocked_session(session: Session, owner: User) -> None:
    turn_of(session, Outcome.BLOCKED)
    assert controls.start_session(session_id=session.pk, by=owner)


@pytest.mark.parametrize("status", [RunStatus.QUEUED, RunStatus.RUNNING])
def test_stopping_keeps_what_is_owed(session: Session, owner: User, status: RunStatus) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Hello.")
    run = session.runs.get()
    turn = claim(run) if status == RunStatus.RUNNING else None
    assert controls.stop_session(session_id=session.pk, by=owner)
    run.refresh_from_db()
    session.refresh_from_db()
    assert (run.status, session.state) == (RunStatus.CANCELLED, SessionState.PAUSED)
    assert (session.status, session.status_reason) == (Status.PAUSED, "Stopped by olga.")
    assert (session.inbox.get().state, session.inbox.get().attempts) == (InboxState.QUEUED, 0)
    if turn:
        assert not settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE))

    controls.resume_session(session_id=session.pk, by=owner)
    assert [given.body for given in claim(session.runs.latest("number")).given] == ["Hello."]


def test_there_is_nothing_to_stop_of_a_waiting_run(session: Session, owner: User) -> None:
    assert not controls.stop_session(session_id=session.pk, by=owner)
    AskFactory(session=session)
    assert not controls.stop_session(session_id=session.pk, by=owner)
    session.refresh_from_db()
    assert session.status == Status.WAITING_HUMAN


@pytest.mark.parametrize("given_back", [False, True])
def test_pausing_takes_a_queued_run_back_and_resuming_queues_it_again(
    session: Session, owner: User, given_back: bool
) -> None:
    verdict_on(AskFactory(session=session), owner, option="us")
    if given_back:
        claims.return_run(claim(session.runs.latest("number")).fence)
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    session.refresh_from_db()
    assert session.runs.latest("number").status == RunStatus.CANCELLED
    assert (session.status, session.inbox.get().state) == (Status.PAUSED, InboxState.QUEUED)

    controls.resume_agent(agent_id=session.agent_id, by=owner)
    turn = claim(session.runs.latest("number"))
    assert (turn.cause, [given.body for given in turn.given]) == (Cause.HUMAN, ["US ledger"])


def test_a_run_under_way_ends_its_turn_while_paused(session: Session, owner: User) -> None:
    turn = begin(session)
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    assert settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE))
    session.refresh_from_db()
    assert session.status == Status.PAUSED
    assert session.runs.get().status == RunStatus.COMPLETED


def test_a_run_given_back_while_paused_gives_its_wake_back(session: Session, owner: User) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Hello.")
    turn = claim(session.runs.get())
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    assert claims.return_run(turn.fence)
    session.refresh_from_db()
    assert (session.runs.get().status, session.inbox.get().state) == (
        RunStatus.CANCELLED,
        InboxState.QUEUED,
    )
    controls.resume_agent(agent_id=session.agent_id, by=owner)
    assert len(claim(session.runs.latest("number")).given) == 1


def test_every_session_of_an_agent_is_paused_and_resumed(agent: Agent, owner: User) -> None:
    sessions = [home_of(agent), open_session(agent), open_session(agent)]
    AskFactory(session=sessions[1])
    controls.pause_agent(agent_id=agent.pk, by=owner)
    assert set(Session.objects.values_list("status", flat=True)) == {Status.PAUSED}
    controls.resume_agent(agent_id=agent.pk, by=owner)
    statuses = [Session.objects.get(pk=session.pk).status for session in sessions]
    assert statuses == [Status.MANUAL, Status.WAITING_HUMAN, Status.MANUAL]


def test_a_blocked_session_is_still_blocked_when_resumed(session: Session, owner: User) -> None:
    turn_of(session, Outcome.BLOCKED)
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    controls.resume_agent(agent_id=session.agent_id, by=owner)
    session.refresh_from_db()
    assert (session.status, session.runs.count()) == (Status.BLOCKED, 1)


def test_resuming_a_continuous_agent_starts_it(owner: User) -> None:
    agent = AgentFactory(owners=[owner], wake={"kind": "continuous"}, lifecycle=AgentState.DRAFT)
    session = home_of(agent)
    assert (session.status, session.runs.count()) == (Status.DRAFT, 0)
    controls.resume_agent(agent_id=agent.pk, by=owner)
    assert session.runs.count() == 1
    assert session.events.filter(text="Started for the first time.").exists()


@pytest.mark.parametrize("verb", [controls.pause_agent, controls.resume_agent])
def test_doing_it_twice_says_it_once(session: Session, owner: User, verb: object) -> None:
    assert callable(verb)
    if verb is controls.resume_agent:
        controls.pause_agent(agent_id=session.agent_id, by=owner)
    verb(agent_id=session.agent_id, by=owner)
    session.refresh_from_db()
    said = session.last_seq
    verb(agent_id=session.agent_id, by=owner)
    session.refresh_from_db()
    assert session.last_seq == said


def test_resuming_a_session_that_is_not_paused_does_nothing(session: Session, owner: User) -> None:
    controls.resume_session(session_id=session.pk, by=owner)
    assert session.runs.count() == 0


def test_a_session_stopped_stays_stopped_when_its_agent_is_resumed(
    session: Session, owner: User
) -> None:
    begin(session)
    controls.stop_session(session_id=session.pk, by=owner)
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    controls.resume_agent(agent_id=session.agent_id, by=owner)
    session.refresh_from_db()
    assert (session.status, session.runs.count()) == (Status.PAUSED, 1)


def test_who_did_it_is_in_the_thread(session: Session, owner: User) -> None:
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    event = session.events.latest("seq")
    assert (event.kind, event.actor, event.text) == ("state", "human:olga", "The agent was paused.")
