"""Several decide: votes are rows, one per person, and the verdict stays one."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction

from agents.models import Agent, Session
from asks.answering import Answered, Result, Voted, answer_ask
from asks.ledger import verify
from asks.lifecycle import AskStatus, Meaning, Reason
from asks.models import Ask, Grant, LedgerRecord, Verdict, Vote
from asks.policies import versions
from asks.queue import queries
from asks.refusals import Refused
from tests.factories import UserFactory, echo_of
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db


@pytest.fixture
def third(agent: Agent) -> User:
    person: User = UserFactory(username="thea")
    agent.owners.add(person)
    return person


@pytest.fixture
def ask(agent: Agent, session: Session, third: User) -> Ask:
    """Two of three must approve."""
    in_force(agent, refund(quorum=2))
    return asked(session)


def vote(ask: Ask, by: User, option: str = "approve", text: str = "") -> Result:
    return answer_ask(ask_id=ask.pk, by=by, option=option, text=text, echo=echo_of(ask))


def test_the_vote_that_reaches_the_number_is_the_verdict(
    ask: Ask, owner: User, colleague: User
) -> None:
    first = vote(ask, owner)
    assert isinstance(first, Voted)
    assert (first.tally.approvals, first.tally.needed) == (1, 2)
    ask.refresh_from_db()
    assert ask.status == AskStatus.OPEN
    assert not Verdict.objects.exists()
    assert ask.session.runs.count() == 1

    second = vote(ask, colleague)
    assert isinstance(second, Answered)
    assert (second.verdict.decided_by, second.verdict.meaning) == (colleague, Meaning.APPROVE)
    assert Vote.objects.count() == 2
    assert Grant.objects.count() == 1
    assert ask.session.runs.count() == 2


@pytest.mark.parametrize("before", [0, 1])
def test_the_first_rejection_decides(ask: Ask, owner: User, colleague: User, before: int) -> None:
    if before:
        vote(ask, owner)
    result = vote(ask, colleague, "deny")
    assert isinstance(result, Answered)
    assert (result.verdict.meaning, result.verdict.decided_by) == (Meaning.DENY, colleague)
    assert not Grant.objects.exists()


def test_where_all_must_vote_a_rejection_is_one_of_them(
    agent: Agent, session: Session, owner: User, colleague: User, third: User
) -> None:
    in_force(agent, refund(quorum={"approvals": 2, "of": 3, "rejection": "all_vote"}))
    ask = asked(session)
    assert isinstance(vote(ask, owner, "deny", "No."), Voted)
    assert isinstance(vote(ask, colleague), Voted)
    result = vote(ask, third, "approve", "Yes.")
    assert isinstance(result, Answered)
    assert (result.verdict.meaning, result.verdict.decided_by) == (Meaning.APPROVE, third)


def test_whose_vote_decided_is_whose_verdict_it_is(
    agent: Agent, session: Session, owner: User, colleague: User, third: User
) -> None:
    """Thea votes last and against; Carl's was the second approval."""
    in_force(agent, refund(quorum={"approvals": 2, "of": 3, "rejection": "all_vote"}))
    ask = asked(session)
    vote(ask, owner)
    vote(ask, colleague, "approve", "Carl's words")
    result = vote(ask, third, "deny")
    assert isinstance(result, Answered)
    verdict = Verdict.objects.get()
    assert (verdict.decided_by, verdict.text, verdict.meaning) == (
        colleague,
        "Carl's words",
        "approve",
    )
    assert session.events.get(kind="verdict").actor == "human:carl"


def test_too_few_agree_where_all_vote(
    agent: Agent, session: Session, owner: User, colleague: User, third: User
) -> None:
    in_force(agent, refund(quorum={"approvals": 3, "of": 3, "rejection": "all_vote"}))
    ask = asked(session)
    vote(ask, owner)
    vote(ask, colleague, "deny")
    vote(ask, third)
    assert Verdict.objects.get().meaning == Meaning.DENY


def test_the_same_vote_again_is_no_second_one(ask: Ask, owner: User) -> None:
    vote(ask, owner)
    again = vote(ask, owner)
    assert isinstance(again, Voted)
    assert again.repeated
    assert Vote.objects.count() == 1


@pytest.mark.parametrize(("option", "text"), [("deny", ""), ("approve", "another reason")])
def test_a_vote_stays_as_it_is(ask: Ask, owner: User, option: str, text: str) -> None:
    vote(ask, owner)
    refused = vote(ask, owner, option, text)
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.http_status) == (Reason.VOTED, 409)
    assert "You have already voted “Approve once”. Votes are final." in refused.detail
    assert Vote.objects.count() == 1


def test_the_database_counts_nobody_twice(ask: Ask, owner: User, colleague: User) -> None:
    vote(ask, owner)
    cast = Vote.objects.get()
    other = ask.options.get(key="deny")
    for voter, principal in ((owner, colleague), (colleague, owner)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Vote.objects.create(
                ask=ask,
                voter=voter,
                principal=principal,
                option=other,
                option_label="x",
                meaning="deny",
            )
    with pytest.raises(DatabaseError), transaction.atomic():
        Vote.objects.filter(pk=cast.pk).update(option=other)


def test_a_vote_names_an_option_of_its_own_ask(ask: Ask, owner: User, session: Session) -> None:
    from tests.factories import AskFactory

    foreign = AskFactory().options.get(key="eu")
    with pytest.raises(IntegrityError), transaction.atomic():
        Vote.objects.create(
            ask=ask,
            voter=owner,
            principal=owner,
            option=foreign,
            option_label="x",
            meaning="answer",
        )


def test_words_alone_are_no_vote(agent: Agent, session: Session, owner: User, third: User) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked(session, free_text=True)
    refused = answer_ask(ask_id=ask.pk, by=owner, text="Fine.", echo=echo_of(ask))
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.detail) == (Reason.EMPTY, "Pick one of the options.")


def test_without_options_several_cannot_vote(agent: Agent, session: Session) -> None:
    in_force(agent, refund(quorum=2))
    from tests.policies.world import propose

    assert propose(session, options=()) is None
    assert "must offer options" in session.events.get(kind="ignored").data["why"]


def test_who_has_voted_is_not_asked_any_more(ask: Ask, owner: User, colleague: User) -> None:
    vote(ask, owner)
    assert queries.count_badge(owner) == 0
    assert queries.count_badge(colleague) == 1
    assert [card.pk for card in queries.needs_you(colleague).asks] == [ask.pk]


def test_votes_under_an_older_policy_are_void(
    agent: Agent, ask: Ask, owner: User, colleague: User
) -> None:
    vote(ask, owner)
    in_force(agent, refund(quorum=2))
    refused = vote(ask, colleague)
    assert isinstance(refused, Refused)
    assert refused.replaced_by is not None
    assert isinstance(vote(refused.replaced_by, colleague), Voted)
    assert not Verdict.objects.exists()


def test_votes_are_in_the_ledger_and_the_ledger_holds(
    ask: Ask, owner: User, colleague: User
) -> None:
    vote(ask, owner)
    vote(ask, colleague)
    records = LedgerRecord.objects.filter(kind__in=("vote", "verdict")).order_by("seq")
    assert [record.kind for record in records] == ["vote", "vote", "verdict"]
    for record in records:
        verify.prove_record(record)


def test_a_vote_that_is_changed_behind_its_back_is_found(ask: Ask, owner: User) -> None:
    import pgtrigger

    vote(ask, owner)
    with pgtrigger.ignore("asks.Vote:votes_never_change"):
        Vote.objects.update(text="something else")
    with pytest.raises(verify.BrokenLedger, match=r"vote\.text"):
        verify.prove_record(LedgerRecord.objects.get(kind="vote"))


def test_the_terms_of_an_ask_stay(ask: Ask) -> None:
    changes: list[dict[str, Any]] = [{"terms": {}}, {"barred": [1]}, {"confidential": True}]
    for change in changes:
        with pytest.raises(DatabaseError), transaction.atomic():
            Ask.objects.filter(pk=ask.pk).update(**change)
    assert versions.policy_in_force(ask.agent_id).version == 1
