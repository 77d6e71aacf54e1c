"""The verdict transaction: an answer becomes one verdict and one wake, or one recorded refusal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents.db import statements
from agents.text.canonical_json import Json
from asks import access, asking_again, closing, refusals, voting
from asks.actions import binding, editing
from asks.answers import Answer
from asks.ledger import chain
from asks.lifecycle import AskStatus, Meaning, Reason
from asks.locking import lock_ask
from asks.models import Ask, Verdict, Vote
from asks.policies import terms
from asks.refusals import Case, Refused
from asks.signed_channel.proof import Proof
from asks.undo import holding


@dataclass(frozen=True)
class Answered:
    """The recorded verdict. ``repeated`` if the same answer was recorded before."""

    ask: Ask
    verdict: Verdict
    repeated: bool = False


@dataclass(frozen=True)
class Voted:
    """A recorded vote that does not decide yet. The ask stays open for the other voters."""

    ask: Ask
    vote: Vote
    tally: voting.Tally
    repeated: bool = False


Result = Answered | Voted | Refused

NO_UNDO = timedelta(0)


def answer_ask(  # noqa: PLR0913  one keyword for each thing that a person submits
    *,
    ask_id: int,
    by: AbstractBaseUser,
    option: str = "",
    text: str = "",
    echo: dict[str, Any] | None = None,
    via: str = "page",
    authenticated_at: datetime | None = None,
    edited: Json = None,
    undo: timedelta = NO_UNDO,
) -> Result:
    """Answer an ask as a person. Bad input is refused and recorded; it never raises.

    ``option`` is an option's key, ``echo`` the binding that was shown with a bound ask,
    ``authenticated_at`` when the person last proved who they are, if the door knows, ``edited`` the
    params to approve instead of those that were shown. If several people decide, an answer is a vote.
    ``undo`` is how long the verdict can be taken back before it takes effect. Repeating an answer
    returns what was recorded.
    """
    answer = Answer(by=by, option=option, text=text, echo=echo, via=via, edited=edited)
    return _decide(ask_id, replace(answer, authenticated_at=authenticated_at), undo)


def answer_signed(
    *, ask_id: int, by: AbstractBaseUser, option: str, echo: dict[str, Any], proof: Proof
) -> Result:
    """Answer a money-critical ask with a person's signature. For ``decision_files`` alone.

    The caller has verified the proof; every other check applies.
    """
    return _decide(ask_id, Answer(by=by, option=option, echo=echo, via="signed", proof=proof))


@transaction.atomic
def _decide(ask_id: object, answer: Answer, undo: timedelta = NO_UNDO) -> Result:
    ask = lock_ask(ask_id)
    if ask is None:
        return refusals.record_refusal(refusals.not_found(), answer, ask=None, ask_ref=ask_id)
    if (before := _recorded_before(ask, answer) or _voted_before(ask, answer)) is not None:
        return before
    case = Case(ask.session, ask, answer)
    refused = refusals.first_refusal(case)
    if refused is not None:
        return _refuse(case, refused)
    if not case.terms.many_decide:
        return _conclude(case, undo, pressed_by=answer.by)
    vote = voting.cast_vote(case)
    tally = voting.count_votes(ask)
    if tally.deciding is None:
        voting.report_vote(case, vote, tally)
        return Voted(ask, vote, tally)
    deciding = case if tally.deciding == vote else _as_voted(case, tally.deciding)
    return _conclude(deciding, undo, pressed_by=answer.by, vote=vote)


def _conclude(
    case: Case, undo: timedelta, *, pressed_by: AbstractBaseUser, vote: Vote | None = None
) -> Answered:
    """Record the verdict of an answer that has passed all checks, and continue the session.

    With an undo window, the session continues when the window ends.
    """
    session, ask, verdict = case.session, case.ask, _record(case)
    if undo > NO_UNDO:
        holding.hold_verdict(session, ask, verdict, window=undo, pressed_by=pressed_by, vote=vote)
    else:
        holding.deliver_now(session, ask, verdict)
        closing.continue_session(session, ask)
    return Answered(ask, verdict)


def _as_voted(case: Case, vote: Vote) -> Case:
    """Return the case of an earlier vote that turns out to decide."""
    answer = Answer(
        by=vote.voter, option=vote.option.key, text=vote.text, echo=vote.echo, via=vote.via
    )
    concluded = Case(case.session, case.ask, answer)
    concluded.principal = vote.principal_id
    return concluded


def _recorded_before(ask: Ask, answer: Answer) -> Answered | None:
    """Return the verdict if this person gave the same answer before."""
    if ask.status != AskStatus.ANSWERED or answer.flaw:
        return None
    verdict = Verdict.objects.select_related("option").get(pk=ask.decision.pk)
    if verdict.decided_by_id != answer.by.pk or not access.may_see(answer.by, ask):
        return None
    same_option = (verdict.option.key if verdict.option else "") == answer.option
    same_words = verdict.text == answer.text.strip()
    same = same_option and same_words and _same_echo(ask, answer) and _same_call(verdict, answer)
    return Answered(ask, verdict, repeated=True) if same else None


def _voted_before(ask: Ask, answer: Answer) -> Voted | None:
    """Return the vote if this person cast the same vote before and the ask is still open."""
    if ask.status != AskStatus.OPEN or not terms.terms_of(ask).many_decide or answer.flaw:
        return None
    vote = voting.vote_of(ask, answer.by.pk)
    if vote is None or not access.may_see(answer.by, ask) or not _same_echo(ask, answer):
        return None
    same = vote.option.key == answer.option and vote.text == answer.text.strip()
    return Voted(ask, vote, voting.count_votes(ask), repeated=True) if same else None


def _same_echo(ask: Ask, answer: Answer) -> bool:
    gate = binding.gate_of(ask)
    return gate is None or binding.echo_matches(answer.echo, binding.shown_binding(gate))


def _same_call(verdict: Verdict, answer: Answer) -> bool:
    """Whether an answer approves the same call as a verdict, edited or not."""
    gate = binding.gate_of(verdict.ask)
    if gate is None or answer.edited is None:
        return verdict.edit is None and answer.edited is None
    try:
        approved = verdict.edit["action_hash"] if verdict.edit else gate.action_hash
        return bool(editing.edited_action_hash(gate, answer.edited) == approved)
    except binding.Unhashable:
        return False


def _edit_of(case: Case) -> dict[str, Json] | None:
    """Return the edit that a verdict stores: the call as asked and as approved."""
    if case.gate is None or not case.is_edited:
        return None
    edited = case.answer.edited
    digest = editing.edited_action_hash(case.gate, edited)
    return {"original": editing.asked_params(case.gate), "edited": edited, "action_hash": digest}


def _refuse(case: Case, refused: Refused) -> Refused:
    refusals.record_refusal(refused, case.answer, ask=case.ask, ask_ref=case.ask.pk)
    refusals.report_refusal(case.session, case.ask, refused, case.answer)
    if refused.reason == Reason.STALE and case.ask.status == AskStatus.OPEN and case.has_drifted:
        return replace(refused, replaced_by=asking_again.ask_again(case.session, case.ask))
    return refused


def _record(case: Case) -> Verdict:
    session, ask, answer, option = case.session, case.ask, case.answer, case.option
    verdict = statements.insert(
        Verdict(
            ask=ask,
            round=ask.retracted,
            decided_by_id=answer.by.pk,
            on_behalf_of_id=None if case.principal == answer.by.pk else case.principal,
            option=option,
            option_label=option.label if option else "",
            text=answer.text.strip(),
            meaning=option.meaning if option else Meaning.ANSWER,
            echo=binding.shown_binding(case.gate).as_echo() if case.gate else None,
            edit=_edit_of(case),
            via=answer.via[:16],
            decided_at=session.locked_at,
        )
    )
    closing.close_answered(session, ask, verdict, by=answer.by)
    chain.append_verdict(ask, verdict, answer)
    return verdict
