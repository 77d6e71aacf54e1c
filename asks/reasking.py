"""Asks again what has gone stale, bound to the world as it is now."""

from __future__ import annotations

from agents import clock, events, moves
from agents.models import Run, Session
from asks import binding, ledger, policies, raising
from asks.lifecycle import AskStatus
from asks.models import Ask, Gate, Option


def ask_again(session: Session, stale: Ask) -> Ask:
    """A fresh ask in place of a stale one, on a locked session. The old one names its successor."""
    fresh = _copy(stale)
    _copy_options(stale, fresh)
    gate = Gate.objects.filter(ask=stale).first()
    if gate is not None:
        _bind_again(session, stale, fresh, gate)
    stale.status, stale.closed_at, stale.superseded_by = AskStatus.SUPERSEDED, clock.now(), fresh
    stale.close_reason = "What was asked had changed."
    stale.save(update_fields=["status", "closed_at", "superseded_by", "close_reason"])
    ledger.closing(stale)
    events.record(
        session,
        "superseded",
        actor="system",
        run=stale.run,
        text="What was asked had changed, so it is asked again.",
        data={"ask_id": stale.pk, "replaced_by": fresh.pk},
    )
    raising.tell_owners(session)
    moves.restate(session)
    return fresh


def _copy(stale: Ask) -> Ask:
    """The same words under the next key. The run's count of open asks stays as it is."""
    return Ask.objects.create(
        session=stale.session,
        run=stale.run,
        agent=stale.agent,
        request_key=_next_key(stale),
        kind=stale.kind,
        prompt=stale.prompt,
        prompt_html=stale.prompt_html,
        free_text=stale.free_text,
        money_critical=stale.money_critical,
        context=stale.context,
        imported=stale.imported,
        opened_at=stale.opened_at,
        expires_at=stale.expires_at,
    )


def _next_key(stale: Ask) -> str:
    """The key with how often it was asked: ``k``, ``k~2``, ``k~3`` …"""
    root, mark, count = stale.request_key.rpartition("~")
    if mark and count.isdigit():
        return f"{root}~{int(count) + 1}"
    return f"{stale.request_key[:190]}~2"


def _copy_options(stale: Ask, fresh: Ask) -> None:
    Option.objects.bulk_create(
        Option(
            ask=fresh,
            key=option.key,
            label=option.label,
            detail=option.detail,
            style=option.style,
            meaning=option.meaning,
            position=option.position,
        )
        for option in stale.options.all()
    )


def _bind_again(session: Session, stale: Ask, fresh: Ask, gate: Gate) -> None:
    newest = Run.objects.filter(session=session).order_by("-number").first() or stale.run
    Gate.objects.create(
        ask=fresh,
        session=session,
        number=session.gate_count,
        operation=gate.operation,
        params=gate.params,
        action_hash=binding.action_hash(gate.operation, gate.params),
        policy_version=policies.version_in_force(session.agent_id),
        run_version=binding.run_version(newest),
    )
    session.gate_count += 1
