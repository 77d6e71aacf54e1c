"""Which actions a policy lets pass, and which it puts to a person."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.lifecycle import Outcome, RunStatus, Status
from agents.models import Agent, Session
from agents.registration import open_session
from asks.answering import Answered, answer_ask
from asks.drafts import ActionDraft
from asks.lifecycle import AskStatus, Meaning, Reason
from asks.models import Ask, Grant, Verdict
from asks.refusals import Refused
from tests.factories import REFUND, claim, draft, echo_of, finish, turn_of, verdict_on
from tests.policies.world import asked, go_on_and_propose, in_force, next_run, propose, refund

pytestmark = pytest.mark.django_db


def test_without_a_policy_every_action_needs_a_person(session: Session) -> None:
    assert asked(session).gate.policy_version == 0
    assert asked(open_session(session.agent)).terms == {}


def test_what_no_rule_names_needs_a_person(agent: Agent, session: Session) -> None:
    in_force(agent, {"operation": "read*", "approval": "never"})
    assert asked(session).gate.policy_version == 1


def test_the_first_rule_that_fits_counts(agent: Agent, session: Session) -> None:
    in_force(agent, {"operation": "ref?nd", "approval": "never"}, refund())
    assert propose(session) is None


def test_what_never_needs_approval_goes_on_by_itself(agent: Agent, session: Session) -> None:
    in_force(agent, refund(approval="never"))
    run = turn_of(session, Outcome.BLOCKED, asks=(draft("k", action=REFUND),))
    session.refresh_from_db()

    assert not Ask.objects.exists()
    assert not Verdict.objects.exists(), "nobody decided, and nobody is said to have"
    assert run.status == RunStatus.COMPLETED
    assert session.status == Status.QUEUED
    event = session.events.get(kind="allowed")
    assert event.actor == "policy:v1"
    assert "never needs an approval" in event.text

    (given,) = claim(next_run(session)).given
    assert (given.kind, given.author) == ("verdict", "policy:v1")
    assert given.data["operation"] == "refund"
    assert given.data["params"] == REFUND.params
    assert given.data["meaning"] == Meaning.APPROVE
    assert given.data["ask_id"] is None
    grant = Grant.objects.get()
    assert (grant.ask, grant.policy_version, grant.params) == (None, 1, REFUND.params)


def test_an_agent_that_does_not_act_on_it_is_shown_to_a_person(
    agent: Agent, session: Session
) -> None:
    in_force(agent, refund(approval="never"))
    propose(session)
    run = go_on_and_propose(session)
    assert [one.status for one in run.asks.all()] == [AskStatus.OPEN]
    assert Grant.objects.count() == 1


def test_two_proposals_of_one_turn_are_allowed_once(agent: Agent, session: Session) -> None:
    in_force(agent, refund(approval="never"))
    turn_of(session, Outcome.BLOCKED, asks=(draft("a", action=REFUND), draft("b", action=REFUND)))
    assert Grant.objects.count() == 1
    assert len(claim(next_run(session)).given) == 1


def test_a_run_with_an_open_question_still_waits_for_it(agent: Agent, session: Session) -> None:
    in_force(agent, refund(approval="never"))
    run = turn_of(session, Outcome.BLOCKED, asks=(draft("a", action=REFUND), draft("q")))
    assert run.status == RunStatus.WAITING_HUMAN


def test_once_is_once_per_session(agent: Agent, owner: User, session: Session) -> None:
    in_force(agent, refund(approval="once"))
    verdict_on(asked(session), owner)
    other = ActionDraft("refund", {"charge": "ch_2", "amount": 12})
    assert not go_on_and_propose(session, other).asks.exists()
    assert propose(open_session(agent), other) is not None, "another session asks for itself"


def test_a_rejection_is_no_approval(agent: Agent, owner: User, session: Session) -> None:
    in_force(agent, refund(approval="once"))
    verdict_on(asked(session), owner, option="deny")
    assert go_on_and_propose(session, ActionDraft("refund", {"n": 2})).asks.exists()


def test_once_starts_anew_with_a_new_version(agent: Agent, owner: User, session: Session) -> None:
    in_force(agent, refund(approval="once"))
    verdict_on(asked(session), owner)
    in_force(agent, refund(approval="once"), expires_after="P1D")
    assert go_on_and_propose(session, ActionDraft("refund", {"n": 2})).asks.exists()


@pytest.mark.parametrize(
    ("params", "is_asked"),
    [
        ({"amount": 1001}, True),
        ({"amount": 1000}, False),
        ({"amount": "9"}, True),
        ({}, True),
        (None, True),
    ],
)
def test_a_condition_on_the_arguments(
    agent: Agent, session: Session, params: Any, is_asked: bool
) -> None:
    """What cannot be decided is left to a person."""
    in_force(agent, refund(approval="when", when="params.amount > 1000"))
    assert (propose(session, ActionDraft("refund", params)) is not None) is is_asked


@pytest.mark.parametrize("rule", [refund(approval="never"), refund(approval="once")])
def test_a_protocol_that_waits_for_a_person_gets_one(
    agent: Agent, owner: User, session: Session, rule: dict[str, Any]
) -> None:
    in_force(agent, rule)
    always = ActionDraft("refund", {"n": 1}, always_asks=True)
    verdict_on(asked(session, always), owner)
    assert go_on_and_propose(session, always).asks.exists()


@pytest.mark.case("C79")
def test_what_a_policy_calls_money_critical_is_gated(
    agent: Agent, owner: User, session: Session
) -> None:
    in_force(agent, {"operation": "ref*", "money_critical": True})
    ask = asked(session)
    assert ask.money_critical
    refused = answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.GATED
    assert not Grant.objects.exists()


def test_an_action_that_says_it_is_money_critical_never_passes(
    agent: Agent, session: Session
) -> None:
    in_force(agent, {"operation": "*", "approval": "never"})
    assert asked(session, ActionDraft("pay", {"n": 1}, money_critical=True)).money_critical


def test_an_open_approval_waits_although_the_policy_now_asks_nobody(
    agent: Agent, owner: User, session: Session
) -> None:
    ask = asked(session, key="k")
    in_force(agent, refund(approval="never"))
    from agents import messages

    messages.post_message(session_id=session.pk, by=owner, text="Go on.")
    run = go_on_and_propose(session, REFUND, "k")
    ask.refresh_from_db()
    assert ask.superseded_by in run.asks.all()


@pytest.mark.case("C24", "X7")
def test_a_new_version_moves_the_binding(agent: Agent, owner: User, session: Session) -> None:
    ask = asked(session)
    in_force(agent, refund(expires_after="P1D"))
    refused = answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.STALE
    fresh = refused.replaced_by
    assert fresh is not None
    assert (fresh.gate.policy_version, fresh.superseded_by) == (1, None)
    assert fresh.expires_at is not None
    assert not Verdict.objects.exists()
    done = answer_ask(ask_id=fresh.pk, by=owner, option="approve", echo=echo_of(fresh))
    assert isinstance(done, Answered)


def test_a_question_keeps_the_terms_it_was_asked_with(
    agent: Agent, owner: User, session: Session
) -> None:
    run = turn_of(session, Outcome.BLOCKED, asks=(draft(),))
    in_force(agent, refund())
    assert isinstance(answer_ask(ask_id=run.asks.get().pk, by=owner, option="eu"), Answered)


def test_a_group_that_is_gone_leaves_nobody_in_its_place(agent: Agent, session: Session) -> None:
    from tests.policies.world import group_of

    group = group_of("finance")
    in_force(agent, refund(answered_by="group:finance"))
    group.delete()
    finish(claim_of(session), Outcome.BLOCKED, asks=(draft(action=REFUND),))
    assert not Ask.objects.exists()
    (ignored,) = session.events.filter(kind="ignored")
    assert "there is no such group" in ignored.data["why"]
    session.refresh_from_db()
    assert session.status == Status.BLOCKED


def claim_of(session: Session) -> Any:
    from tests.factories import begin

    return begin(session)
