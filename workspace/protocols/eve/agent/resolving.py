"""What became of each call that a turn parked on, as the rows tell it: the rows are the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from django.db.models import QuerySet

from agents.db.statements import Prepared
from asks import raising
from asks.actions import binding, interrupted
from asks.lifecycle import AskStatus, Meaning
from asks.models import Ask, Effect, EffectEnd, Grant, Redemption, Verdict
from workspace.protocols.eve.agent import texts
from workspace.protocols.eve.agent.parking import Parked
from workspace.protocols.eve.models import EveResult

#: What came of an approval, from its ask on.
EFFECT = ("grant__redemption__effect__asked", "grant__redemption__eve_result")


class ResolutionState(Enum):
    """``WAITS``: a person has still to answer. ``LOOKS``: a person has still to say what happened."""

    WAITS = "waits"
    LOOKS = "looks"
    APPROVED = "approved"
    ENDED = "ended"
    REFUSED = "refused"
    ANSWERED = "answered"


@dataclass(frozen=True)
class Resolved:
    """A parked call and what became of it.

    ``params`` are what was approved, ``by`` whom, ``note`` what they said with it, ``words`` what the
    model is told of a refusal, ``output`` what a call that ended before gave back, ``answer`` the
    result of a question.
    """

    parked: Parked
    state: ResolutionState
    params: Any = None
    words: str = ""
    note: str = ""
    by: str = ""
    output: Any = None
    failed: bool = False
    answer: dict[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.state in (ResolutionState.WAITS, ResolutionState.LOOKS)


def resolve_parked(session_id: int, parked: Sequence[Parked]) -> list[Resolved]:
    """Where each parked call of a session stands. A call that was begun and not ended is asked about."""
    interrupted.ask_about_session(session_id)
    return [_resolve(session_id, one) for one in parked]


def _resolve(session_id: int, parked: Parked) -> Resolved:
    ask = _newest(session_id, parked.request_key)
    if ask is None:
        return Resolved(parked, ResolutionState.REFUSED, words=texts.NEVER_ASKED)
    if ask.status == AskStatus.OPEN:
        return Resolved(parked, ResolutionState.WAITS)
    if ask.status != AskStatus.ANSWERED:
        return _closed(parked, ask)
    if parked.kind == "question":
        return Resolved(parked, ResolutionState.ANSWERED, answer=_answer(ask.verdict))
    return _decided(parked, ask)


def _decided(parked: Parked, ask: Ask) -> Resolved:
    grant: Grant | None = getattr(ask, "grant", None)
    if ask.verdict.meaning != Meaning.APPROVE:
        return Resolved(parked, ResolutionState.REFUSED, words=texts.denied(ask.verdict.text))
    if grant is None:
        return Resolved(parked, ResolutionState.REFUSED, words=texts.NOT_GRANTED)
    return _granted(parked, grant, ask.verdict)


def _newest(session_id: int, request_key: str) -> Ask | None:
    """The ask that stands for a request now, with all that came of it. It may have been asked again."""
    ask = _NAMED.first(session_id, request_key)
    while (later := raising.successor_of(ask)) is not None:
        ask = _ASK.first(later.pk)
    return ask


def _with_all(asks: QuerySet[Ask]) -> QuerySet[Ask]:
    return asks.select_related("repeated_by", "verdict__option", "verdict__decided_by", *EFFECT)


_ASK = Prepared(lambda pk: _with_all(Ask.objects.filter(pk=pk)))
_NAMED = Prepared(
    lambda session, key: _with_all(Ask.objects.filter(session=session, request_key=key)),
    of=(int, str),
)


def _closed(parked: Parked, ask: Ask) -> Resolved:
    """Closed without an answer: nothing is approved, and a question has none."""
    if parked.kind == "question":
        return Resolved(parked, ResolutionState.ANSWERED, answer={"status": "ignored"})
    if ask.status == AskStatus.EXPIRED:
        words = texts.EXPIRED
    elif ask.close_reason == texts.IGNORED:
        words = texts.IGNORED
    else:
        words = texts.withdrawn(ask.close_reason)
    return Resolved(parked, ResolutionState.REFUSED, words=words)


def _answer(verdict: Verdict) -> dict[str, str]:
    answer = {"status": "answered"}
    if verdict.option is not None:
        answer["optionId"] = verdict.option.key
    if verdict.text:
        answer["text"] = verdict.text
    return answer


def _granted(parked: Parked, grant: Grant, verdict: Verdict) -> Resolved:
    taken: Redemption | None = getattr(grant, "redemption", None)
    if taken is None:
        params = binding.restore_params(grant.params)
        by = verdict.decided_by.get_username()
        return Resolved(parked, ResolutionState.APPROVED, params=params, note=verdict.text, by=by)
    effect: Effect | None = getattr(taken, "effect", None)
    if effect is None or effect.end == EffectEnd.UNKNOWN:
        return _unknown(parked, effect.asked if effect else None)
    kept: EveResult | None = getattr(taken, "eve_result", None)
    if kept is None:
        return Resolved(
            parked, ResolutionState.ENDED, output=f"{texts.DONE_BEFORE} {effect.detail}".strip()
        )
    return Resolved(parked, ResolutionState.ENDED, output=kept.output, failed=kept.failed)


def _unknown(parked: Parked, asked: Ask | None) -> Resolved:
    """Whether it happened is for the owner to say."""
    if asked is None or asked.status == AskStatus.OPEN:
        return Resolved(parked, ResolutionState.LOOKS)
    verdict = Verdict.objects.filter(ask=asked).first()
    said = (verdict.option_label, verdict.text) if verdict else ()
    words = texts.looked(" — ".join(part for part in said if part))
    return Resolved(parked, ResolutionState.ENDED, output=words, failed=True)
