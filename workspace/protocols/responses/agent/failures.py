"""Word a failure twice: in full for the owner, and in words alone for the caller.

The first line of a run's error is for everybody. What a program wrote is on the lines after it, for the
owner: a traceback names paths and code of the server. A caller gets it only if it is one line of words.
"""

from __future__ import annotations

import re

FAILED = "The run failed."
LONGEST = 600
_PATH = re.compile(r"(?:[A-Za-z]:)?[\\/][^\s\"'“”:;,)]+|\S+[\\/]\S+")


def with_detail(sentence: str, detail: str) -> str:
    """Return the error of a run: a sentence for everybody, then the detail for the owner."""
    return f"{sentence}\n{detail.strip()}".strip()


def words_for_caller(error: str) -> str:
    """Return what a caller may read of a run's error. It names no path."""
    sentence, *detail = error.strip().splitlines() or [FAILED]
    if len(detail) == 1 and not _PATH.search(detail[0]):
        sentence = f"{sentence} {detail[0]}"
    return _PATH.sub("…", sentence)[:LONGEST].strip()
