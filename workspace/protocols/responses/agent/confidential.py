"""Decide whether a question of a confidential agent may be shown, or a fixed prompt in its place.

A question is shown only if its whole text matches one of the patterns in the agent's settings, and no
option is long or contains an address or a path. Otherwise a fixed prompt replaces it, without its
options and its id. The request of the run is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from workspace.protocols.responses.agent.question_file import FileQuestion

FIXED_PROMPT = "The agent needs a decision, but may not describe it here. What should it do?"
LONGEST_OPTION = 40
#: Timeout in seconds for one pattern, because some never finish. On a timeout nothing matches.
PATIENCE = 0.5

#: Addresses and paths. False positives such as "and/or" are accepted: they err on the safe side.
_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://"  # any scheme
    r"|\bwww\."
    r"|(?:^|[\s\"'(=])(?:/|~/|\.{1,2}/|[A-Za-z]:[\\/]|\\\\)"  # absolute, home, relative, drive, share
    r"|\w[/\\]\w",
    re.IGNORECASE,
)


def shown(question: FileQuestion, foreseen: Sequence[str]) -> FileQuestion:
    """Return the question, or the fixed prompt. ``foreseen`` are regular expressions.

    Essentials are never shown; the host keeps them for the next turn.
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
    """Return whether a text contains anything that looks like an address or a path."""
    return _ADDRESS.search(text) is not None
