"""The demo's billing agent: it finds duplicate charges and asks before it refunds one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from workspace.toolkit import AgentDefinition, always, tool

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.models.function import AgentInfo

TWICE: tuple[dict[str, Any], ...] = (
    {"charge": "ch_8FQ2", "customer": "Brandt & Söhne", "amount": 48.0, "paid": "2 and 3 October"},
    {"charge": "ch_8G71", "customer": "Atelier Noor", "amount": 129.9, "paid": "9 October, twice"},
    {"charge": "ch_8GZ4", "customer": "Kestrel Ltd", "amount": 1240.0, "paid": "14 October, twice"},
)
REASONS = [
    {"id": "duplicate", "label": "Duplicate charge"},
    {"id": "goodwill", "label": "Goodwill"},
]


@tool
def charges_made_twice() -> list[dict[str, Any]]:
    """Return this month's charges that a customer paid twice."""
    return list(TWICE)


@tool(needs_approval=always())
def refund(charge: str, amount: float, currency: Literal["EUR", "GBP"] = "EUR") -> dict[str, Any]:
    """Refund a charge to the customer."""
    return {"refunded": charge, "amount": amount, "currency": currency}


def scripted() -> Model:
    """Return a scripted model that needs no network."""
    from pydantic_ai.models.function import FunctionModel

    return FunctionModel(_think, model_name="scripted")


def _think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Look for charges, then propose a refund and ask for its reason, then report the result."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

    del info
    returned = _returned(messages)
    if "charges_made_twice" not in returned:
        return ModelResponse(parts=[ToolCallPart("charges_made_twice", {})])
    if "refund" not in returned:
        charge = TWICE[_refunds_before(messages) % len(TWICE)]
        given = {"charge": charge["charge"], "amount": charge["amount"]}
        prompt = (
            f"What goes on the credit note for {charge['customer']}? They paid on {charge['paid']}."
        )
        ask = {"prompt": prompt, "options": REASONS, "allowFreeform": True}
        return ModelResponse(
            parts=[ToolCallPart("refund", given), ToolCallPart("ask_question", ask)]
        )
    return ModelResponse(
        parts=[TextPart(_report(returned["refund"], returned.get("ask_question")))]
    )


def _report(refunded: object, answer: object) -> str:
    if not isinstance(refunded, dict):
        return f"Nothing was refunded. {refunded}"
    reason = answer.get("text") or answer.get("optionId") if isinstance(answer, dict) else None
    text = f"Refunded {refunded['amount']:.2f} {refunded['currency']} for {refunded['refunded']}"
    return f"{text}, with “{reason}” on the credit note." if reason else f"{text}."


def _returned(messages: Sequence[ModelMessage]) -> dict[str, Any]:
    """Return each tool's result since the last prompt."""
    results: dict[str, Any] = {}
    for message in messages:
        parts = message.parts
        if any(part.part_kind == "user-prompt" for part in parts):
            results = {}
        results |= {
            part.tool_name: part.content for part in parts if part.part_kind == "tool-return"
        }
    return results


def _refunds_before(messages: Sequence[ModelMessage]) -> int:
    return sum(
        part.part_kind == "tool-call" and part.tool_name == "refund"
        for message in messages
        for part in message.parts
    )


billing = AgentDefinition(
    instructions="Find charges that customers paid twice. Never refund one without approval.",
    tools=[charges_made_twice, refund],
    model=scripted,
    description="Refunds duplicate charges",
)
