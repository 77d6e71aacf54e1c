"""The shapes of both dialects of the leaf protocol, and the reading of its clients' JSON.

An envelope names a session and the item to review. Its shape shows the dialect: ``item`` is inline,
``inputsRef`` and ``resultRef`` are files. The field names are the protocol's own.
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
"""The number of turns if the envelope names none, or none above zero."""

APPROVE, REJECT, ABORT = "approve", "reject", "abort"
Action = Literal["approve", "reject", "abort"]
Dialect = Literal["inline", "files"]


class BadEnvelope(ValueError):
    """The body is not an envelope. The message tells why."""


class BadDecision(ValueError):
    """What was sent is not a decision. The message tells why."""


def _check_storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it contains a character that cannot be stored")
    return text


def _check_not_blank(text: str) -> str:
    if is_blank(text):
        raise ValueError("it must not be empty")
    return text


Word = Annotated[StrictStr, Field(max_length=MAX_WORD), AfterValidator(_check_storable)]
PathText = Annotated[StrictStr, Field(max_length=MAX_PATH), AfterValidator(_check_storable)]
#: Any other value counts as false.
LiteralTrue = Annotated[bool, BeforeValidator(lambda value: value is True)]
CAMEL = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, alias_generator=to_camel)


class WorkItem(BaseModel):
    """The item to review: whether a pattern in a file matters. Only a literal true asks for a gate."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    item_id: Word
    file: PathText
    pattern: Word
    require_approval: LiteralTrue = False


class GateDecision(BaseModel):
    """A person's decision on one gate. ``binding`` may echo the binding shown with the gate."""

    model_config = CAMEL

    gate_id: Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]
    action: Action
    feedback: StrictStr | None = None
    binding: dict[str, Any] | None = None


class LeafVerdict(BaseModel):
    """The result of a review. The reason may be empty."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    item_id: Annotated[StrictStr, Field(min_length=1)]
    verdict: Literal["FLAGGED", "CLEAR"]
    reason: StrictStr


class Refs(BaseModel):
    """The paths of the files dialect: absolute, as the client knows them."""

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
    """The body of ``POST /runs``. ``decision`` is unchecked; it is validated where it is used."""

    model_config = CAMEL

    session_id: Annotated[Word, AfterValidator(_check_not_blank)]
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
    """Read the envelope of a body. Raises BadEnvelope."""
    try:
        sent = json_input.read_json(raw)
    except ValueError as error:
        raise BadEnvelope("The body is not JSON.") from error
    if not isinstance(sent, dict):
        raise BadEnvelope("An envelope must be an object.")
    if sent.get("kind") not in (None, "converge"):
        raise BadEnvelope("Only reviews of one item are served here: the kind must be converge.")
    sent = {name: value for name, value in sent.items() if value is not None}
    files = "inputsRef" in sent or "resultRef" in sent
    if files == ("item" in sent):
        raise BadEnvelope("An envelope must have either an item, or inputsRef and resultRef.")
    try:
        return Envelope.model_validate(
            {**sent, "refs": Refs.model_validate(sent)} if files else sent
        )
    except ValidationError as error:
        raise BadEnvelope(_first(error)) from error


def validate_item(sent: object) -> WorkItem:
    """Validate an item from a file or an envelope. Raises BadEnvelope."""
    try:
        return WorkItem.model_validate(sent)
    except ValidationError as error:
        raise BadEnvelope(_first(error)) from error


def validate_decision(sent: object) -> GateDecision:
    """Validate a decision. Raises BadDecision with the protocol's own words."""
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
    """Validate a verdict of an agent or a harness. Raises ValueError with the protocol's words."""
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
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "envelope"
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def to_session_id(raw: str) -> str:
    """Return a session's name as the protocol writes it. It is for people and not unique."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", raw)
    return re.sub(r"\A[^A-Za-z0-9]+|[^A-Za-z0-9]+\Z", "", plain) or "leaf"


def leaf_session_id(session_id: str, tenant: str = "") -> str:
    return to_session_id(f"{tenant}/{session_id}" if tenant else session_id)


def session_key(session_id: str, tenant: str = "") -> str:
    """Return a session's unique name within its agent, for one tenant and id."""
    digest = hashlib.sha256(json.dumps([tenant, session_id]).encode()).hexdigest()
    return f"{leaf_session_id(session_id, tenant)[:100]}-{digest[:32]}"


def turns_allowed(asked: int) -> int:
    return asked if asked > 0 else MAX_TURNS
