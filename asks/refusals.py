"""Why an answer is turned down, in the one order, and the record of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from agents import clock, events
from agents.models import Session
from agents.words import is_blank
from asks import access, binding, ledger
from asks.lifecycle import HTTP_STATUS, AskStatus, Reason
from asks.models import Ask, Gate, Refusal
from asks.proof import Proof

MAX_TEXT = 16_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a person submits: an option's key, words, and the binding as it was shown to them.

    ``proof`` is their signature over exactly this; no door can hand one in.
    """

    by: AbstractBaseUser
    option: str = ""
    text: str = ""
    echo: dict[str, Any] | None = None
    via: str = "page"
    proof: Proof | None = None


@dataclass(frozen=True)
class Refused:
    """An answer that was turned down. The ask, if open, is still open or names what replaced it."""

    reason: Reason
    detail: str
    ask: Ask | None = None
    replaced_by: Ask | None = None

    @property
    def http_status(self) -> int:
        return HTTP_STATUS[self.reason]


def gate_of(ask: Ask) -> Gate | None:
    return Gate.objects.filter(ask=ask).first()


def first_refusal(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    """The first reason to turn an answer down, or none. The order is part of the contract."""
    for check in (_access, _closed, _expired, _gated, _binding, _invalid, _empty, _unknown_option):
        refused = check(ask, gate, answer)
        if refused is not None:
            return refused
    return None


def _refused(reason: Reason, ask: Ask, detail: str = "") -> Refused:
    return Refused(reason, detail or str(reason.label), ask, ask.superseded_by)


def _access(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    if not access.may_see(answer.by, ask):
        return Refused(Reason.NOT_FOUND, str(Reason.NOT_FOUND.label))
    if not access.may_answer(answer.by, ask):
        return _refused(Reason.NOT_ALLOWED, ask)
    return None


def _closed(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    if ask.status == AskStatus.OPEN:
        return None
    if ask.status == AskStatus.EXPIRED:
        return _refused(Reason.EXPIRED, ask)
    if ask.status == AskStatus.SUPERSEDED:
        return _refused(Reason.STALE, ask)
    who = f" by {ask.closed_by.get_username()}" if ask.closed_by else ""
    return _refused(Reason.CLOSED, ask, f"This question was already {ask.status}{who}.")


def _expired(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    if ask.expires_at is not None and ask.expires_at <= clock.now():
        return _refused(Reason.EXPIRED, ask)
    return None


def _gated(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    return _refused(Reason.GATED, ask) if ask.money_critical and answer.proof is None else None


def _binding(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    if gate is None:
        return None
    if not answer.echo:
        return _refused(Reason.UNBINDABLE, ask)
    if not binding.matches(answer.echo, binding.present(ask, gate)):
        return _refused(Reason.STALE, ask)
    return None


def _invalid(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    if "\x00" in answer.text or "\x00" in answer.option:
        return _refused(Reason.INVALID, ask, "The answer holds a NUL character, which is not kept.")
    if len(answer.text) > MAX_TEXT:
        length = f"The answer has {len(answer.text)} characters; {MAX_TEXT} are the most."
        return _refused(Reason.INVALID, ask, length)
    return None


def _empty(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    if answer.option:
        return None
    if not ask.free_text:
        return _refused(Reason.EMPTY, ask, "Pick one of the options.")
    return _refused(Reason.EMPTY, ask) if is_blank(answer.text) else None


def _unknown_option(ask: Ask, gate: Gate | None, answer: Answer) -> Refused | None:
    if answer.option and not ask.options.filter(key=answer.option).exists():
        return _refused(Reason.UNKNOWN_OPTION, ask)
    return None


def record(refused: Refused, answer: Answer, *, ask: Ask | None, ask_ref: object) -> None:
    """Keep a refusal. What was submitted is kept too, cut to a size that harms nobody."""
    row = Refusal.objects.create(
        ask=ask,
        ask_ref=str(ask_ref)[:64],
        by_id=answer.by.pk,
        reason=refused.reason,
        detail=refused.detail[:1000],
        submitted={
            "option": _storable(answer.option, 200),
            "text": _storable(answer.text, 2000),
            "echo": {
                _storable(str(key), 40): _storable(str(value), 100)
                for key, value in list((answer.echo or {}).items())[:10]
            },
        },
        via=answer.via,
    )
    ledger.refusal(row)


def say(session: Session, ask: Ask, refused: Refused, answer: Answer) -> None:
    """Show an owner's refused answer in the thread; a stranger's attempt is in the audit only."""
    if refused.reason == Reason.NOT_FOUND:
        return
    events.record(
        session,
        "refused",
        actor=f"human:{answer.by.get_username()}",
        text=refused.detail,
        data={"ask_id": ask.pk, "reason": refused.reason},
    )


def _storable(text: str, limit: int) -> str:
    return text[:limit].replace("\x00", "\ufffd")
