"""Ask a stale question again, bound to the world as it is now."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents import transitions
from agents.locking import LockedSession
from agents.text import key_order
from asks import closing, raising
from asks.actions import binding, editing
from asks.deadlines.nudges import copy_escalation
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from asks.models import Ask, Gate
from asks.policies import terms

WHY_STALE = gettext_noop("The question had changed.")


def ask_again(session: LockedSession, stale: Ask) -> Ask:
    """Replace a stale ask with a fresh one. The stale ask names its successor.

    The fresh ask belongs to the same run and keeps the time at which the first was opened.
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
    closing.supersede_ask(session, stale, fresh, why=_(WHY_STALE))
    transitions.store_status(session, transitions.live_run(session))
    return fresh


def draft_from(ask: Ask) -> AskDraft:
    """Return an ask as a draft."""
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
        context=key_order.in_order(ask.context, ask.context_order),
    )


def _action_of(ask: Ask, gate: Gate) -> ActionDraft:
    params = editing.asked_params(gate)
    return ActionDraft(
        gate.operation,
        params,
        ask.money_critical,
        files=tuple(gate.files),
        schema=gate.schema,
        wording=terms.terms_of(ask).tool_wording,
    )
