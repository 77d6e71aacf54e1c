# ruff: noqa: INP001 - the agents are programs of their own, this is what they share
"""What the demo's agents share: they hear their capsule and speak markers at a human pace.

Standard library only: these are programs as anyone could write them, run by their file name, so
this module is found beside them (a type checker looks elsewhere). DEMO_PACE scales every pause; 0
makes them as fast as they can be.
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
    """What the owner decided about one question: an option's id and label, or words, or both."""

    asked: str = ""
    option: str = ""
    answer: str = ""
    words: str = ""

    @property
    def said(self) -> str:
        return self.answer or self.words


@dataclass
class Capsule:
    mission: str = ""
    decisions: list[Decision] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def decision_on(self, question: str) -> Decision | None:
        """The decision about the question that starts so."""
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
    """Write a line after a pause of so many seconds at normal pace."""
    pause(after)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def pause(seconds: float) -> None:
    time.sleep(seconds * float(os.environ.get("DEMO_PACE") or 1))


def _sections(capsule: str) -> dict[str, str]:
    parts = _HEADING.split(capsule)
    return {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _blocks(section: str) -> list[str]:
    """What the data blocks hold, without their quote marks."""
    return [re.sub(r"^> ?", "", block, flags=re.MULTILINE) for _, block in _BLOCK.findall(section)]


def _decisions(block: str) -> list[Decision]:
    decisions: list[Decision] = []
    for line in block.split("\n"):
        if line.startswith("- decision"):
            decisions.append(Decision())
        elif decisions and (found := _FIELD.match(line)):
            setattr(decisions[-1], found[1], str(json.loads(found[2])))
    return decisions
