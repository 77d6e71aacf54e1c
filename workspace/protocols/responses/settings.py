"""Settings of a hybrid agent, checked when the agent is saved."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import regex
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agents.running.process_groups import MARK_VARIABLE

MEGABYTE = 1024 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

HITL_NOTE = (
    "When a decision genuinely needs a person, and only then: write hitl_request.json into your run "
    'directory as {"request_id": a short name, "question": one sentence, "options": a list if the '
    "answer is a choice}, save your intermediate work there too, and stop. The answer arrives at the "
    "start of the next turn. What is small and essential for that turn may go along as "
    '"essentials": {…}. Never ask a question that your own rules can answer.'
)


def _words(words: list[str]) -> list[str]:
    if any("\0" in word for word in words):
        raise ValueError("an argument contains a NUL character")
    return words


def _command(words: list[str]) -> list[str]:
    if not words or not words[0].strip():
        raise ValueError("say which command to run, as a list: the program, then its arguments")
    return _words(words)


def _environment(values: dict[str, str]) -> dict[str, str]:
    _names(list(values))
    for name, value in values.items():
        if "\0" in value:
            raise ValueError(f"the value of {name} contains a NUL character")
    return values


def _names(names: list[str]) -> list[str]:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"“{name}” is not the name of an environment variable")
        if name == MARK_VARIABLE:
            raise ValueError(f"{MARK_VARIABLE} is set for every command and not yours to choose")
    return names


def _patterns(patterns: list[str]) -> list[str]:
    for pattern in patterns:
        try:
            regex.compile(pattern)
        except regex.error as error:
            raise ValueError(f"“{pattern}” is not a regular expression: {error}") from error
    return patterns


def _template(text: str) -> str:
    missing = [name for name in ("{request}", "{answers_clause}") if name not in text]
    if text and missing:
        raise ValueError(f"the prompt must contain {' and '.join(missing)}")
    return text


class ResponsesSettings(BaseModel):
    """A brain: a local command that works unattended in a run directory.

    It reads its prompt on standard input, and writes ``hitl_request.json`` into the directory if a
    person must decide.
    """

    model_config = ConfigDict(extra="forbid")

    command: Annotated[list[str], AfterValidator(_command), Field(max_length=200)] = Field(
        description="The brain: a program and its arguments. No shell takes part."
    )
    env: Annotated[dict[str, str], AfterValidator(_environment)] = Field(
        default_factory=dict, description="Environment variables to set."
    )
    env_allow: Annotated[list[str], AfterValidator(_names)] = Field(
        default_factory=list,
        description="Names of the worker's environment variables to pass on, such as HOME.",
    )
    hitl: bool = Field(
        default=False,
        description="Whether it may ask. A question of an agent that may not is a failed run.",
    )
    hitl_note: str = Field(
        default=HITL_NOTE, description="What the brain is told about asking, when it may."
    )
    hitl_questions: Annotated[list[str], AfterValidator(_patterns)] = Field(
        default_factory=list,
        description="Regular expressions of the questions it may ask; each must match in full.",
    )
    confidential: bool = Field(
        default=False,
        description="Replace every question that hitl_questions does not foresee by a fixed prompt.",
    )
    mandatory_gate: bool = Field(
        default=False,
        description="A first turn that asks nothing is a failed run: nobody approved.",
    )
    published_file: str = Field(
        default="published.json",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$",
        description="The file by which the brain tells that it published something.",
    )
    postprocess: Annotated[list[str], AfterValidator(_words)] = Field(
        default_factory=list,
        description="A command run after each turn in the run directory; when it fails, so does the "
        "turn. It reads {first_turn, hitl_paused, published, request} as JSON.",
    )
    max_usd_per_run: float | None = Field(
        default=None,
        gt=0,
        description="The most one turn may cost; a chain of turns may cost it for each of them.",
    )
    max_turns: int = Field(
        default=20, ge=1, le=1000, description="The most turns of one chain of questions."
    )
    max_attempts: int = Field(
        default=4, ge=1, le=50, description="After so many failures in a row it is given up."
    )
    idle_timeout_seconds: float = Field(
        default=30 * 86_400,
        gt=0,
        description="After so long without an answer the run directory is emptied.",
    )
    wall_clock_seconds: float = Field(
        default=1800, gt=0, le=86_400, description="The longest a turn may take."
    )
    output_limit_bytes: int = Field(
        default=16 * MEGABYTE,
        ge=1024,
        le=512 * MEGABYTE,
        description="The most that a turn may write to standard output and error.",
    )
    default_request: dict[str, Any] = Field(
        default_factory=dict,
        description="What it is asked to do when its schedule or a person starts it.",
    )
    prompt: Annotated[str, AfterValidator(_template)] = Field(
        default="",
        description="The brain's prompt, with {contract}, {mission}, {notes}, {conversation}, "
        "{request} and {answers_clause} in it. Empty: the usual one.",
    )
    steps: Literal["calls", "reasoning", "commentary"] = Field(
        default="calls",
        description="How callers are told of steps: as function calls, as summaries of reasoning, or "
        "as messages. A caller with tools of its own is never told of them as function calls, unless "
        "it asks for that.",
    )
    request_may_tighten: bool = Field(
        default=False,
        description="Whether a request may switch on confidential or mandatory_gate for its run.",
    )
    simulate_suspension: bool = Field(
        default=False,
        description='For tests: metadata {"suspended": "true"} empties the run directory.',
    )

    def tightened(self, request: dict[str, Any] | None) -> ResponsesSettings:
        """Return the settings for one run. A request can only tighten them."""
        if not self.request_may_tighten or not request:
            return self
        tighter = {
            name: getattr(self, name) or request.get(name) is True
            for name in ("confidential", "mandatory_gate")
        }
        return self.model_copy(update=tighter)
