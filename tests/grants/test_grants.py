"""An approval is a grant: for exactly one thing, once, written down before it is done."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction

from agents.lifecycle import Outcome, RunStatus, Status
from agents.models import Run, Session
from agents.running.runtime import Turn
from asks.actions import grants
from asks.actions.grants import Begun
from asks.actions.interrupted import ask_about_interrupted
from asks.answering import Answered, answer_ask
from asks.drafts import ActionDraft
from asks.lifecycle import AskStatus
from asks.models import Ask, Effect, EffectEnd, Grant, Redemption
from asks.queue import queries
from tests.factories import (
    REFUND,
    AskFactory,
    ask,
    begin,
    claim,
    draft,
    echo_of,
    finish,
    verdict_on,
)
from tests.policies.world import in_force, refund

pytestmark = pytest.mark.django_db
PAY = ActionDraft("pay", {"to": "ACME", "amount": 100})


@pytest.fixture
def approved(session: Session, owner: User) -> Ask:
    asked: Ask = AskFactory(session=session, action=PAY)
    verdict_on(asked, owner)
    return asked


@pytest.fixture
def turn(session: Session, approved: Ask) -> Turn:
    """The run that carries the approval."""
    return claim(session.runs.latest("number"))


def start(turn: Turn, operation: str = "pay", params: Any = PAY.params) -> Begun | None:
    return grants.begin_effect(
        session_id=turn.session_id, operation=operation, params=params, fence=turn.fence
    )


def test_an_approval_makes_one_grant_bound_to_what_was_approved(approved: Ask) -> None:
    grant = Grant.objects.get()
    assert (grant.ask, grant.operation, grant.params) == (approved, "pay", PAY.params)
    assert grant.action_hash == approved.gate.action_hash


@pytest.mark.case("C39")
@pytest.mark.parametrize("option", ["deny", None])
def test_without_an_approval_nothing_is_done(
    session: Session, owner: User, option: str | None
) -> None:
    asked = AskFactory(session=session, action=PAY)
    if option:
        verdict_on(asked, owner, option=option)
    assert grants.redeem_grant(session_id=session.pk, operation="pay", params=PAY.params) is None
    assert not Redemption.objects.exists()
    (said,) = session.events.filter(kind="ignored")
    assert "no unused approval covers exactly this action" in said.data["why"]


@pytest.mark.case("C22", "C30")
@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("pay", {"to": "ACME", "amount": 999_999}),
        ("pay", {"to": "ACME"}),
        ("pay", {"to": "ACME", "amount": 100, "cc": "me"}),
        ("pay", {"to": "ACME", "amount": "100"}),
        ("pay", {"to": "ACME", "amount": float("nan")}),
        ("pay ", PAY.params),
        ("payout", PAY.params),
        ("pay", None),
    ],
)
def test_what_differs_from_what_was_approved_is_not_done(
    turn: Turn, operation: str, params: Any
) -> None:
    assert start(turn, operation, params) is None
    assert not Redemption.objects.exists()
    assert start(turn) is not None, "the grant itself is still good"


@pytest.mark.parametrize("params", [{"amount": 100.0, "to": "ACME"}, {"to": "ACME", "amount": 100}])
def test_the_same_in_other_bytes_is_the_same(turn: Turn, params: Any) -> None:
    assert start(turn, "pay", params) is not None


def test_a_grant_is_taken_once(turn: Turn) -> None:
    first = start(turn)
    assert first is not None
    assert Redemption.objects.get().run_id == turn.run_id
    assert start(turn) is None
    assert grants.finish_effect(first, happened=True)
    assert start(turn) is None


def test_two_approvals_of_the_same_are_two_grants(session: Session, owner: User) -> None:
    for asked in ask(session, draft("a", action=PAY), draft("b", action=PAY)):
        verdict_on(asked, owner)
    take = {"session_id": session.pk, "operation": "pay", "params": PAY.params}
    taken = [grants.redeem_grant(**take) for _ in range(3)]
    assert [grant.request_key if grant else None for grant in taken] == ["a", "b", None]


def test_a_grant_is_for_its_own_session(turn: Turn, session: Session) -> None:
    from agents.registration import open_session

    other = open_session(session.agent)
    assert grants.redeem_grant(session_id=other.pk, operation="pay", params=PAY.params) is None


def test_a_lost_claim_does_nothing(turn: Turn) -> None:
    Run.objects.filter(pk=turn.run_id).update(epoch=turn.epoch + 1)
    assert start(turn) is None
    assert not Redemption.objects.exists()


def test_how_it_ended_is_written_down_once(turn: Turn, session: Session) -> None:
    begun = start(turn)
    assert begun is not None
    assert grants.finish_effect(begun, happened=False, detail="Card declined.\0")
    assert not grants.finish_effect(begun, happened=True)
    effect = Effect.objects.get()
    assert (effect.end, effect.detail) == (EffectEnd.FAILED, "Card declined.\ufffd")
    assert session.events.get(kind="effect").text == "pay: it did not happen."
    finish(turn)
    assert ask_about_interrupted() == 0


def test_nothing_of_it_is_changed_or_doubled(turn: Turn) -> None:
    begun = start(turn)
    assert begun is not None
    with pytest.raises(IntegrityError), transaction.atomic():
        Redemption.objects.create(grant=begun.grant)
    for rows in (Grant.objects.all(), Redemption.objects.all()):
        with pytest.raises(DatabaseError), transaction.atomic():
            rows.delete()
    with pytest.raises(DatabaseError), transaction.atomic():
        Grant.objects.update(operation="another")


@pytest.mark.parametrize("null", [None, {}, [], "", 0])
def test_any_params_can_be_granted(session: Session, owner: User, null: Any) -> None:
    verdict_on(AskFactory(session=session, action=ActionDraft("x", null)), owner)
    assert grants.redeem_grant(session_id=session.pk, operation="x", params=null) is not None


def test_what_a_policy_lets_pass_needs_no_approval_beforehand(session: Session) -> None:
    in_force(session.agent, refund(approval="never"))
    grant = grants.redeem_grant(session_id=session.pk, operation="refund", params=REFUND.params)
    assert grant is not None
    assert (grant.ask, grant.policy_version) == (None, 1)
    assert grants.redeem_grant(session_id=session.pk, operation="pay", params=PAY.params) is None


class TestInterrupted:
    """Begun, and nobody came to say how it ended."""

    @pytest.fixture
    def begun(self, turn: Turn) -> Begun:
        found = start(turn)
        assert found is not None
        return found

    @pytest.mark.usefixtures("begun")
    def test_while_its_run_is_at_work_nobody_is_asked(self) -> None:
        assert ask_about_interrupted() == 0

    @pytest.mark.parametrize("outcome", [Outcome.RETRYABLE_ERROR, Outcome.WORK_DONE])
    def test_a_run_that_is_over_leaves_a_question_and_no_repetition(
        self, begun: Begun, turn: Turn, session: Session, owner: User, outcome: Outcome
    ) -> None:
        finish(turn, outcome)
        assert ask_about_interrupted() == 1
        assert ask_about_interrupted() == 0

        (asked,) = queries.needs_you(owner).asks
        assert "may or may not have happened" in asked.prompt
        assert asked.context == {"operation": "pay", "params": PAY.params}
        effect = Effect.objects.get()
        assert (effect.end, effect.asked) == (EffectEnd.UNKNOWN, asked)
        session.refresh_from_db()
        assert session.status == Status.WAITING_HUMAN
        assert start_again(session) is None
        assert not grants.finish_effect(begun, happened=True), "too late: a person is asked"

    @pytest.mark.usefixtures("begun")
    def test_so_does_a_claim_that_was_taken_over(self, turn: Turn) -> None:
        from django.db.models.functions import Now

        Run.objects.filter(pk=turn.run_id).update(lease_until=Now())
        again = claim(Run.objects.get(pk=turn.run_id), worker="another")
        assert [given.data["operation"] for given in again.given] == ["pay"], "it is owed again"
        assert start(again) is None, "and still not done again"
        assert ask_about_interrupted() == 1
        run = finish(again)
        assert run.status == RunStatus.WAITING_HUMAN

    @pytest.mark.usefixtures("begun")
    @pytest.mark.parametrize("option", ["happened", "did-not-happen"])
    def test_the_answer_is_told_and_grants_nothing(
        self, turn: Turn, session: Session, owner: User, option: str
    ) -> None:
        finish(turn, Outcome.RETRYABLE_ERROR)
        ask_about_interrupted()
        asked = Ask.objects.get(status=AskStatus.OPEN)
        assert isinstance(answer_ask(ask_id=asked.pk, by=owner, option=option), Answered)
        told = [given.data for given in claim(session.runs.latest("number")).given]
        assert [one["option"] for one in told if one["ask_id"] == asked.pk] == [option]
        assert Grant.objects.count() == 1
        assert start_again(session) is None

    @pytest.mark.usefixtures("approved")
    def test_one_that_no_run_took_is_asked_about_after_a_while(self, session: Session) -> None:
        import pgtrigger

        from asks.actions import interrupted

        assert grants.redeem_grant(session_id=session.pk, operation="pay", params=PAY.params)
        assert ask_about_interrupted() == 0
        with pgtrigger.ignore("asks.Redemption:redemptions_never_change"):
            from agents.db.expressions import database_now

            Redemption.objects.update(redeemed_at=database_now() - 2 * interrupted.PATIENCE)
        assert ask_about_interrupted() == 1


def start_again(session: Session) -> object:
    return grants.redeem_grant(session_id=session.pk, operation="pay", params=PAY.params)


def test_a_stale_answer_mints_nothing(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=PAY)
    echo = echo_of(asked)
    turn = begin(session)
    answer_ask(ask_id=asked.pk, by=owner, option="approve", echo=echo)
    assert not Grant.objects.exists()
    finish(turn)
