"""A function made a tool: what it takes, what is checked, and what cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from workspace.toolkit import BadInput, BadTool, Tool, ToolContext, tool

CONTEXT = ToolContext(agent="billing", session_id=1, call_id="c1", key="k1", approved_by="olga")


class Address(BaseModel):
    city: str
    lines: list[str] = []


@tool
def send(
    to: Address,
    amount: Annotated[float, Field(gt=0, alias="howMuch")],
    on: date | None = None,
    how: Literal["fast", "slow"] = "slow",
    *,
    context: ToolContext,
) -> Any:
    """Send something.

    By post.
    """
    return to, amount, on, how, context


def test_a_tool_is_named_and_described_by_its_function() -> None:
    assert (send.name, send.description) == ("send", "Send something.\n\nBy post.")
    named = tool(name="post", description="By post")(send.function)
    assert (named.name, named.description) == ("post", "By post")


def test_the_schema_names_what_the_model_gives_and_nothing_else() -> None:
    schema = send.schema
    assert list(schema["properties"]) == ["to", "howMuch", "on", "how"]
    assert schema["required"] == ["to", "howMuch"]
    assert schema["additionalProperties"] is False
    assert "context" not in str(schema)


def test_input_is_checked_and_every_default_filled_in() -> None:
    given = {"to": {"city": "Ghent"}, "howMuch": 3, "on": "2026-03-04"}
    assert send.checked(given) == {
        "to": {"city": "Ghent", "lines": []},
        "howMuch": 3.0,
        "on": "2026-03-04",
        "how": "slow",
    }
    assert send.checked(send.checked(given)) == send.checked(given)


def test_the_function_gets_values_of_its_types_and_the_context() -> None:
    arguments = send.arguments({"to": {"city": "Ghent"}, "howMuch": 3, "on": "2026-03-04"}, CONTEXT)
    assert arguments == {
        "to": Address(city="Ghent"),
        "amount": 3.0,
        "on": date(2026, 3, 4),
        "how": "slow",
        "context": CONTEXT,
    }


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"howMuch": 1}, "to: Field required"),
        ({"to": {}, "howMuch": 1}, "to.city: Field required"),
        ({"to": {"city": "x"}, "howMuch": "1"}, "howMuch: Input should be a valid number"),
        ({"to": {"city": "x"}, "howMuch": 0}, "howMuch: Input should be greater than 0"),
        ({"to": {"city": "x"}, "amount": 1}, "howMuch: Field required"),
        ({"to": {"city": "x"}, "howMuch": 1, "context": {}}, "context: Extra inputs"),
        ({"to": {"city": "x"}, "howMuch": 1, "how": "by air"}, "how: Input should be"),
        ([1], "input: Input should be an object"),
        ({"to": {1, 2}}, "not valid JSON"),
    ],
)
def test_what_does_not_fit_is_named_by_its_field(given: object, field: str) -> None:
    with pytest.raises(BadInput) as refused:
        send.checked(given)
    assert field in str(refused.value)


def test_what_was_sent_is_not_repeated_in_the_complaint() -> None:
    with pytest.raises(BadInput) as refused:
        send.checked({"to": {"city": 5}, "howMuch": "a secret"})
    assert "secret" not in str(refused.value)


def takes_anything(*things: int) -> None: ...


def takes_names(**names: int) -> None: ...


def untyped(x) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001  # noqa: ANN001


def unknown_type(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("function", [takes_anything, takes_names, untyped, unknown_type])
def test_a_function_without_named_typed_inputs_is_no_tool(function: Any) -> None:
    with pytest.raises(BadTool):
        tool(function)


@pytest.mark.parametrize("name", ["ask_question", "1st", "a b", "x" * 65, "a.b", "é"])
def test_names_that_a_tool_cannot_have(name: str) -> None:
    def nothing() -> None: ...

    with pytest.raises(BadTool):
        tool(name=name)(nothing)


class Opaque: ...


@pytest.mark.parametrize("kind", [Opaque, Callable[[], int]])
def test_a_type_that_has_no_json_is_no_tool(kind: Any) -> None:
    def nothing(x: Any) -> None: ...

    nothing.__annotations__["x"] = kind
    with pytest.raises(BadTool):
        tool(nothing)


def test_a_decorated_function_without_inputs() -> None:
    @tool()
    def ping() -> str:
        return "pong"

    assert isinstance(ping, Tool)
    assert ping.checked({}) == {}
    with pytest.raises(BadInput):
        ping.checked({"x": 1})
