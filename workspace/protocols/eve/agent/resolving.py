"""Resolve the calls that a turn parked on, from the rows of their asks, grants and effects."""

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
from asks.models import Ask, Effect, EffectEnd, Grant, GrantEnd, GrantState, Redemption, Verdict
from workspace.protocols.eve.agent import texts
from workspace.protocols.eve.agent.parking import Parked
from workspace.protocols.eve.models import EveResult

#: Relations from an ask to the outcome of its approval.
EFFECT = ("grant__redemption__effect__asked", "grant__redemption__eve_result")


class ResolutionState(Enum):
    """``WAITS``: nobody has answered yet. ``LOOKS``: the owner has not yet reported what happened."""

    WAITS = "waits"
    LOOKS = "looks"
    APPROVED = "approved"
    ENDED = "ended"
    REFUSED = "refused"
    ANSWERED = "answered"


@dataclass(frozen=True)
class Resolved:
    """A parked call and its state.

    ``params``: the approved input. ``by``: the username of the approver. ``note``: their note.
    ``words``: the refusal as the model reads it. ``output``: the result of a call that has already
    ended. ``answer``: the result of a question.
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
    """Resolve the parked calls of a session. The owner is asked about each effect without an end."""
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
        return Resolved(parked, ResolutionState.ANSWERED, answer=_answer(ask.decision))
    return _decided(parked, ask)


def _decided(parked: Parked, ask: Ask) -> Resolved:
    grant: Grant | None = getattr(ask, "grant", None)
    if ask.decision.meaning != Meaning.APPROVE:
        return Resolved(parked, ResolutionState.REFUSED, words=texts.denied(ask.decision.text))
    if grant is None:
        return Resolved(parked, ResolutionState.REFUSED, words=texts.NOT_GRANTED)
    return _granted(parked, grant, ask.decision)


def _newest(session_id: int, request_key: str) -> Ask | None:
    """Return the newest ask of a request, which may have been asked again, with its relations."""
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
    """Resolve an ask closed without an answer: a call is refused, a question is ignored."""
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
    if grant.state in (GrantState.LAPSED, GrantState.WITHDRAWN):
        words = texts.lapsed(GrantEnd(grant.end).label)
        return Resolved(parked, ResolutionState.REFUSED, words=words)
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
    """Resolve an effect with an unknown end from the owner's finding, if there is one yet."""
    if asked is None or asked.status == AskStatus.OPEN:
        return Resolved(parked, ResolutionState.LOOKS)
    verdict = Verdict.objects.filter(ask=asked, retraction=None).first()
    finding = (verdict.option_label, verdict.text) if verdict else ()
    words = texts.looked(" — ".join(part for part in finding if part))
    return Resolved(parked, ResolutionState.ENDED, output=words, failed=True)
