"""Draft an approval for a refused permission, bound to exactly the kind of call and its raw input.

A request keeps its key while only the model's own words about it change, or while it is the same tool
call. So a changed request replaces the earlier one, shows the difference, and ends its approval.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from agents.running.runtime import Ignored
from asks.actions.binding import Unhashable, action_hash
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from workspace.protocols.markers.permissions.acpx import Escalation
from workspace.protocols.markers.reader import once_key

ALLOW = OptionDraft("allow", "Allow once", style=Style.PRIMARY, meaning=Meaning.APPROVE)
REFUSE = OptionDraft("refuse", "Refuse", meaning=Meaning.DENY)


#: Fields in which models describe a command. They are bound, but make no other request.
WORDS = frozenset({"description", "explanation", "justification"})


def draft_approvals(escalations: Iterable[Escalation]) -> list[AskDraft | Ignored]:
    """Return what to ask of the permissions of one turn. One tool call is one request."""
    keys: dict[str, str] = {}
    drafts = []
    for escalation in escalations:
        key = keys.get(escalation.call_id) or permission_key(escalation)
        if escalation.call_id:
            keys[escalation.call_id] = key
        drafts.append(draft_approval(escalation, key))
    return drafts


def permission_key(escalation: Escalation) -> str:
    """Return the key of the request that an escalation makes, whatever the model says about it."""
    given = escalation.input
    if escalation.tool == "execute" and isinstance(given, dict):
        given = {name: value for name, value in given.items() if name not in WORDS}
    wanted = json.dumps([escalation.tool, given], sort_keys=True)
    return f"permission: {once_key('PERMISSION', wanted)}"


def draft_approval(escalation: Escalation, request_key: str) -> AskDraft | Ignored:
    """Return the approval to ask for, or Ignored with the reason why it cannot be bound."""
    try:
        action_hash(escalation.tool, escalation.input)
        shown = json.dumps(escalation.input, ensure_ascii=False, indent=2)
        if "\\u0000" in shown:
            raise Unhashable("A text contains a NUL.")
    except Unhashable as error:
        return Ignored(f"permission for {escalation.tool}"[:300], f"it cannot be bound: {error}")
    return AskDraft(
        request_key=request_key,
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
