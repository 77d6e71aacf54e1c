"""Tools: functions with typed inputs that a model may call.

Inputs are validated strictly against the function's annotations first, so an input of the wrong type
reaches neither a person nor the function.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, PydanticUserError, ValidationError, create_model

from asks.actions.schema import path_of
from asks.policies.wording import UNSAID, Wording
from workspace.toolkit.approval import Needs, never

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
#: Names that the runtime uses itself.
RESERVED = frozenset({"ask_question"})
Function = Callable[..., Any]
MOST_FLAWS = 20


class BadTool(TypeError):
    """A function that cannot be a tool. The message says why."""


class BadInput(ValueError):
    """Invalid input for a tool. The message is for the model."""


class ToolFailed(Exception):
    """Raised by a tool that had no effect. The message is for the model and the owner.

    After any other exception it is unknown whether an approved call took effect: the owner is asked.
    """


@dataclass(frozen=True)
class ToolContext:
    """Facts about a call, passed to the tool's parameter that is annotated with this class.

    ``call_id``: the model's id of the call, not necessarily unique. ``key``: a unique id that stays
    the same when an approved call is retried; use it as an idempotency key. ``approved_by``: the
    username of the person who approved the call, empty if it needed no approval.
    """

    agent: str
    session_id: int
    call_id: str
    key: str
    approved_by: str = ""

    @property
    def approved(self) -> bool:
        return bool(self.approved_by)


@dataclass(frozen=True)
class Tool:
    """A function that a model may call, its input, and when it needs approval.

    ``schema``: the JSON Schema (2020-12) of the input. ``seconds``: the time limit of a call.
    ``wording``: how the card of an approval describes a call.
    """

    name: str
    description: str
    function: Function
    inputs: type[BaseModel]
    schema: dict[str, Any]
    needs: Needs
    seconds: float | None = None
    context_name: str = ""
    wording: Wording = UNSAID

    def checked(self, given: object) -> dict[str, Any]:
        """Return valid input as JSON, with all defaults filled in. Raises BadInput naming the field."""
        return self._read(given).model_dump(mode="json", by_alias=True)

    def flaws(self, given: object) -> list[tuple[str, str]]:
        """Return what is wrong with an input: pairs of a path like ``to.address[0]`` and a reason."""
        try:
            self.inputs.model_validate_json(json.dumps(given))
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False, include_context=False)
            return [(path_of(flaw["loc"]), flaw["msg"]) for flaw in found[:MOST_FLAWS]]
        except (TypeError, ValueError, RecursionError) as error:
            return [("", f"It is not valid JSON: {error}")]
        return []

    def arguments(self, given: object, context: ToolContext) -> dict[str, Any]:
        """Return the keyword arguments for the function. Raises BadInput."""
        read = self._read(given)
        values = {name: getattr(read, name) for name in self.inputs.model_fields}
        return values | ({self.context_name: context} if self.context_name else {})

    def _read(self, given: object) -> BaseModel:
        try:
            return self.inputs.model_validate_json(json.dumps(given))
        except ValidationError as error:
            raise BadInput(_in_words(error)) from error
        except (TypeError, ValueError, RecursionError) as error:
            raise BadInput(f"It is not valid JSON: {error}") from error


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *,
    needs_approval: Needs | None = None,
    name: str = "",
    description: str = "",
    seconds: float | None = None,
    wording: Wording | None = None,
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    needs_approval: Needs | None = None,
    name: str = "",
    description: str = "",
    seconds: float | None = None,
    wording: Wording | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Make a function a tool. Raises BadTool if it cannot be one.

    ``needs_approval`` is ``never()``, ``once()``, ``always()`` or a predicate of a ``Proposal``.
    ``description`` defaults to the function's docstring. ``seconds`` limits the duration of a call.
    ``wording`` describes a call to the person who approves it, with names of inputs in braces.
    """

    def make(function: Function) -> Tool:
        called = name or function.__name__
        if not NAME.match(called) or called in RESERVED:
            raise BadTool(f"A tool cannot be named “{called}”.")
        hints, context = _hints(function, called)
        inputs, schema = _inputs(function, called, hints, context)
        said = wording or UNSAID
        if unknown := sorted(said.names() - set(schema.get("properties", {}))):
            raise BadTool(f"The wording of “{called}” names no input: {', '.join(unknown)}.")
        return Tool(
            name=called,
            description=description or inspect.getdoc(function) or "",
            function=function,
            inputs=inputs,
            schema=schema,
            needs=needs_approval or never(),
            seconds=seconds,
            context_name=context,
            wording=said,
        )

    return make if function is None else make(function)


def _hints(function: Function, name: str) -> tuple[dict[str, Any], str]:
    """Return the annotations and the name of the context parameter, or "" without one."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise BadTool(f"The annotations of “{name}” cannot be read: {error}") from error
    context = next((key for key, hint in hints.items() if hint is ToolContext), "")
    return hints, context


def _inputs(
    function: Function, name: str, hints: dict[str, Any], context: str
) -> tuple[type[BaseModel], dict[str, Any]]:
    """Return the model that validates the input, and the JSON Schema of the input."""
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == context:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadTool(
                f"“{name}” takes *{parameter.name}; every input of a tool must have a name."
            )
        if parameter.name not in hints:
            raise BadTool(f"“{name}” has no type annotation for {parameter.name}.")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())
    try:
        inputs = create_model(f"{name}_input", __config__=config, **fields)
        schema = inputs.model_json_schema(by_alias=True)
    except (PydanticUserError, NameError) as error:
        raise BadTool(f"The inputs of “{name}” cannot be validated: {error}") from error
    return inputs, {key: value for key, value in schema.items() if key != "title"}


def _in_words(error: ValidationError) -> str:
    """Return each flaw with its location, without repeating the input."""
    return "; ".join(
        f"{'.'.join(str(part) for part in flaw['loc']) or 'input'}: {flaw['msg']}"
        for flaw in error.errors(include_url=False, include_input=False)[:10]
    )
