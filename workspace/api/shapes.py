"""The shapes of requests and answers. The OpenAPI document is built from them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.lifecycle import RunStatus, SessionState, Status
from asks.lifecycle import AskKind, AskStatus, Meaning, Style
from asks.models import GrantState

Id = Annotated[int, Field(ge=1, le=2**63 - 1)]
Limit = Annotated[int, Field(ge=1, le=200)]


def published_name(shape: type) -> str:
    """Return the name of a shape in the OpenAPI document: ``AskShape`` is published as ``Ask``."""
    return shape.__name__.removesuffix("Shape")


class _Out(BaseModel):
    model_config = ConfigDict(extra="forbid", model_title_generator=published_name)


class _In(BaseModel):
    """Strict: unknown fields and values of another type are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True, model_title_generator=published_name)


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BindingShape(_Out):
    """What an answer to this ask must echo exactly."""

    action_hash: str
    policy_version: int
    run_version: str


class OptionShape(_Out):
    key: str
    label: str
    detail: str
    style: Style
    meaning: Meaning


class ActionShape(_Out):
    """What an approval allows: exactly this operation with exactly these params."""

    operation: str
    params: Any
    gate: int = Field(description="The gate's number in its session, from 0.")
    params_schema: Any = Field(
        description="The JSON Schema that edited params must match; null if the tool has none."
    )
    may_edit: bool = Field(description="Whether an approval may come with `edited` params.")


class VerdictShape(_Out):
    option: str | None = Field(description="The key of the chosen option.")
    label: str = Field(description="The option's label as it was shown.")
    text: str
    meaning: Meaning
    decided_by: str
    on_behalf_of: str | None
    decided_at: datetime
    via: str
    edited: Any = Field(
        description="The edited params that were approved; null if the params were approved as asked."
    )


class VoteShape(_Out):
    voter: str
    in_the_name_of: str
    option: str
    meaning: Meaning
    cast_at: datetime


class AgentShape(_Out):
    slug: str
    name: str


class AskShape(_Out):
    id: int
    path: str = Field(description="The page where a person answers it.")
    kind: AskKind
    status: AskStatus
    agent: AgentShape
    session: int
    run: int = Field(description="The number of the run that asked.")
    request_key: str
    prompt: str
    options: list[OptionShape]
    free_text: bool = Field(description="Whether text without an option is an answer.")
    gated: bool = Field(
        description="Moves money: it can only be approved with a signed decision file."
    )
    action: ActionShape | None
    binding: BindingShape | None
    context: dict[str, Any]
    opened_at: datetime
    expires_at: datetime | None
    closed_at: datetime | None
    closed_by: str | None
    close_reason: str
    terms: dict[str, Any] = Field(description="What the policy requires: quorum, four eyes, …")
    answered_by: str | None = Field(description="The group that answers it; null if the owners do.")
    confidential: bool
    claimed_by: str | None
    votes: list[VoteShape] = Field(description="The votes cast so far, if several people decide.")
    replaces: int | None = Field(description="The stale ask that this one replaces.")
    replaced_by: int | None
    verdict: VerdictShape | None = Field(
        description="Null until it takes effect: until then the person can take the answer back."
    )
    takes_effect_at: datetime | None = Field(
        description="When an answer that can still be taken back takes effect."
    )
    version: int = Field(description="Increases whenever the open question changes or opens again.")


class Asks(_Out):
    """One page, longest wait first."""

    asks: list[AskShape]
    next: str | None = Field(
        description="Send this as `after` to get the next page; null on the last page."
    )


class AnsweredShape(_Out):
    ask: AskShape
    repeated: bool = Field(description="Whether the same answer was already recorded.")
    decided: bool = Field(description="False for a vote if others still have to vote.")


class Withdrawn(_Out):
    ask: AskShape


class LiveRun(_Out):
    number: int
    status: RunStatus
    queued_at: datetime
    started_at: datetime | None


class SessionShape(_Out):
    id: int
    path: str = Field(description="The page where a person follows it.")
    title: str
    agent: AgentShape
    state: SessionState
    status: Status
    status_reason: str
    needs_you: bool = Field(description="Whether it waits for a person.")
    open_asks: int
    live_run: LiveRun | None
    last_outcome: str
    last_seq: int
    wake_at: datetime | None
    created_at: datetime


class EventShape(_Out):
    seq: int
    kind: str
    actor: str = Field(description="human:<name>, agent:<slug> or system.")
    text: str
    data: dict[str, Any]
    run: int | None
    at: datetime


class Events(_Out):
    events: list[EventShape]
    last_seq: int = Field(description="The sequence number of the newest event.")


class GrantShape(_Out):
    """The right to do one thing once."""

    id: int
    session: int
    ask: int | None = Field(description="The ask that was approved; null if the policy allows it.")
    operation: str
    params: Any
    state: GrantState
    end: str = Field(description="Why it ended without being used; empty otherwise.")
    made_at: datetime
    expires_at: datetime | None
    ended_at: datetime | None


class GrantList(_Out):
    grants: list[GrantShape]


class GrantQuery(_Query):
    session: Id | None = None


class AskQuery(_Query):
    status: AskStatus | Literal["all"] = AskStatus.OPEN
    kind: AskKind | None = None
    agent: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")] | None = None
    session: Id | None = None
    after: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,120}$")] | None = None
    limit: Limit = 50


class EventQuery(_Query):
    after: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    limit: Limit = 200


class NoQuery(_Query):
    """No parameters."""


class Echo(_In):
    """The binding as it was shown. A missing field counts as not echoed."""

    action_hash: str | None = None
    policy_version: int | None = None
    run_version: str | None = None


class AnswerBody(_In):
    """An option's key, text, or both. An answer to a bound ask also needs the binding as shown."""

    option: str = ""
    text: str = ""
    binding: Echo | None = None
    edited: Any = Field(
        default=None,
        description="Optional, with an approval, if the policy allows edits: all params to approve.",
    )


class NoBody(_In):
    """No fields."""


class CancelBody(_In):
    reason: str = ""
