"""Mail between agents: only with a shared owner, never in circles, given up after three failures."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from agents import controls
from agents.db.expressions import database_now
from agents.lifecycle import Cause, InboxKind, InboxState, Outcome, RunStatus, Status
from agents.models import Agent, Session
from agents.registration import open_session
from agents.running.runtime import Mail
from asks.retirement import retire_agent
from tests.factories import AgentFactory, AskFactory, begin, claim, finish, home_of, turn_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def scout(owner: User) -> Session:
    return home_of(AgentFactory(slug="scout", owners=[owner], wake={"kind": "on_message"}))


def lost_in(session: Session) -> list[str]:
    return list(
        session.events.filter(kind="mail_lost").order_by("seq").values_list("text", flat=True)
    )


@pytest.mark.case("aoa-57")
def test_mail_wakes_whom_it_names_once(session: Session, scout: Session) -> None:
    run = turn_of(session, mails=(Mail("scout", "Look at **invoice 7**."),))
    woken = scout.runs.get()
    assert (woken.status, woken.cause) == (RunStatus.QUEUED, Cause.MAIL)
    (given,) = claim(woken).given
    assert (given.kind, given.author, given.body) == (
        "mail",
        "agent:ledger",
        "Look at **invoice 7**.",
    )
    assert "<strong>invoice 7</strong>" in scout.events.get(kind="mail").html
    sent = session.events.get(kind="mail_sent")
    assert (sent.run, sent.data) == (run, {"to": "scout"})
    assert session.runs.count() == 1


def test_several_mails_of_a_turn_start_one_run(session: Session, scout: Session) -> None:
    turn_of(session, mails=tuple(Mail("scout", text) for text in ("one", "two", "two")))
    assert [given.body for given in claim(scout.runs.get()).given] == ["one", "two", "two"]


def test_mail_to_nobody_itself_or_strangers_is_said_to_be_lost(
    session: Session, stranger: User
) -> None:
    """The sender must not learn whether a stranger's agent exists."""
    secret = home_of(AgentFactory(slug="secret", owners=[stranger]))
    names = ("nobody", "secret", "ledger", "\0", "", "x" * 500)
    turn_of(session, mails=tuple(Mail(name, "Hi.") for name in names))
    assert lost_in(session) == [
        "Not delivered to @nobody: there is no such agent.",
        "Not delivered to @secret: there is no such agent.",
        "Not delivered to @ledger: an agent does not write to itself.",
        "Not delivered to @\ufffd: there is no such agent.",
        "Not delivered to @: there is no such agent.",
        f"Not delivered to @{'x' * 500}: there is no such agent.",
    ]
    assert not secret.inbox.exists()
    assert not session.inbox.exists()


def test_one_shared_owner_is_enough(session: Session, colleague: User, stranger: User) -> None:
    shared = home_of(AgentFactory(slug="shared", owners=[stranger, colleague]))
    turn_of(session, mails=(Mail("shared", "Hi."),))
    assert shared.inbox.count() == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" \u200b", "it says nothing"),
        ("x" * 16_001, "it has 16001 characters; the limit is 16000"),
    ],
    ids=["blank", "long"],
)
def test_mail_that_says_nothing_or_too_much_is_lost(
    session: Session, scout: Session, text: str, why: str
) -> None:
    turn_of(session, mails=(Mail("scout", text),))
    assert lost_in(session) == [f"Not delivered to @scout: {why}."]
    assert not scout.runs.exists()


def test_a_session_of_its_own_writes_for_its_agent(agent: Agent, scout: Session) -> None:
    turn_of(open_session(agent), mails=(Mail("scout", "Hi."), Mail("ledger", "Hi me.")))
    assert scout.inbox.get().author == "agent:ledger"
    assert not home_of(agent).inbox.exists()


@pytest.mark.parametrize("outcome", [Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED])
def test_a_failed_turn_sends_nothing(session: Session, scout: Session, outcome: Outcome) -> None:
    turn_of(session, outcome, mails=(Mail("scout", "Hi."),))
    assert not scout.inbox.exists()


def test_a_retired_agent_gets_no_mail(session: Session, scout: Session, owner: User) -> None:
    retire_agent(agent_id=scout.agent_id, by=owner)
    turn_of(session, mails=(Mail("scout", "Hi."),))
    assert lost_in(session) == ["Not delivered to @scout: there is no such agent."]


def test_a_paused_agent_keeps_its_mail(session: Session, scout: Session, owner: User) -> None:
    controls.pause_agent(agent_id=scout.agent_id, by=owner)
    turn_of(session, mails=(Mail("scout", "Hi."),))
    assert not scout.runs.exists()
    controls.resume_agent(agent_id=scout.agent_id, by=owner)
    assert len(claim(scout.runs.get()).given) == 1


@pytest.mark.case("C116")
def test_mail_does_not_start_a_run_while_one_waits_for_a_person(
    session: Session, scout: Session
) -> None:
    AskFactory(session=scout)
    turn_of(session, mails=(Mail("scout", "Hi."),))
    scout.refresh_from_db()
    assert [run.status for run in scout.runs.all()] == [RunStatus.WAITING_HUMAN]
    assert scout.status == Status.WAITING_HUMAN
    assert scout.inbox.get().state == InboxState.QUEUED


@pytest.mark.case("aoa-36")
def test_mail_that_comes_mid_turn_starts_the_next(session: Session, scout: Session) -> None:
    turn = begin(scout)
    turn_of(session, mails=(Mail("scout", "Hi."),))
    finish(turn, Outcome.NO_WORK)
    following = scout.runs.latest("number")
    assert (following.cause, len(claim(following).given)) == (Cause.MAIL, 1)


@pytest.mark.case("aoa-34")
def test_mail_that_comes_while_a_turn_fails_waits_for_the_back_off(
    session: Session, scout: Session
) -> None:
    turn = begin(scout)
    turn_of(session, mails=(Mail("scout", "Hi."),))
    finish(turn, Outcome.RETRYABLE_ERROR)
    scout.refresh_from_db()
    assert scout.wake_at is not None
    assert (scout.wake_cause, scout.wake_at - scout.moved_at) == (
        Cause.BACKOFF,
        timedelta(seconds=30),
    )


@pytest.mark.case("aoa-37")
def test_mail_is_given_up_after_three_failures_and_said_so(
    session: Session, scout: Session
) -> None:
    turn_of(session, mails=(Mail("scout", "Poison."),))
    for failures in (1, 2, 3):
        finish(claim(scout.runs.latest("number")), Outcome.RETRYABLE_ERROR)
        item = scout.inbox.get()
        assert item.attempts == failures
        assert item.state == (InboxState.DEAD if failures == 3 else InboxState.QUEUED)
        begin_again(scout)
    assert lost_in(scout) == ["1 message(s) given up after 3 failed turns."]
    assert claim(scout.runs.latest("number")).given == ()


def begin_again(session: Session) -> None:
    """Start the session again as if its back-off had passed."""
    from agents.jobs.tick import run_tick

    Session.objects.filter(pk=session.pk).update(wake_at=database_now())
    run_tick()


def test_a_limit_is_not_the_mails_fault(session: Session, scout: Session) -> None:
    turn_of(session, mails=(Mail("scout", "Hi."),))
    for _ in range(4):
        finish(claim(scout.runs.latest("number")), Outcome.RATE_LIMITED)
        begin_again(scout)
    assert (scout.inbox.get().state, scout.inbox.get().attempts) == (InboxState.QUEUED, 0)


@pytest.mark.case("aoa-57")
def test_a_circle_of_mail_ends(owner: User) -> None:
    sessions = [home_of(AgentFactory(slug=f"a{n}", owners=[owner])) for n in range(2)]
    turn_of(sessions[0], mails=(Mail("a1", "ping"),))
    for hop in range(1, 10):
        here = sessions[hop % 2]
        queued = here.runs.filter(status=RunStatus.QUEUED).first()
        if queued is None:
            break
        finish(claim(queued), mails=(Mail(f"a{(hop + 1) % 2}", "ping"),))
    assert hop == 5
    hops = [i.hops for s in sessions for i in s.inbox.filter(kind=InboxKind.MAIL)]
    assert sorted(hops) == [1, 2, 3, 4]
    assert lost_in(sessions[0]) == ["Not delivered to @a1: it went through 4 agents already."]
