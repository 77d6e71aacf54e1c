"""Parked calls (those that wait for an approval, and questions) and the asks drafted from them."""

from __future__ import annotations

import secrets
import string
from dataclasses import asdict, dataclass
from typing import Any, Literal

from asks.actions import binding
from asks.drafts import ActionDraft, AskDraft, OptionDraft, validation
from asks.lifecycle import AskKind, Meaning, Style
from asks.policies.wording import UNSAID
from workspace.protocols.eve.agent.questions import EveQuestion
from workspace.toolkit import Tool

APPROVE, DENY = "approve", "deny"
OPTIONS = (
    OptionDraft(APPROVE, "Yes", style=Style.PRIMARY, meaning=Meaning.APPROVE),
    OptionDraft(DENY, "No", meaning=Meaning.DENY),
)
_BASE62 = string.digits + string.ascii_letters
Kind = Literal["tool-approval", "question"]


@dataclass(frozen=True)
class Parked:
    """A call that waits for a person. ``request_key`` stays the same while it waits."""

    call_id: str
    tool_name: str
    input: dict[str, Any]
    kind: Kind
    request_key: str
    step_index: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def parked_in(session_data: dict[str, Any]) -> list[Parked]:
    """Return the calls that the last turn of a session parked on."""
    own = session_data.get("eve")
    rows = own.get("parked") if isinstance(own, dict) else None
    return [Parked(**{**row, "input": binding.restore_params(row["input"])}) for row in rows or []]


def new_approval_key() -> str:
    """Return a new, unguessable approval id in the form of the protocol."""
    return "aitxt-" + "".join(secrets.choice(_BASE62) for _ in range(24))


def draft_of(parked: Parked, tool: Tool | None = None) -> AskDraft:
    """Draft the ask of a parked call. Raises BadDraft if it cannot be asked."""
    draft = _question(parked) if parked.kind == "question" else _approval(parked, tool)
    validation.check_draft(draft)
    return draft


def _approval(parked: Parked, tool: Tool | None) -> AskDraft:
    action = ActionDraft(
        parked.tool_name,
        parked.input,
        always_asks=True,
        schema=tool.schema if tool else None,
        wording=tool.wording if tool else UNSAID,
    )
    return AskDraft(
        request_key=parked.request_key,
        prompt=f"Approve tool call: {parked.tool_name}",
        kind=AskKind.APPROVAL,
        options=OPTIONS,
        action=action,
        context=_context(parked, "confirmation", allow_freeform=False),
    )


def _question(parked: Parked) -> AskDraft:
    question = EveQuestion.model_validate(parked.input)
    options = tuple(
        OptionDraft(one.key, one.label, one.description, _style(one.style))
        for one in question.options
    )
    free = question.allow_freeform or not options
    display = "select" if options else "text"
    return AskDraft(
        request_key=parked.request_key,
        prompt=question.prompt,
        options=options,
        free_text=free,
        context=_context(parked, display, allow_freeform=free),
    )


def _style(word: str) -> Style:
    return {"primary": Style.PRIMARY, "danger": Style.DANGER}.get(word, Style.DEFAULT)


def _context(parked: Parked, display: str, *, allow_freeform: bool) -> dict[str, Any]:
    """Return the request as the eve endpoint shows it, for the context of the ask."""
    return {
        "eve": {
            "callId": parked.call_id,
            "toolName": parked.tool_name,
            "input": parked.input,
            "kind": parked.kind,
            "display": display,
            "allowFreeform": allow_freeform,
            "stepIndex": parked.step_index,
        }
    }
