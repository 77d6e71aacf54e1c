"""What the owner is asked about a session at somebody else's harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from workspace.protocols.leaf.server.facts import LeafFacts
from workspace.protocols.leaf.server.state import OPERATION, OPTIONS, REQUEST_KEY

if TYPE_CHECKING:
    from workspace.protocols.leaf.client.memory import LeafMemory

SEND, FRESH, END = "send", "fresh", "end"


def gate_ask(
    facts: LeafFacts,
    harness: str,
    memory: LeafMemory,
    *,
    refused: dict[str, Any] | None = None,
    why: str = "",
) -> AskDraft:
    """The approval of a gate, with a note first if the harness refused what was decided about it."""
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
    words = memory.summary or "The harness gave no summary."
    if refused is not None:
        note = (
            f"**Refused by the runtime.** It still waits at gate {memory.parked} "
            f"after “{refused['action']}” was sent."
        )
        words = f"{note} {why}".strip() + f"\n\n{words}"
    return AskDraft(
        request_key=REQUEST_KEY,
        prompt=words,
        kind=AskKind.APPROVAL,
        options=OPTIONS,
        action=ActionDraft(OPERATION, params, schema=False),
    )


def lost_ask(harness: str, memory: LeafMemory) -> AskDraft:
    """A session that was parked, and of which its harness now knows nothing."""
    decided = f" Your decision “{memory.unsent['action']}” was not sent." if memory.unsent else ""
    return AskDraft(
        request_key="lost",
        prompt=(
            f"**Lost by the runtime.** The session was parked at gate {memory.parked}, and {harness} "
            f"now says it knows nothing of it.{decided} What shall become of it?"
        ),
        options=(
            OptionDraft(SEND, "Send it again", "It may still be in the harness's log."),
            OptionDraft(FRESH, "Start afresh", "A new session for the same item, from gate 0."),
            OptionDraft(END, "End it", "There will be no verdict.", Style.DANGER, Meaning.DENY),
        ),
    )
