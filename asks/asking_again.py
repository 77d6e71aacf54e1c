"""Ask a stale question again, bound to the world as it is now."""

from __future__ import annotations

from agents import transitions
from agents.locking import LockedSession
from asks import closing, raising
from asks.actions import binding
from asks.deadlines.nudges import copy_escalation
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from asks.models import Ask, Gate

WHY_STALE = "What was asked had changed."


def ask_again(session: LockedSession, stale: Ask) -> Ask:
    """A fresh ask in place of a stale one, on a locked session. The old one names its successor.

    It is the same run's and has waited as long.
    """
    fresh = raising.create_ask(
        session,
        stale.run,
        draft_from(stale),
        repeats=stale,
        opened_at=stale.opened_at,
        expires_at=stale.expires_at,
        imported=stale.imported,
    )
    copy_escalation(session, stale, fresh)
    closing.supersede_ask(session, stale, fresh, why=WHY_STALE)
    transitions.store_status(session, transitions.live_run(session))
    return fresh


def draft_from(ask: Ask) -> AskDraft:
    """An ask as the draft it was."""
    gate = binding.gate_of(ask)
    return AskDraft(
        request_key=ask.request_key,
        prompt=ask.prompt,
        kind=AskKind(ask.kind),
        options=tuple(
            OptionDraft(o.key, o.label, o.detail, Style(o.style), Meaning(o.meaning))
            for o in ask.options.order_by("position")
        ),
        free_text=ask.free_text,
        action=_action_of(ask, gate) if gate else None,
        context=ask.context,
    )


def _action_of(ask: Ask, gate: Gate) -> ActionDraft:
    params = binding.restore_params(gate.params)
    files = tuple(gate.files)
    return ActionDraft(gate.operation, params, ask.money_critical, files=files, schema=gate.schema)
