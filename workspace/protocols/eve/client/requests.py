"""What a remote agent asks, as it says it, as the ask that it becomes, and as its answer."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from agents.text.storable import is_blank, is_storable
from asks.drafts import ActionDraft, AskDraft, OptionDraft, request_keys
from asks.drafts.validation import MAX_REQUEST_KEY
from asks.lifecycle import AskKind, Meaning, Style
from workspace.protocols.common.http_client import GarbledReply, Json

APPROVE = "approve"
#: What an approval offers where the agent names no options, and how eve tells one in its old era.
SEED_OPTIONS = ("approve", "deny")
TAKEN_BACK = "The owner took the question back and does not answer it."


def request_key_of(request_id: str) -> str:
    """The ask's key of a request: its own id, unless that cannot be one."""
    fits = len(request_id) <= MAX_REQUEST_KEY and is_storable(request_id)
    if fits and not request_keys.is_repeated(request_id):
        return request_id
    return "eve-" + hashlib.sha256(request_id.encode(errors="replace")).hexdigest()


class RequestOption(BaseModel):
    id: str = Field(min_length=1)
    label: str = ""
    description: str = ""
    style: str = "default"


class RequestedAction(BaseModel):
    toolName: str = ""  # noqa: N815 -- the wire's word
    input: Any = None


class RemoteRequest(BaseModel):
    """One request of an ``input.requested``. Of the old era it has no ``kind``."""

    requestId: str = Field(min_length=1)  # noqa: N815 -- the wire's word
    kind: str = ""
    prompt: str = ""
    action: RequestedAction = RequestedAction()
    options: list[RequestOption] = []
    allowFreeform: bool | None = None  # noqa: N815 -- the wire's word

    @property
    def key(self) -> str:
        return request_key_of(self.requestId)

    @property
    def is_approval(self) -> bool:
        if self.kind:
            return self.kind == "tool-approval"
        return tuple(option.id for option in self.options) == SEED_OPTIONS

    def draft(self, where: str, note: str = "") -> AskDraft:
        """The ask; ``where`` is the agent's address, ``note`` what became of an earlier answer."""
        asked = self.prompt if not is_blank(self.prompt) else f"{self.action.toolName} asks."
        return AskDraft(
            request_key=self.key,
            prompt=f"{note}\n\n{asked}" if note else asked,
            kind=AskKind.APPROVAL if self.is_approval else AskKind.QUESTION,
            options=tuple(self._option(choice) for choice in self.options),
            free_text=not self.is_approval and (self.allowFreeform is True or not self.options),
            action=self._action() if self.is_approval else None,
            context={"agent": where},
        )

    def answer(self, option: str, text: str) -> Json:
        """A verdict as the protocol's ``InputResponse``."""
        said = {"optionId": option, "text": text}
        return {"requestId": self.requestId, **{name: one for name, one in said.items() if one}}

    def refusal(self) -> Json:
        """What a request is told that the owner took back: a denial, or that there is no answer."""
        if not self.is_approval:
            return self.answer("", TAKEN_BACK)
        denials = (choice.id for choice in self.options if choice.id != APPROVE)
        return self.answer(next(denials, "deny"), TAKEN_BACK)

    def _action(self) -> ActionDraft:
        """The call, exactly as the agent holds it: it takes a yes or a no, and no other call."""
        name = self.action.toolName or "tool call"
        return ActionDraft(name, self.action.input, always_asks=True, schema=False)

    def _option(self, choice: RequestOption) -> OptionDraft:
        meaning = Meaning.ANSWER
        if self.is_approval:
            meaning = Meaning.APPROVE if choice.id == APPROVE else Meaning.DENY
        known = {"primary": Style.PRIMARY, "danger": Style.DANGER}
        label = choice.label if not is_blank(choice.label) else choice.id
        style = known.get(choice.style, Style.DEFAULT)
        return OptionDraft(choice.id, label, choice.description, style, meaning)


def read_request(found: object) -> RemoteRequest:
    """A request off the wire. Raises Garbled for what nobody could answer."""
    try:
        request = RemoteRequest.model_validate(found)
    except ValidationError as error:
        raise GarbledReply("The agent asks in a way that is not understood here.") from error
    if request.is_approval and not request.options:
        request.options = [
            RequestOption(id="approve", label="Approve", style="primary"),
            RequestOption(id="deny", label="Deny"),
        ]
    return request
