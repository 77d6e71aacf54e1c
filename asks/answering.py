"""THE verdict transaction: one answer becomes one verdict and one wake, or one recorded refusal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import events
from asks import access, binding, closing, ledger, owing, reasking, refusals
from asks.lifecycle import AskStatus, Meaning, Reason
from asks.locking import lock_ask
from asks.models import Ask, Verdict
from asks.proof import Proof
from asks.refusals import Answer, Case, Refused


@dataclass(frozen=True)
class Answered:
    """The recorded verdict. ``repeated`` when this very answer had been recorded before."""

    ask: Ask
    verdict: Verdict
    repeated: bool = False


def answer(
    *,
    ask_id: int,
    by: AbstractBaseUser,
    option: str = "",
    text: str = "",
    echo: dict[str, Any] | None = None,
    via: str = "page",
) -> Answered | Refused:
    """Answer an ask as a person. Never raises for what a person may send: it refuses, and records it.

    ``option`` is an option's key, ``echo`` the binding that was shown with a bound ask. The same
    answer by the same person again returns the verdict that is there.
    """
    return _decide(ask_id, Answer(by=by, option=option, text=text, echo=echo, via=via))


def answer_signed(
    *, ask_id: int, by: AbstractBaseUser, option: str, echo: dict[str, Any], proof: Proof
) -> Answered | Refused:
    """Answer a money-critical ask with a person's signature. For ``asks.signed_channel`` alone.

    The proof has been verified by whoever hands it in; every other rule stands as it is.
    """
    return _decide(
        ask_id, Answer(by=by, option=option, echo=echo, via="signed", proof=proof)
    )


@transaction.atomic
def _decide(ask_id: object, answer: Answer) -> Answered | Refused:
    ask = lock_ask(ask_id)
    if ask is None:
        return refusals.record(refusals.not_found(), answer, ask=None, ask_ref=ask_id)
    if (verdict := _recorded_before(ask, answer)) is not None:
        return Answered(ask, verdict, repeated=True)
    case = Case(ask.session, ask, answer)
    refused = refusals.first_refusal(case)
    if refused is not None:
        return _refuse(case, refused)
    verdict = _record(case)
    closing.go_on(ask.session, ask)
    return Answered(ask, verdict)


def _recorded_before(ask: Ask, answer: Answer) -> Verdict | None:
    """The verdict, if this person has given this very answer already."""
    if ask.status != AskStatus.ANSWERED or answer.flaw:
        return None
    verdict = Verdict.objects.select_related("option").get(ask=ask)
    if verdict.decided_by_id != answer.by.pk or not access.may_see(answer.by, ask):
        return None
    same_option = (verdict.option.key if verdict.option else "") == answer.option
    same_words = verdict.text == answer.text.strip()
    return verdict if same_option and same_words and _same_echo(ask, answer) else None


def _same_echo(ask: Ask, answer: Answer) -> bool:
    gate = binding.gate_of(ask)
    return gate is None or binding.matches(answer.echo, binding.of_gate(gate))


def _refuse(case: Case, refused: Refused) -> Refused:
    refusals.record(refused, case.answer, ask=case.ask, ask_ref=case.ask.pk)
    refusals.say(case.session, case.ask, refused, case.answer)
    if refused.reason == Reason.STALE and case.ask.status == AskStatus.OPEN and case.has_drifted:
        return replace(refused, replaced_by=reasking.ask_again(case.session, case.ask))
    return refused


def _record(case: Case) -> Verdict:
    session, ask, answer, option = case.session, case.ask, case.answer, case.option
    verdict = Verdict.objects.create(
        ask=ask,
        decided_by_id=answer.by.pk,
        option=option,
        option_label=option.label if option else "",
        text=answer.text.strip(),
        meaning=option.meaning if option else Meaning.ANSWER,
        echo=binding.of_gate(case.gate).as_echo() if case.gate else None,
        via=answer.via[:16],
        decided_at=session.locked_at,
    )
    closing.close(session, ask, AskStatus.ANSWERED, by=answer.by)
    ledger.verdict(ask, verdict, answer)
    author = f"human:{answer.by.get_username()}"
    owed = owing.owe_verdict(session, ask, verdict, author=author)
    told = owing.data_of(ask, verdict)
    events.record(session, "verdict", actor=author, text=owed.body, run=ask.run, data=told)
    return verdict
