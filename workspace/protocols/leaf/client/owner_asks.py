"""Ask the owner about a session at a remote harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from asks.drafts import ActionDraft, AskDraft
from asks.lifecycle import AskKind, Meaning
from workspace.protocols.common.owner_asks import AGAIN, END, FRESH, draft_owner_ask
from workspace.protocols.leaf.server.facts import LeafFacts
from workspace.protocols.leaf.server.state import OPERATION, OPTIONS, REQUEST_KEY

if TYPE_CHECKING:
    from workspace.protocols.leaf.client.memory import LeafMemory

__all__ = ["AGAIN", "END", "FRESH", "gate_ask", "lost_ask"]


def gate_ask(
    facts: LeafFacts,
    harness: str,
    memory: LeafMemory,
    *,
    refused: dict[str, Any] | None = None,
    why: str = "",
) -> AskDraft:
    """Draft the approval of a gate. A note comes first if the harness rejected the last decision.

    ``refused`` is that decision, ``why`` the harness's reason.
    """
    params: dict[str, Any] = {
        "proposed_action": memory.proposed_action,
        "summary": memory.summary,
        "item": facts.item.item_id,
        "file": facts.item.file,
        "pattern": facts.item.pattern,
        "harness": harness,
        "session": memory.name or facts.session_id,
        "gate": memory.parked,
    }
    if memory.binding:
        params["binding"] = memory.binding
    prompt = memory.summary or _("The harness gave no summary.")
    if refused is not None:
        headline = _("Refused by the runtime.")
        state = _("It still waits at gate {gate} after “{action}” was sent.").format(
            gate=memory.parked, action=refused["action"]
        )
        prompt = f"**{headline}** {state} {why}".strip() + f"\n\n{prompt}"
    return AskDraft(
        request_key=REQUEST_KEY,
        prompt=prompt,
        kind=AskKind.APPROVAL,
        options=OPTIONS,
        action=ActionDraft(OPERATION, params, schema=False),
    )


def lost_ask(harness: str, memory: LeafMemory) -> AskDraft:
    """Ask about a parked session that its harness no longer knows."""
    where = _("The session was parked at gate {gate}, and {harness} no longer knows it.").format(
        gate=memory.parked, harness=harness
    )
    unsent = ""
    if memory.unsent:
        action = memory.unsent["action"]
        unsent = _("Your decision “{action}” was not sent.").format(action=action)
    return draft_owner_ask(
        "lost",
        headline=_("Lost by the runtime."),
        details=f"{where} {unsent}".strip(),
        again=_("It may still be in the harness's log."),
        fresh=_("A new session for the same item, from gate 0."),
        end=_("There will be no verdict."),
        end_meaning=Meaning.DENY,
    )
