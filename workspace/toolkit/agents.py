"""An agent as its builder defines it, and how a definition is found by its name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace.toolkit.tools import BadTool, Tool

WHERE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*\Z")


class NoSuchAgent(LookupError):
    """There is no definition under that name, with why not."""


@dataclass(frozen=True)
class AgentDefinition:
    """What a model is told and which tools it has; it may ask its owner questions in any case.

    ``model`` is the one to use where the settings name none: a name, or a function that makes one of
    pydantic-ai's. Raises BadTool if two tools have one name.
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
    """The definition at ``package.module:name``. Raises NoSuchAgent.

    The module is imported, so whoever may name it may run what is installed here.
    """
    if not WHERE.match(where):
        raise NoSuchAgent(f"“{where}” does not name an agent; write package.module:name.")
    module, _, name = where.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise NoSuchAgent(
            f"{module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, AgentDefinition):
        raise NoSuchAgent(f"{module} holds no agent named {name}.")
    return found
