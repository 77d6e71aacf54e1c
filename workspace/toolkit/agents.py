"""The definition of an agent, and how to import one by its name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace.toolkit.tools import BadTool, Tool

WHERE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*\Z")


class NoSuchAgent(LookupError):
    """No agent definition has that name. The message says why."""


@dataclass(frozen=True)
class AgentDefinition:
    """The instructions and tools of an agent. Every agent can also ask its owner questions.

    ``model`` is the default if the settings name none: a name, or a function that returns a
    pydantic-ai model. Raises BadTool if two tools have the same name.
    """

    instructions: str = ""
    tools: Sequence[Tool] = ()
    model: str | Callable[[], Any] = ""
    description: str = ""
    by_name: dict[str, Tool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named = {one.name: one for one in self.tools}
        if len(named) < len(self.tools):
            raise BadTool("Two tools have the same name.")
        object.__setattr__(self, "by_name", named)


def agent_named(where: str) -> AgentDefinition:
    """Return the definition at ``package.module:name``. Raises NoSuchAgent.

    This imports the module, so anyone who may set the name can run any installed code.
    """
    if not WHERE.match(where):
        raise NoSuchAgent(f"“{where}” does not name an agent; write package.module:name.")
    module, _, name = where.partition(":")
    try:
        definition = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise NoSuchAgent(
            f"{module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(definition, AgentDefinition):
        raise NoSuchAgent(f"{module} defines no agent named {name}.")
    return definition
