"""The contents of ``Session.data`` for the runtime ``leaf``.

{"leaf": what its first envelope said, "messages": the conversation so far as pydantic-ai keeps it,
"result": the verdict or null, "failed": {"reason", "message"} of the last turn or null}
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from workspace.protocols.leaf.wire import Dialect, Envelope, Refs, WorkItem


class LeafFacts(BaseModel):
    """What a session reviews, and for whom. Written once, when the session is opened."""

    model_config = ConfigDict(frozen=True)

    session_id: str
    tenant: str = ""
    dialect: Dialect = "inline"
    item: WorkItem
    refs: Refs | None = None
    model: str = ""
    provider: str = ""
    workspace_ref: str = ""
    max_turns: int = 0

    @classmethod
    def of(cls, envelope: Envelope, item: WorkItem) -> LeafFacts:
        return cls(
            session_id=envelope.session_id,
            tenant=envelope.tenant,
            dialect=envelope.dialect,
            item=item,
            refs=envelope.refs,
            model=envelope.model,
            provider=envelope.provider,
            workspace_ref=envelope.workspace_ref,
            max_turns=envelope.max_turns,
        )

    @property
    def title(self) -> str:
        return f"{self.item.item_id} in {self.item.file}"[:200]


def facts_in(data: dict[str, Any]) -> LeafFacts | None:
    """Return the facts of a session's data; None if the session has no envelope yet."""
    try:
        return LeafFacts.model_validate(data.get("leaf"))
    except ValidationError:
        return None


def opened(facts: LeafFacts) -> dict[str, Any]:
    """Return the data of a new session."""
    return {"leaf": facts.model_dump(mode="json"), "messages": [], "result": None, "failed": None}
