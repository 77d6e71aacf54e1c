# ruff: noqa: INP001 - the agents are separate programs that import this module
"""Shared by the demo's agents: read the capsule, and write markers at a human pace.

The agents use only the standard library, like any program a user might write. They are run by file
name, so they import this module from their own folder, where a type checker does not look.
DEMO_PACE scales every pause; 0 removes all pauses.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from dataclasses import dataclass, field

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^<<<DATA (\w+)\n(.*?)\nDATA \1>>>$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^  (asked|option|answer|words): (.*)$")


@dataclass
class Decision:
    """The owner's answer to one question: an option's id and label, or free text, or both."""

    asked: str = ""
    option: str = ""
    answer: str = ""
    words: str = ""

    @property
    def reply(self) -> str:
        return self.answer or self.words


@dataclass
class Capsule:
    mission: str = ""
    decisions: list[Decision] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def decision_on(self, question: str) -> Decision | None:
        """Return the decision about the question that starts with this text, or None."""
        return next((one for one in self.decisions if one.asked.startswith(question)), None)


def hear() -> Capsule:
    """Read the capsule from standard input."""
    sections = _sections(sys.stdin.read())
    decided = "\n".join(_blocks(sections.get("Decisions the owner made for you", "")))
    return Capsule(
        mission=sections.get("Mission", ""),
        decisions=_decisions(decided),
        messages=_blocks(sections.get("New messages for you", "")),
    )


def say(line: str, after: float = 0.6) -> None:
    """Write a line after a pause of ``after`` seconds, scaled by DEMO_PACE."""
    pause(after)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def pause(seconds: float) -> None:
    time.sleep(seconds * float(os.environ.get("DEMO_PACE") or 1))


def _sections(capsule: str) -> dict[str, str]:
    parts = _HEADING.split(capsule)
    return {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _blocks(section: str) -> list[str]:
    """Return the contents of the data blocks, without their quote marks."""
    return [re.sub(r"^> ?", "", block, flags=re.MULTILINE) for _, block in _BLOCK.findall(section)]


def _decisions(block: str) -> list[Decision]:
    decisions: list[Decision] = []
    for line in block.split("\n"):
        if line.startswith("- decision"):
            decisions.append(Decision())
        elif decisions and (field_line := _FIELD.match(line)):
            setattr(decisions[-1], field_line[1], str(json.loads(field_line[2])))
    return decisions
