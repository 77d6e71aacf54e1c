"""The shapes of the leaf protocol, both dialects, and how its clients' JSON is read.

An envelope names a session and what to review; which dialect it speaks shows in its shape alone:
``item`` is inline, ``inputsRef`` and ``resultRef`` are files. Names are the protocol's own.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from agents.text import json_input
from agents.text.storable import is_blank, is_storable

MAX_WORD = 500
MAX_PATH = 1024
MAX_TURNS = 40
"""What an agent gets when its envelope names no number of turns, or none above zero."""

APPROVE, REJECT, ABORT = "approve", "reject", "abort"
Action = Literal["approve", "reject", "abort"]
Dialect = Literal["inline", "files"]


class BadEnvelope(ValueError):
    """What was sent is no envelope, with why not."""


class BadDecision(ValueError):
    """What was sent as a decision is none, with why not."""


def _kept(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it holds a character that cannot be kept")
    return text


def _said(text: str) -> str:
    if is_blank(text):
        raise ValueError("it must not be empty")
    return text


Word = Annotated[StrictStr, Field(max_length=MAX_WORD), AfterValidator(_kept)]
PathText = Annotated[StrictStr, Field(max_length=MAX_PATH), AfterValidator(_kept)]
#: Whatever else is sent counts as no.
LiteralTrue = Annotated[bool, BeforeValidator(lambda value: value is True)]
CAMEL = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, alias_generator=to_camel)


class WorkItem(BaseModel):
    """What is reviewed: whether a pattern in a file matters. Only a literal true asks for a gate."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    item_id: Word
    file: PathText
    pattern: Word
    require_approval: LiteralTrue = False


class GateDecision(BaseModel):
    """A person's word on one gate. ``binding`` may repeat what the gate was shown with."""

    model_config = CAMEL

    gate_id: Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]
    action: Action
    feedback: StrictStr | None = None
    binding: dict[str, Any] | None = None


class LeafVerdict(BaseModel):
    """What a review comes to. An empty reason is a reason."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    item_id: Annotated[StrictStr, Field(min_length=1)]
    verdict: Literal["FLAGGED", "CLEAR"]
    reason: StrictStr


class Refs(BaseModel):
    """Where the files dialect reads and writes; absolute paths as the client knows them."""

    model_config = CAMEL

    inputs_ref: PathText
    result_ref: PathText
    gate_ref: PathText = ""
    done_marker_ref: PathText = ""
    decision_ref: PathText = ""

    @property
    def gate(self) -> str:
        return self.gate_ref or f"{self.result_ref}.gate"

    @property
    def done(self) -> str:
        return self.done_marker_ref or f"{self.result_ref}.status"

    @property
    def all(self) -> tuple[str, ...]:
        named = (self.inputs_ref, self.result_ref, self.gate, self.done, self.decision_ref)
        return tuple(filter(None, named))


class Envelope(BaseModel):
    """A call of ``POST /runs``. ``decision`` is whatever was sent: it is judged where it is used."""

    model_config = CAMEL

    session_id: Annotated[Word, AfterValidator(_said)]
    tenant: Word = ""
    model: Word = ""
    provider: Word = ""
    workspace_ref: PathText = ""
    max_turns: StrictInt = 0
    wants_async: LiteralTrue = Field(default=False, alias="async")
    agent: Word = ""
    item: WorkItem | None = None
    refs: Refs | None = None
    decision: Any = None

    @property
    def dialect(self) -> Dialect:
        return "inline" if self.item else "files"


def read_envelope(raw: bytes) -> Envelope:
    """The envelope of a request's body. Raises BadEnvelope."""
    try:
        sent = json_input.read_json(raw)
    except ValueError as error:
        raise BadEnvelope("The body is not JSON.") from error
    if not isinstance(sent, dict):
        raise BadEnvelope("An envelope is an object.")
    if sent.get("kind") not in (None, "converge"):
        raise BadEnvelope("Only reviews of one item are served here, so no kind but converge.")
    sent = {name: value for name, value in sent.items() if value is not None}
    files = "inputsRef" in sent or "resultRef" in sent
    if files == ("item" in sent):
        raise BadEnvelope("An envelope has an item, or inputsRef and resultRef, and never both.")
    try:
        return Envelope.model_validate(
            {**sent, "refs": Refs.model_validate(sent)} if files else sent
        )
    except ValidationError as error:
        raise BadEnvelope(_first(error)) from error


def validate_item(sent: object) -> WorkItem:
    """An item as a file or an envelope holds it. Raises BadEnvelope."""
    try:
        return WorkItem.model_validate(sent)
    except ValidationError as error:
        raise BadEnvelope(_first(error)) from error


def validate_decision(sent: object) -> GateDecision:
    """A decision, whatever was sent as one. Raises BadDecision with the protocol's own words."""
    if not isinstance(sent, dict):
        raise BadDecision("decision must be an object")
    try:
        return GateDecision.model_validate(sent)
    except ValidationError as error:
        words = {
            "gateId": "gateId must be a non-negative integer",
            "action": 'action must be "approve", "reject", or "abort"',
            "feedback": "feedback must be a string when present",
            "binding": "binding must be an object when present",
        }
        raise BadDecision(words.get(str(error.errors()[0]["loc"][0]), _first(error))) from error


def validate_verdict(sent: object) -> LeafVerdict:
    """A verdict, whatever an agent or a harness said. Raises ValueError with the protocol's words."""
    if not isinstance(sent, dict):
        raise ValueError("verdict must be an object")  # noqa: TRY004 -- it came from outside
    try:
        return LeafVerdict.model_validate(sent)
    except ValidationError as error:
        words = {
            "item_id": "item_id must be a non-empty string",
            "verdict": 'verdict must be "FLAGGED" or "CLEAR"',
            "reason": "reason must be a string",
        }
        raise ValueError(words.get(str(error.errors()[0]["loc"][0]), _first(error))) from error


def is_verdict(sent: object) -> bool:
    try:
        validate_verdict(sent)
    except ValueError:
        return False
    return True


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    place = ".".join(str(part) for part in found["loc"]) or "envelope"
    return f"{place}: {found['msg'].removeprefix('Value error, ')}"


def to_session_id(raw: str) -> str:
    """A session's name as the protocol writes it. It is for people: two sessions may share it."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", raw)
    return re.sub(r"\A[^A-Za-z0-9]+|[^A-Za-z0-9]+\Z", "", plain) or "leaf"


def leaf_session_id(session_id: str, tenant: str = "") -> str:
    return to_session_id(f"{tenant}/{session_id}" if tenant else session_id)


def session_key(session_id: str, tenant: str = "") -> str:
    """The one name of a session among its agent's: no other tenant and id ever have the same."""
    digest = hashlib.sha256(json.dumps([tenant, session_id]).encode()).hexdigest()
    return f"{leaf_session_id(session_id, tenant)[:100]}-{digest[:32]}"


def turns_allowed(asked: int) -> int:
    return asked if asked > 0 else MAX_TURNS
