"""What of a question may leave an agent that works on confidential matters.

A question leaves as it is only if it fully matches one of the questions that its owner has foreseen,
and none of its options is long, an address or a path. Anything else is replaced by a fixed prompt:
with it go its options, its id and what the run was asked to do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from workspace.protocols.responses.agent.question_file import FileQuestion

FIXED_PROMPT = "The agent needs a decision that it may not put into words here. What should it do?"
LONGEST_OPTION = 40
#: Seconds for one pattern. Some take for ever on some texts; what cannot be told does not leave.
PATIENCE = 0.5

#: Addresses and paths. Replacing what only looks like one ("and/or") is the safe side.
_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://"  # any scheme
    r"|\bwww\."
    r"|(?:^|[\s\"'(=])(?:/|~/|\.{1,2}/|[A-Za-z]:[\\/]|\\\\)"  # absolute, home, relative, drive, share
    r"|\w[/\\]\w",
    re.IGNORECASE,
)


def shown(question: FileQuestion, foreseen: Sequence[str]) -> FileQuestion:
    """The question itself, or the fixed prompt in its place. ``foreseen`` are regular expressions.

    Essentials never leave; the host keeps them for the next turn.
    """
    if _may_leave(question, foreseen):
        return question
    return FileQuestion(FIXED_PROMPT, essentials=question.essentials)


def _may_leave(question: FileQuestion, foreseen: Sequence[str]) -> bool:
    return any(_matches(pattern, question.text) for pattern in foreseen) and not any(
        len(option) > LONGEST_OPTION or names_a_place(option) for option in question.options
    )


def _matches(pattern: str, text: str) -> bool:
    try:
        return regex.fullmatch(pattern, text, timeout=PATIENCE) is not None
    except TimeoutError:
        return False


def names_a_place(text: str) -> bool:
    """Whether a text holds an address or a path, or what looks like one."""
    return _ADDRESS.search(text) is not None
