"""Record a decision that came with an envelope as a verdict, or refuse it with a reason.

The protocol binds a decision to a gate by its number alone. A number names one gate, and a gate one
content, so the binding is filled in from the gate. A decision may echo the binding, and must then
match it. All other rules are the same as for every door.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.locking import lock_session
from agents.models import Run, Session
from asks import answering, refusals
from asks.actions import binding
from asks.answers import Answer
from asks.models import Gate
from asks.refusals import Refused
from workspace.api import attempts
from workspace.models import ApiKey, Scope
from workspace.protocols.leaf.server import state
from workspace.protocols.leaf.wire import BadDecision, GateDecision, validate_decision

VIA = "leaf"


@dataclass(frozen=True)
class Turned:
    """Why a decision was not taken: ``reason`` for programs, ``detail`` for people."""

    reason: str
    detail: str
    http_status: int = 200


def decide_gate(session: Session, sent: object, key: ApiKey) -> Turned | None:
    """Record a decision. Return None if it was recorded, now or before; otherwise the refusal."""
    if (turned := _may_not(session, sent, key)) is not None:
        return turned
    try:
        decision = validate_decision(sent)
    except BadDecision as error:
        return record_no_decision(session, str(error), sent)
    assert key.person is not None  # noqa: S101 -- _may_not has checked this
    return _answer(session, decision, key.person)


def _may_not(session: Session, sent: object, key: ApiKey) -> Turned | None:
    """Refuse a key that may not decide. The attempt is recorded."""
    if key.person is not None and Scope.ASK_ANSWER in key.scopes:
        return None
    number = sent.get("gateId") if isinstance(sent, dict) else None
    gate = _gate(session, number) if isinstance(number, int) else state.read_log(session.pk).pending
    why = attempts.AGENTS_NEVER if key.is_an_agents else "This key lacks the scope ask:answer."
    attempts.record_attempt(key, gate.ask_id if gate else 0, why)
    return Turned("agents_never_answer" if key.is_an_agents else "scope", why, 403)


def _answer(session: Session, decision: GateDecision, person: User) -> Turned | None:
    gate = _gate(session, decision.gate_id)
    if gate is None:
        return _no_such_gate(decision, person)
    result = answering.answer_ask(
        ask_id=gate.ask_id,
        by=person,
        option=decision.action,
        text=decision.feedback or "",
        echo=_echo(gate, decision),
        via=VIA,
    )
    if isinstance(result, Refused):
        return Turned(str(result.reason), result.detail)
    return None


def _echo(gate: Gate, decision: GateDecision) -> dict[str, Any]:
    shown = binding.shown_binding(gate).as_echo()
    return shown if decision.binding is None else decision.binding


def _gate(session: Session, number: int) -> Gate | None:
    return _GATE.first(session.pk, number) if abs(number) < 2**31 else None


_GATE = Prepared(
    lambda session, number: Gate.objects.filter(
        session=session, number=number, operation=state.OPERATION
    ),
    of=(int, int),
)


@transaction.atomic
def _no_such_gate(decision: GateDecision, person: User) -> Turned:
    refused = refusals.not_found()
    attempt = Answer(by=person, option=decision.action, text=decision.feedback or "", via=VIA)
    refusals.record_refusal(refused, attempt, ask=None, ask_ref=f"gate {decision.gate_id}")
    return Turned(
        "no_such_gate", f"This session has no gate {decision.gate_id}. Nothing was decided."
    )


@transaction.atomic
def record_no_decision(session: Session, why: str, sent: object) -> Turned:
    """Record in the thread that something came that is not a decision. It changes nothing."""
    locked = lock_session(session.pk)
    run = Run.objects.filter(session=session).order_by("-number").first()
    digest = hashlib.sha256(f"{why}\0{sent!r}"[:4000].encode(errors="replace")).hexdigest()
    record_event(
        locked,
        "ignored",
        actor="system",
        run=run,
        text="A decision file or field that is not a decision",
        data={"why": f"{why}. Nothing was decided."},
        once_key=digest,
    )
    return Turned("no_decision", f"{why}. Nothing was decided.")
