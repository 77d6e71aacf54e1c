"""Put a verdict into the inbox of the session that asked, for its next run."""

from __future__ import annotations

import json
from typing import Any

from agents import inbox
from agents.lifecycle import InboxKind
from agents.locking import LockedSession
from agents.models import InboxItem, Run
from asks.actions import binding
from asks.models import Ask, Verdict

#: Characters of an edited call that the text of the verdict contains at most.
LONGEST = 4_000


def deliver_verdict(
    session: LockedSession, ask: Ask, verdict: Verdict, *, author: str, again_to: Run | None = None
) -> InboxItem:
    """Enqueue a verdict once, and once more for each later run that asks the same."""
    return inbox.enqueue_item(
        session,
        InboxKind.VERDICT,
        author=author,
        body=" — ".join(
            part for part in (verdict.option_label, verdict.text, _change(verdict)) if part
        ),
        data=verdict_data(ask, verdict) | _action_of(ask, verdict),
        source_key=f"ask:{ask.pk}" + (f":{again_to.pk}" if again_to else ""),
    )


def _change(verdict: Verdict) -> str:
    """Describe an edited call for agents that read only text. A very long one is in the data only."""
    if not verdict.edit:
        return ""
    text = json.dumps(verdict.edit["edited"], ensure_ascii=False)
    return (
        f"with the arguments changed to {text}" if len(text) <= LONGEST else "with other arguments"
    )


def verdict_data(ask: Ask, verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as data for a runtime: the option by its key, and its label as it was shown.

    ``edited``, if present, are the params that were approved instead of the ones asked about.
    """
    option = verdict.option
    edited = {"edited": verdict.edit["edited"]} if verdict.edit else {}
    return {
        "ask_id": ask.pk,
        "request_key": ask.request_key,
        "prompt": ask.prompt,
        "option": option.key if option else "",
        "label": verdict.option_label,
        "text": verdict.text,
        "meaning": verdict.meaning,
        **edited,
    }


def _action_of(ask: Ask, verdict: Verdict) -> dict[str, Any]:
    """Return the operation and params that the verdict releases; empty without an action."""
    gate = binding.gate_of(ask)
    if gate is None:
        return {}
    params = verdict.edit["edited"] if verdict.edit else gate.params
    return {"operation": gate.operation, "params": params}


def was_given(run: Run, ask: Ask) -> bool:
    """Whether the verdict of an ask was delivered to a run."""
    return run.given.filter(kind=InboxKind.VERDICT, data__ask_id=ask.pk).exists()
