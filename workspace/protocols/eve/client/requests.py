"""A remote agent's requests: read from the wire, drafted as asks, and answered."""

from __future__ import annotations

import hashlib
from typing import Any

from django.utils.translation import gettext as _
from pydantic import BaseModel, Field, ValidationError

from agents.text.storable import is_blank, is_storable
from asks.drafts import ActionDraft, AskDraft, OptionDraft, request_keys
from asks.drafts.validation import MAX_REQUEST_KEY
from asks.lifecycle import AskKind, Meaning, Style
from workspace.protocols.common.http_client import GarbledReply, Json

APPROVE = "approve"
#: The default options of an approval. In eve's old era they identify one.
SEED_OPTIONS = ("approve", "deny")
TAKEN_BACK = "The owner took the question back and does not answer it."


def request_key_of(request_id: str) -> str:
    """Return the ask's request key: the request's id, or its digest if the id is not usable."""
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
    """A request of an ``input.requested`` event. In the old era it has no ``kind``."""

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
        """Return the ask. ``where`` is the agent's address, ``note`` the fate of an earlier answer."""
        asked = self.prompt
        if is_blank(asked):
            asked = _("{tool} asks.").format(tool=self.action.toolName)
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
        """Return a verdict as the protocol's ``InputResponse``."""
        said = {"optionId": option, "text": text}
        return {"requestId": self.requestId, **{name: one for name, one in said.items() if one}}

    def refusal(self) -> Json:
        """Return the response to a request that the owner withdrew: a denial, or a text."""
        if not self.is_approval:
            return self.answer("", TAKEN_BACK)
        denials = (choice.id for choice in self.options if choice.id != APPROVE)
        return self.answer(next(denials, "deny"), TAKEN_BACK)

    def _action(self) -> ActionDraft:
        """Return the agent's call unchanged: it accepts approval or denial, not another call."""
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


def read_request(raw: object) -> RemoteRequest:
    """Parse a request from the wire. Raises GarbledReply if it cannot be answered."""
    try:
        request = RemoteRequest.model_validate(raw)
    except ValidationError as error:
        raise GarbledReply("The agent's request is malformed.") from error
    if request.is_approval and not request.options:
        request.options = [
            RequestOption(id="approve", label=_("Approve"), style="primary"),
            RequestOption(id="deny", label=_("Deny")),
        ]
    return request
