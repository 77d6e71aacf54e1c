"""Draft an approval for a refused permission, bound to exactly the tool and its input."""

from __future__ import annotations

import json
import re

from agents.running.runtime import Ignored
from asks.actions.binding import Unhashable, action_hash
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from workspace.protocols.markers.permissions.acpx import Escalation
from workspace.protocols.markers.reader import once_key

ALLOW = OptionDraft("allow", "Allow once", style=Style.PRIMARY, meaning=Meaning.APPROVE)
REFUSE = OptionDraft("refuse", "Refuse", meaning=Meaning.DENY)


def draft_approval(escalation: Escalation, request_prefix: str) -> AskDraft | Ignored:
    """Return the approval to ask for, or Ignored with the reason why it cannot be bound."""
    try:
        digest = action_hash(escalation.tool, escalation.input)
        shown = json.dumps(escalation.input, ensure_ascii=False, indent=2)
        if "\\u0000" in shown:
            raise Unhashable("A text contains a NUL.")
    except Unhashable as error:
        return Ignored(f"permission for {escalation.tool}"[:300], f"it cannot be bound: {error}")
    return AskDraft(
        request_key=f"{request_prefix}{once_key('PERMISSION', digest)}",
        prompt=_prompt(escalation, shown),
        kind=AskKind.APPROVAL,
        options=(ALLOW, REFUSE),
        action=ActionDraft(escalation.tool, escalation.input),
        context={"title": escalation.title},
    )


def _prompt(escalation: Escalation, shown: str) -> str:
    """Return the question: the tool and its whole input, in fences that the input cannot close."""
    title = " ".join((escalation.title or escalation.tool).split())[:200]
    return f"May I use the tool below, once, in my next turn?\n\n{_fenced(title)}\n{_fenced(shown)}"


def _fenced(text: str) -> str:
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * max(3, *(run + 1 for run in runs), 3)
    return f"{fence}\n{text}\n{fence}"
