"""Who presses: the last of several votes, a delegate, a person who loses the right meanwhile; and keys."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from agents.db.expressions import database_now
from agents.lifecycle import RunStatus
from agents.models import Agent, Session
from asks.answering import Answered, Voted, answer_ask
from asks.delegation import create_delegation, revoke_delegation
from asks.ledger import verify
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Retraction, UndoWindow, Verdict, Vote
from asks.queue import queries
from asks.refusals import Refused
from asks.undo.retracting import Retracted, retract_verdict
from tests.factories import AskFactory, UserFactory, echo_of
from tests.policies.world import asked as asked_in
from tests.policies.world import in_force, refund
from tests.state_machine.promises import check_all
from tests.undo.world import WINDOW, press, take_back, wait_out
from workspace.accounts import api_keys
from workspace.models import Scope

pytestmark = pytest.mark.django_db


@pytest.fixture
def third(agent: Agent) -> User:
    person: User = UserFactory(username="thea")
    agent.owners.add(person)
    return person


def vote(ask: Ask, by: User, option: str = "approve") -> Voted | Answered | Refused:
    return answer_ask(ask_id=ask.pk, by=by, option=option, echo=echo_of(ask), undo=WINDOW)


def test_a_vote_that_does_not_decide_has_no_window(
    agent: Agent, session: Session, owner: User, third: User
) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked_in(session)
    assert isinstance(vote(ask, owner), Voted)
    assert not UndoWindow.objects.exists()


def test_the_last_vote_is_taken_back_alone(
    agent: Agent, session: Session, owner: User, colleague: User, third: User
) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked_in(session)
    vote(ask, owner)
    decided = vote(ask, colleague)
    assert isinstance(decided, Answered)
    assert isinstance(retract_verdict(verdict_id=decided.verdict.pk, by=owner), Refused)
    take_back(decided.verdict, colleague)
    assert [one.voter for one in ask.votes.all()] == [owner]
    assert Vote.every.count() == 2
    assert list(queries.open_asks(owner)) == []
    assert [one.pk for one in queries.open_asks(colleague)] == [ask.pk]
    verify.verify_ledger()
    mine = vote(ask, owner, "deny")
    assert isinstance(mine, Refused)
    assert mine.reason == Reason.VOTED
    again = vote(ask, third)
    assert isinstance(again, Answered)
    wait_out(session)
    assert session.runs.filter(status=RunStatus.QUEUED).count() == 1
    verify.verify_ledger()
    check_all()


def test_who_took_a_vote_back_votes_anew(
    agent: Agent, session: Session, owner: User, colleague: User, third: User
) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked_in(session)
    vote(ask, owner)
    first = vote(ask, colleague)
    assert isinstance(first, Answered)
    take_back(first.verdict, colleague)
    second = vote(ask, colleague, "deny")
    assert isinstance(second, Answered)
    assert second.verdict.meaning == "deny"
    option = ask.options.get(key="deny")
    with pytest.raises(IntegrityError), transaction.atomic():
        Vote.objects.create(
            ask=ask, voter=owner, principal=owner, option=option, option_label="x", round=1
        )
    verify.verify_ledger()


def test_the_last_vote_takes_back_a_verdict_in_anothers_name(
    agent: Agent, session: Session, owner: User, colleague: User, third: User
) -> None:
    """Where all must vote, the verdict is of the vote that reached the number; the last one pressed."""
    in_force(agent, refund(quorum={"approvals": 2, "of": 3, "rejection": "all_vote"}))
    ask = asked_in(session)
    vote(ask, owner)
    vote(ask, colleague)
    decided = vote(ask, third, "deny")
    assert isinstance(decided, Answered)
    assert decided.verdict.decided_by == colleague
    assert isinstance(retract_verdict(verdict_id=decided.verdict.pk, by=colleague), Refused)
    take_back(decided.verdict, third)
    assert ask.votes.count() == 2
    assert session.events.get(kind="retracted").data["label"] == ask.options.get(key="deny").label
    verify.verify_ledger()
    check_all()


def test_a_delegate_takes_back_their_press(session: Session, owner: User, stranger: User) -> None:
    ask = AskFactory(session=session)
    create_delegation(
        by=owner, to=stranger, ends_at=database_now() + timedelta(days=1), reason="On leave."
    )
    verdict = press(ask, stranger)
    assert verdict.on_behalf_of == owner
    assert isinstance(retract_verdict(verdict_id=verdict.pk, by=owner), Refused)
    take_back(verdict, stranger)
    verify.verify_ledger()


def test_a_revoked_delegate_can_still_take_back(
    client: Client, session: Session, owner: User, stranger: User
) -> None:
    """Taking back approves nothing. What they may not see any more is not shown."""
    ask = AskFactory(session=session)
    delegation = create_delegation(
        by=owner, to=stranger, ends_at=database_now() + timedelta(days=1), reason="On leave."
    )
    verdict = press(ask, stranger)
    assert revoke_delegation(delegation_id=delegation.pk, by=owner)
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    done = client.post(f"/verdicts/{verdict.pk}/take-back", headers={"HX-Request": "true"})
    assert done.status_code == 200
    assert ask.prompt not in done.content.decode()
    assert Ask.objects.get(pk=ask.pk).status == AskStatus.OPEN
    assert isinstance(retract_verdict(verdict_id=verdict.pk, by=stranger), Retracted)
    assert Retraction.objects.count() == 1


def test_an_answer_by_a_key_has_no_window(
    client: Client, session: Session, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "NEEDS_YOU_UNDO_SECONDS", 30)
    ask = AskFactory(session=session)
    _key, secret = api_keys.create_key(name="me", scopes=[Scope.ASK_ANSWER], person=owner)
    done = client.post(
        f"/api/asks/{ask.pk}/answer",
        {"option": "eu"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert done.status_code == 200, done.content
    assert done.json()["ask"]["verdict"]["option"] == "eu"
    assert not UndoWindow.objects.exists()
    assert session.runs.count() == 2


def test_the_api_shows_what_is_true(client: Client, session: Session, owner: User) -> None:
    ask = AskFactory(session=session)
    _key, secret = api_keys.create_key(name="me", scopes=[Scope.ASK_ANSWER], person=owner)

    def shown() -> dict[str, object]:
        headers = {"Authorization": f"Bearer {secret}"}
        body: dict[str, object] = client.get(f"/api/asks/{ask.pk}", headers=headers).json()
        return body

    before = shown()
    verdict = press(ask, owner)
    held = shown()
    assert (held["status"], held["verdict"]) == ("answered", None)
    assert held["takes_effect_at"] is not None
    take_back(verdict, owner)
    after = shown()
    assert (after["status"], after["verdict"], after["takes_effect_at"]) == ("open", None, None)
    assert int(str(after["version"])) > int(str(before["version"]))
    press(ask, owner)
    wait_out(session)
    final = shown()
    assert (final["status"], final["takes_effect_at"]) == ("answered", None)
    assert isinstance(final["verdict"], dict)
    assert Verdict.objects.count() == 2
