"""The settings of an agent with the runtime ``markers``, validated when the agent is saved."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agents.running.process_groups import MARK_VARIABLE

MEGABYTE = 1024 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _command(argv: list[str]) -> list[str]:
    if not argv or not argv[0].strip():
        raise ValueError("give the command to run as a list: the program, then its arguments")
    if any("\0" in argument for argument in argv):
        raise ValueError("an argument contains a NUL character")
    return argv


def _folder(path: str | None) -> str | None:
    if path and (not path.startswith("/") or "\0" in path):
        raise ValueError("give the absolute path of the working folder, starting with /")
    return path or None


def _names(names: list[str]) -> list[str]:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"“{name}” is not the name of an environment variable")
        if name == MARK_VARIABLE:
            raise ValueError(f"{MARK_VARIABLE} is set for every command and cannot be changed")
    return names


def _environment(values: dict[str, str]) -> dict[str, str]:
    _names(list(values))
    for name, value in values.items():
        if "\0" in value:
            raise ValueError(f"the value of {name} contains a NUL character")
    return values


class MarkersSettings(BaseModel):
    """A local command. Its environment contains only what ``env`` and ``env_allow`` add."""

    model_config = ConfigDict(extra="forbid")

    command: Annotated[list[str], AfterValidator(_command), Field(max_length=200)] = Field(
        description="The program and its arguments. They are run without a shell."
    )
    cwd: Annotated[str | None, AfterValidator(_folder)] = Field(
        default=None,
        description="The working folder. If empty: a new folder, removed after the turn.",
    )
    env: Annotated[dict[str, str], AfterValidator(_environment)] = Field(
        default_factory=dict, description="Environment variables to set."
    )
    env_allow: Annotated[list[str], AfterValidator(_names)] = Field(
        default_factory=list,
        description="Names of the worker's environment variables to pass on, such as HOME.",
    )
    wall_clock_seconds: float = Field(
        default=1800, gt=0, le=86_400, description="Most seconds that a turn may take."
    )
    output_limit_bytes: int = Field(
        default=16 * MEGABYTE,
        ge=1024,
        le=512 * MEGABYTE,
        description="Most bytes that a turn may write to standard output and error.",
    )
    format: Literal["text", "acpx"] = Field(
        default="text",
        description="text: plain lines. acpx: the output of acpx --format json --json-strict.",
    )
