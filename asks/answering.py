"""THE verdict transaction: one answer becomes one verdict and one wake, or one recorded refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import events, inbox
from agents.lifecycle import InboxKind
from agents.locking import lock_session
from agents.models import Session
from asks import access, closing, ledger, reasking, refusals
from asks.lifecycle import AskStatus, Meaning, Reason
from asks.models import Ask, Option, Verdict
from asks.proof import Proof
from asks.refusals import Answer, Refused


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
def _decide(ask_id: int, answer: Answer) -> Answered | Refused:
    session_id = Ask.objects.filter(pk=ask_id).values_list("session_id", flat=True).first()
    if session_id is None:
        refused = Refused(Reason.NOT_FOUND, str(Reason.NOT_FOUND.label))
        refusals.record(refused, answer, ask=None, ask_ref=ask_id)
        return refused
    session = lock_session(session_id)
    ask = Ask.objects.select_related("agent", "run", "closed_by").get(pk=ask_id)
    if (verdict := _recorded_before(ask, answer)) is not None:
        return Answered(ask, verdict, repeated=True)
    gate = refusals.gate_of(ask)
    refused_for = refusals.first_refusal(ask, gate, answer)
    if refused_for is not None:
        return _refuse(session, ask, refused_for, answer)
    verdict = _record(session, ask, answer)
    closing.go_on(session, ask)
    return Answered(ask, verdict)


def _recorded_before(ask: Ask, answer: Answer) -> Verdict | None:
    """The verdict, if this person has given this very answer already."""
    verdict = Verdict.objects.select_related("option").filter(ask=ask).first()
    if verdict is None or verdict.decided_by_id != answer.by.pk:
        return None
    if not access.may_see(answer.by, ask):
        return None
    same_option = (verdict.option.key if verdict.option else "") == answer.option
    same_words = verdict.text == answer.text.strip()
    same_echo = _as_text(verdict.echo) == _as_text(answer.echo)
    return verdict if same_option and same_words and same_echo else None


def _as_text(echo: dict[str, Any] | None) -> dict[str, str]:
    return {key: str(value) for key, value in (echo or {}).items()}


def _refuse(session: Session, ask: Ask, refused: Refused, answer: Answer) -> Refused:
    refusals.record(refused, answer, ask=ask, ask_ref=ask.pk)
    refusals.say(session, ask, refused, answer)
    if refused.reason == Reason.STALE and ask.status == AskStatus.OPEN:
        fresh = reasking.ask_again(session, ask)
        return Refused(refused.reason, refused.detail, ask, fresh)
    return refused


def _record(session: Session, ask: Ask, answer: Answer) -> Verdict:
    option = Option.objects.filter(ask=ask, key=answer.option).first() if answer.option else None
    verdict = Verdict.objects.create(
        ask=ask,
        decided_by_id=answer.by.pk,
        option=option,
        option_label=option.label if option else "",
        text=answer.text.strip(),
        meaning=option.meaning if option else Meaning.ANSWER,
        echo=answer.echo,
        via=answer.via,
    )
    ledger.verdict(ask, verdict, answer)
    closing.close(session, ask, AskStatus.ANSWERED, by=answer.by)
    _owe(session, ask, verdict, option, answer)
    return verdict


def _owe(
    session: Session, ask: Ask, verdict: Verdict, option: Option | None, answer: Answer
) -> None:
    author = f"human:{answer.by.get_username()}"
    said = " — ".join(part for part in (verdict.option_label, verdict.text) if part)
    data = {
        "ask_id": ask.pk,
        "request_key": ask.request_key,
        "prompt": ask.prompt,
        "option": option.key if option else "",
        "label": verdict.option_label,
        "text": verdict.text,
        "meaning": verdict.meaning,
    }
    inbox.owe(
        session, InboxKind.VERDICT, author=author, body=said, data=data, source_key=f"ask:{ask.pk}"
    )
    events.record(session, "verdict", actor=author, text=said, run=ask.run, data=data)
