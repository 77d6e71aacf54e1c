"""The ways in which agents over the Responses protocol say that a person is needed, and are answered.

seed       function_call named request_info; the question is in arguments.request_event
native     the same name; arguments are {request_id, request}
adapter    function_call named __hosted_agent_adapter_hitl__; arguments are the interrupt's value
approval   mcp_approval_request; its name and arguments are the action
devui      an event response.request_info.requested beside the items
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

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
UNREADABLE = "The agent needs a person, and what it asks cannot be read. Nothing can be sent back."


class RemoteOption(BaseModel):
    """An offered answer: what is shown, and what goes back."""

    label: str
    value: Any


class RemoteQuestion(BaseModel):
    """A question of a remote agent, as it is remembered until it is answered.

    ``response`` is the response that asked, ``place`` its place among its questions, ``times`` how
    often something was asked by its call_id. A question that is not ``readable`` is shown and can
    only be closed. ``params`` are those of an approval.
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
        """What the ask is known by here: the call_id, or a digest of one that cannot be kept."""
        again = f"#{self.times}" if self.times > 1 else ""
        if 0 < len(self.call_id) <= MAX_KEY and is_storable(self.call_id):
            return self.call_id + again
        return f"call-{_digest(self.call_id)}{again}"

    @property
    def mark(self) -> str:
        """The same for the same words under the same call_id, and for nothing else."""
        offered = [choice.label for choice in self.choices]
        return _digest(
            json.dumps([self.call_id, self.text, offered, self.operation, self.params], default=str)
        )

    def draft(self) -> AskDraft:
        """The question as it is asked here."""
        if self.dialect == "approval" and self.readable:
            return self._approval()
        options = tuple(
            OptionDraft(f"option-{place}", choice.label)
            for place, choice in enumerate(self.choices, start=1)
        )
        if not self.readable:
            options = (OptionDraft(CLOSE, "Close it", "Nothing is sent to the agent."),)
        shown = {str(name)[:100]: _short(value) for name, value in list(self.request.items())[:20]}
        context = {"request": shown} if shown else {}
        return AskDraft(request_key=self.key, prompt=self.text, options=options, context=context)

    def _approval(self) -> AskDraft:
        return AskDraft(
            request_key=self.key,
            prompt=self.text,
            kind=AskKind.APPROVAL,
            options=(
                OptionDraft(APPROVE, "Approve", style=Style.PRIMARY, meaning=Meaning.APPROVE),
                OptionDraft(DENY, "Deny", meaning=Meaning.DENY),
            ),
            free_text=False,
            action=ActionDraft(self.operation, self.params, schema=False),
        )

    def chosen(self, option: str, text: str) -> Any:
        """What a verdict says: the value of the option of that key, or the words."""
        place = option.removeprefix("option-")
        if option and place.isdigit() and 0 < int(place) <= len(self.choices):
            return self.choices[int(place) - 1].value
        return text

    def answer(self, option: str, text: str) -> Json | str:
        """The input item that answers it; of devui the whole input, a text."""
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
    """The question that an output item is; None for any other item."""
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
    """The question that an event beside the items is."""
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
        text=f"May it run {name[:200]}?",
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
    return RemoteQuestion(dialect=dialect, call_id=call_id, text=UNREADABLE, readable=False)


def _value(arguments: object) -> Any:
    """Arguments are JSON as a text; some servers send the object itself. None when unreadable."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json_input.read_json(arguments)
    except ValueError:
        return None


def _text(data: object) -> str:
    """The words of whatever is asked."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        named = (data.get(name) for name in _TEXT_NAMES)
        found = next((text for text in named if isinstance(text, str) and not is_blank(text)), None)
        if found is not None:
            return found
    return json.dumps(data, ensure_ascii=False, default=str) if data else ""


def _choices(options: object) -> list[RemoteOption]:
    """What is offered, if a person can tell the offers apart; else none, and words are taken."""
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
