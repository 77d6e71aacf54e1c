"""Decide which lines are inside a code fence.

As in CommonMark, a fence is closed by a run of the same character that is at least as long. Unlike
CommonMark, a fence that is never closed does not count: an agent that forgets to close its example
must not lose the markers after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"\s*(?P<item>(?:[-*+]|\d{1,3}[.)])\s+)?(?P<run>`{3,}|~{3,})(?P<info>[^\r\n]*)\Z"
)


@dataclass(frozen=True)
class Placed:
    """A line, and whether it belongs to a fence (opening and closing lines included)."""

    line: str
    fenced: bool


@dataclass(frozen=True)
class _OpenFence:
    char: str
    length: int
    may_close: bool

    def closes(self, opening: _OpenFence) -> bool:
        return self.may_close and self.char == opening.char and self.length >= opening.length


class Fences:
    """Place lines as they arrive. After an opening fence, lines are held until it is closed."""

    def __init__(self) -> None:
        self._opening: _OpenFence | None = None
        self._held: list[str] = []

    def feed(self, line: str) -> list[Placed]:
        """Add a line. Return the lines that can be placed now."""
        fence = _fence(line)
        if self._opening is None:
            if fence is None:
                return [Placed(line, fenced=False)]
            self._opening = fence
        elif fence and fence.closes(self._opening):
            return [
                *(Placed(held, fenced=True) for held in self._release()),
                Placed(line, fenced=True),
            ]
        self._held.append(line)
        return []

    def finish(self) -> list[Placed]:
        """Return the held lines. Their first fence was never closed; later fences may be."""
        lines = self._release()
        fences = [_fence(line) for line in lines]
        longest = _longest_closing_after(fences)
        placed, opening = [], None
        for line, fence, after in zip(lines, fences, longest, strict=True):
            inside = opening is not None
            if fence and opening and fence.closes(opening):
                opening = None
            elif fence and not opening and after.get(fence.char, 0) >= fence.length:
                inside, opening = True, fence
            placed.append(Placed(line, inside))
        return placed

    def _release(self) -> list[str]:
        held, self._held, self._opening = self._held, [], None
        return held


def _fence(line: str) -> _OpenFence | None:
    match = _FENCE.match(line)
    if not match or (match["run"][0] == "`" and "`" in match["info"]):
        return None
    may_close = not match["item"] and not match["info"].strip()
    return _OpenFence(match["run"][0], len(match["run"]), may_close)


def _longest_closing_after(fences: list[_OpenFence | None]) -> list[dict[str, int]]:
    """Return, for each line, the longest closing run of each character after it. Takes linear time."""
    longest: dict[str, int] = {}
    after: list[dict[str, int]] = []
    for fence in reversed(fences):
        after.append(longest)
        if fence and fence.may_close and fence.length > longest.get(fence.char, 0):
            longest = {**longest, fence.char: fence.length}
    return after[::-1]
