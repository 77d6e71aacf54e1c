"""Dialects of the Responses protocol: how an agent asks a person, and how it is answered.

seed       function_call named request_info; the question is in arguments.request_event
native     the same name; arguments are {request_id, request}
adapter    function_call named __hosted_agent_adapter_hitl__; arguments are the interrupt's value
approval   mcp_approval_request; its name and arguments are the action
devui      an event response.request_info.requested, apart from the items
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel

from agents.text import json_input
from agents.text.storable import is_blank, is_storable, make_storable
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from workspace.protocols.responses.wire import REQUEST_INFO, Json

ADAPTER = "__hosted_agent_adapter_hitl__"
APPROVAL_ITEM = "mcp_approval_request"
DEVUI_EVENT = "response.request_info.requested"
Dialect = Literal["seed", "native", "adapter", "approval", "devui"]

APPROVE, DENY, CLOSE = "approve", "deny", "close"
MAX_TEXT, MAX_OPTIONS, MAX_LABEL, MAX_KEY, MAX_CONTEXT = 16_000, 60, 400, 190, 4_000
_TEXT_NAMES = ("question", "prompt", "message", "text", "description", "title")
_OPTION_NAMES = ("options", "choices")


class RemoteOption(BaseModel):
    """An option: the label to show, and the value to send back."""

    label: str
    value: Any


class RemoteQuestion(BaseModel):
    """A question of a remote agent, stored until it is answered.

    ``response`` is the response that asked, ``place`` the position among its questions, ``times``
    how often this call_id has asked. A question that is not ``readable`` is shown and can only be
    closed. ``operation`` and ``params`` are the action of an approval.
    """

    dialect: Dialect
    call_id: str
    response: str = ""
    place: int = 0
    times: int = 1
    text: str
    choices: list[RemoteOption] = []
    readable: bool = True
    operation: str = ""
    params: Any = None
    request: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The ask's request key: the call_id, or its digest if it is too long or not storable."""
        again = f"#{self.times}" if self.times > 1 else ""
        if 0 < len(self.call_id) <= MAX_KEY and is_storable(self.call_id):
            return self.call_id + again
        return f"call-{_digest(self.call_id)}{again}"

    @property
    def mark(self) -> str:
        """A digest of the call_id and the question: a repeated question has the same."""
        offered = [choice.label for choice in self.choices]
        return _digest(
            json.dumps([self.call_id, self.text, offered, self.operation, self.params], default=str)
        )

    def draft(self) -> AskDraft:
        """Return the question as an ask."""
        if self.dialect == "approval" and self.readable:
            return self._approval()
        options = tuple(
            OptionDraft(f"option-{place}", choice.label)
            for place, choice in enumerate(self.choices, start=1)
        )
        if not self.readable:
            options = (OptionDraft(CLOSE, _("Close it"), _("Nothing is sent to the agent.")),)
        shown = {str(name)[:100]: _short(value) for name, value in list(self.request.items())[:20]}
        context = {"request": shown} if shown else {}
        return AskDraft(request_key=self.key, prompt=self.text, options=options, context=context)

    def _approval(self) -> AskDraft:
        return AskDraft(
            request_key=self.key,
            prompt=self.text,
            kind=AskKind.APPROVAL,
            options=(
                OptionDraft(APPROVE, _("Approve"), style=Style.PRIMARY, meaning=Meaning.APPROVE),
                OptionDraft(DENY, _("Deny"), meaning=Meaning.DENY),
            ),
            free_text=False,
            action=ActionDraft(self.operation, self.params, schema=False),
        )

    def chosen(self, option: str, text: str) -> Any:
        """Return the value of the chosen option, or the text if none was chosen."""
        place = option.removeprefix("option-")
        if option and place.isdigit() and 0 < int(place) <= len(self.choices):
            return self.choices[int(place) - 1].value
        return text

    def answer(self, option: str, text: str) -> Json | str:
        """Return the input item that answers the question; for devui the whole input, as a text."""
        if self.dialect == "approval":
            approval: Json = {
                "type": "mcp_approval_response",
                "approval_request_id": self.call_id,
                "approve": option == APPROVE,
            }
            return approval | ({"reason": text} if text else {})
        value = self.chosen(option, text)
        if self.dialect == "devui":
            responses = {self.call_id: {"response": value}}
            part = {"type": "workflow_hil_response", "responses": responses}
            return json.dumps([{"type": "message", "content": [part]}])
        output = {"resume": value} if self.dialect == "adapter" else value
        return {
            "type": "function_call_output",
            "call_id": self.call_id,
            "output": output if isinstance(output, str) else json.dumps(output),
        }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


def question_in_item(item: Json) -> RemoteQuestion | None:  # noqa: PLR0911 -- one line for each dialect
    """Return the question in an output item; None if the item is not one."""
    kind = item.get("type")
    if kind == APPROVAL_ITEM:
        return _of_approval(item)
    if kind != "function_call" or item.get("name") not in (REQUEST_INFO, ADAPTER):
        return None
    call_id, value = str(item.get("call_id") or ""), _value(item.get("arguments"))
    if not call_id:
        return _unreadable("seed", str(item.get("id") or ""))
    if item["name"] == ADAPTER:
        return _asking("adapter", call_id, value)
    if not isinstance(value, dict):
        return _unreadable("seed", call_id)
    request = value.get("request") if isinstance(value.get("request"), dict) else {}
    if "request_event" not in value:
        return _asking("native", call_id, value.get("request"), context={})
    event = value["request_event"]
    data = event.get("data") if isinstance(event, dict) else event
    options = value.get("options")
    typed = event.get("response_type") if isinstance(event, dict) else ""
    return _asking("seed", call_id, data, options=options, typed=typed, context=request or {})


def question_in_event(event: Json) -> RemoteQuestion | None:
    """Return the question in an event; None if the event is not one."""
    if event.get("type") != DEVUI_EVENT:
        return None
    schema = event.get("response_schema")
    options = schema.get("enum") if isinstance(schema, dict) else None
    return _asking(
        "devui", str(event.get("request_id") or ""), event.get("request_data"), options=options
    )


def _of_approval(item: Json) -> RemoteQuestion:
    call_id = str(item.get("id") or "")
    params = _value(item.get("arguments"))
    name = ".".join(str(part) for part in (item.get("server_label"), item.get("name")) if part)
    if not name or params is None:
        return _unreadable("approval", call_id)
    return RemoteQuestion(
        dialect="approval",
        call_id=call_id,
        text=_("Allow the agent to run {action}?").format(action=name[:200]),
        operation=name[:200],
        params=params,
    )


def _asking(
    dialect: Dialect,
    call_id: str,
    data: Any,
    *,
    options: Any = None,
    typed: Any = "",
    context: Json | None = None,
) -> RemoteQuestion:
    text = _text(data)
    if is_blank(text) or not call_id:
        return _unreadable(dialect, call_id)
    if options is None and isinstance(data, dict):
        options = next((data[name] for name in _OPTION_NAMES if name in data), None)
    if typed == "builtins.bool" and not options:
        options = [{"label": "Yes", "value": True}, {"label": "No", "value": False}]
    choices = _choices(options)
    if options and not choices:
        text += f"\n\nOffered: {json.dumps(options, ensure_ascii=False)[:2000]}"
    return RemoteQuestion(
        dialect=dialect,
        call_id=call_id,
        text=make_storable(text)[:MAX_TEXT],
        choices=choices,
        request=make_storable(context or {}),
    )


def _unreadable(dialect: Dialect, call_id: str) -> RemoteQuestion:
    text = _("The agent needs a person, but its question cannot be read. No answer can be sent.")
    return RemoteQuestion(dialect=dialect, call_id=call_id, text=text, readable=False)


def _value(arguments: object) -> Any:
    """Parse arguments: JSON as a text, or from some servers the value itself. None if invalid."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json_input.read_json(arguments)
    except ValueError:
        return None


def _text(data: object) -> str:
    """Return the text of a question, whatever its shape."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        named = (data.get(name) for name in _TEXT_NAMES)
        text = next((text for text in named if isinstance(text, str) and not is_blank(text)), None)
        if text is not None:
            return text
    return json.dumps(data, ensure_ascii=False, default=str) if data else ""


def _choices(options: object) -> list[RemoteOption]:
    """Return the options if a person can tell them apart; else none, and the answer is a text."""
    if not isinstance(options, list) or not 0 < len(options) <= MAX_OPTIONS:
        return []
    choices = [_choice(option) for option in options]
    labels = [choice.label for choice in choices if choice]
    plain = all(
        not is_blank(label) and is_storable(label) and len(label) <= MAX_LABEL for label in labels
    )
    if not plain or len(labels) < len(options) or len(set(labels)) < len(labels):
        return []
    return [choice for choice in choices if choice]


def _choice(option: object) -> RemoteOption | None:
    if isinstance(option, str):
        return RemoteOption(label=option, value=option)
    if isinstance(option, dict):
        label = next(
            (option[n] for n in ("label", "title", "name", "id", "value") if n in option), None
        )
        value = next((option[n] for n in ("value", "id", "label") if n in option), label)
        return RemoteOption(label=label, value=value) if isinstance(label, str) else None
    if isinstance(option, int | float):
        return RemoteOption(label=json.dumps(option), value=option)
    return None


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return value if len(text) <= MAX_CONTEXT else f"{text[:MAX_CONTEXT]} …"
