"""Outbox items are written in the transaction of their events: both exist, or neither."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries, Settings

from agents import locking
from agents.events.log import record_event
from agents.lifecycle import Outcome
from agents.models import Event, Session
from asks import answering, withdrawing
from asks.answering import Answered
from asks.deadlines import expiry
from asks.lifecycle import Reason
from asks.models import Ask, Verdict
from asks.refusals import Refused
from tests.api import world
from tests.api.world import Cast
from tests.policies.world import in_force, refund
from workspace.models import OutboxItem
from workspace.notify import deliveries, outbox_writer, payloads

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _somebody_listens(settings: Settings, _nobody_is_told: None) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = ["/bin/true"]


def told(session: Session) -> list[str]:
    return list(OutboxItem.objects.filter(session=session).values_list("kind", flat=True))


def item_of(session: Session, kind: str) -> OutboxItem:
    """Return the only item of a kind, as it is delivered."""
    deliveries.spread_outbox()
    return OutboxItem.objects.get(session=session, kind=kind)


def payload(session: Session, kind: str) -> dict[str, object]:
    found: dict[str, object] = item_of(session, kind).payload
    return found


def test_an_opened_ask_is_told_with_what_an_answer_must_echo(cast: Cast) -> None:
    ask = world.asked(cast.agent, world.approval())
    item = item_of(cast.session, "ask.opened")
    assert (item.subject, item.actor) == (f"ask:{ask.pk}", f"agent:{cast.agent.slug}")
    said = item.payload["ask"]
    assert said["binding"] == world.echo_of(ask)
    assert said["action"] == {
        "operation": "refund",
        "params": {"order": 1182, "amount": 48},
        "gate": 0,
    }
    assert [option["key"] for option in said["options"]] == ["yes", "no"]
    assert said["gated"] is False
    assert said["path"] == f"/asks/{ask.pk}/"
    assert item.payload["seq"] == cast.session.events.get(kind="asked").seq


def test_a_gated_ask_is_flagged(cast: Cast) -> None:
    world.asked(cast.agent, world.approval(money_critical=True))
    said = payload(cast.session, "ask.opened")["ask"]
    assert isinstance(said, dict)
    assert said["gated"] is True


def test_a_changed_call_is_told_as_it_was_approved(cast: Cast) -> None:
    in_force(cast.agent, refund(may_edit=True))
    ask, edited = world.asked(cast.agent, world.approval()), {"order": 1182, "amount": 1}
    echo = world.echo_of(ask)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="yes", echo=echo, edited=edited)
    told_of = item_of(cast.session, "ask.answered").payload
    assert told_of["verdict"]["edited"] == edited
    assert told_of["ask"]["action"]["params"]["amount"] == 48


def test_an_answer_is_told_with_its_author(cast: Cast) -> None:
    ask = world.asked(cast.agent)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu", text="because")
    item = item_of(cast.session, "ask.answered")
    assert item.actor == f"human:{cast.owner.username}"
    assert item.payload["verdict"] == {
        "option": "eu",
        "label": "EU ledger",
        "text": "because",
        "meaning": "answer",
        "by": cast.owner.username,
        "via": "page",
    }


def test_the_same_answer_again_is_not_told_again(cast: Cast) -> None:
    ask = world.asked(cast.agent)
    for _ in range(2):
        assert isinstance(answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu"), Answered)
    assert told(cast.session) == ["ask.opened", "ask.answered"]


def test_a_refused_answer_is_not_told(cast: Cast) -> None:
    ask = world.asked(cast.agent)
    assert isinstance(answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="mars"), Refused)
    assert told(cast.session) == ["ask.opened"]


def test_a_withdrawal_is_told_with_its_reason(cast: Cast) -> None:
    ask = world.asked(cast.agent)
    withdrawing.withdraw_ask(ask_id=ask.pk, by=cast.colleague, reason="not needed")
    item = item_of(cast.session, "ask.withdrawn")
    assert item.payload["reason"] == "not needed"
    assert item.actor == f"human:{cast.colleague.username}"


@pytest.mark.case("C77")
def test_an_expiry_is_told_as_the_systems_and_not_as_a_persons(cast: Cast) -> None:
    draft = world.approval(expires_in=timedelta(milliseconds=1))
    world.asked(cast.agent, draft)
    assert expiry.expire_due_asks() >= 1
    item = item_of(cast.session, "ask.expired")
    assert item.actor == "system"
    assert "verdict" not in item.payload


@pytest.mark.case("C85")
def test_what_is_asked_again_is_told_as_such_once(cast: Cast) -> None:
    ask = world.asked(cast.agent, world.approval())
    seen = world.echo_of(ask)
    world.turn(cast.agent, outcome=Outcome.NO_WORK)
    refused = answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="yes", echo=seen)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.STALE
    assert refused.replaced_by is not None
    assert told(cast.session) == ["ask.opened", "ask.opened", "ask.superseded"]
    deliveries.spread_outbox()
    first, fresh, old = OutboxItem.objects.filter(session=cast.session).order_by("pk")
    assert old.payload["ask"]["replaced_by"] == refused.replaced_by.pk
    assert (first.payload["ask"]["again"], fresh.payload["ask"]["again"]) == (False, True)
    assert fresh.payload["ask"]["binding"] == world.echo_of(refused.replaced_by)


def test_a_notice_is_told(cast: Cast) -> None:
    with transaction.atomic():
        session = locking.lock_session(cast.session.pk)
        record_event(session, "notice", actor=f"agent:{cast.agent.slug}", text="Rates came in.")
        record_event(session, "report", actor=f"agent:{cast.agent.slug}", text="Half way.")
    assert told(cast.session) == ["agent.notify"]
    assert payload(cast.session, "agent.notify")["text"] == "Rates came in."


def test_a_session_that_is_blocked_without_a_question_is_told_once(cast: Cast) -> None:
    world.turn(cast.agent, outcome=Outcome.BLOCKED)
    assert told(cast.session) == ["session.blocked"]
    session = cast.session
    assert payload(session, "session.blocked")["text"] == session.status_reason


def test_what_is_told_later_is_what_it_was_then(cast: Cast) -> None:
    """A late courier delivers an opened ask as it was when it was opened."""
    ask = world.asked(cast.agent, world.approval())
    echo = world.echo_of(ask)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="yes", echo=echo)
    opened, answered = (payload(cast.session, f"ask.{kind}") for kind in ("opened", "answered"))
    assert opened["ask"] == {**answered["ask"], "status": "open"}  # type: ignore[dict-item]
    assert not {"verdict", "reason"} & set(opened)


def test_to_tell_costs_one_insert(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ask = world.asked(cast.agent)
    with transaction.atomic():
        session = locking.lock_session(cast.session.pk)
        verdict = Event(seq=1, kind="verdict", actor="human:olga", data={"ask_id": ask.pk})
        with django_assert_num_queries(1):
            outbox_writer.write_outbox(session, [verdict])
        with django_assert_num_queries(0):
            outbox_writer.write_outbox(session, [Event(seq=2, kind="output", text="much")] * 100)


def test_nothing_is_copied_that_nobody_wants(cast: Cast, settings: Settings) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = []
    world.asked(cast.agent)
    assert set(payload(cast.session, "ask.opened")) == {"agent", "session", "seq"}


def test_a_rolled_back_answer_tells_nothing(cast: Cast) -> None:
    ask = world.asked(cast.agent)

    with transaction.atomic():
        answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu")
        assert told(cast.session) == ["ask.opened", "ask.answered"]
        transaction.set_rollback(True)
    assert told(cast.session) == ["ask.opened"]
    assert not Verdict.objects.filter(ask=ask).exists()


def test_an_answer_that_cannot_be_told_is_not_given(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = world.asked(cast.agent)

    def broken(*_: object) -> None:
        raise RuntimeError("the outbox is full")

    monkeypatch.setattr(payloads, "where", broken)
    with pytest.raises(RuntimeError, match="outbox"):
        answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu")
    assert Ask.objects.get(pk=ask.pk).status == "open"


def test_what_is_told_is_bounded(cast: Cast) -> None:
    long = world.question("Which? " + "x" * 15_000)
    ask = world.asked(cast.agent, long)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu", text="y" * 16_000)
    item = item_of(cast.session, "ask.answered")
    assert item.payload["cut"] == ["prompt", "verdict.text"]
    assert len(json.dumps(item.payload)) < 10_000


def test_large_params_stay_inside_but_their_binding_goes_out(cast: Cast) -> None:
    ask = world.asked(cast.agent, world.approval(params={"note": "z" * 20_000}))
    item = item_of(cast.session, "ask.opened")
    assert item.payload["ask"]["action"]["params"] is None
    assert item.payload["ask"]["binding"] == world.echo_of(ask)
    assert item.payload["cut"] == ["action.params"]
