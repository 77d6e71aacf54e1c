"""Which lines stand inside a code fence.

A fence is closed by a run of its own character that is at least as long, as in CommonMark. Unlike
there, one that is never closed is no fence at all: an agent that forgets to close its example must
not lose what it says afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"\s*(?P<item>(?:[-*+]|\d{1,3}[.)])\s+)?(?P<run>`{3,}|~{3,})(?P<info>[^\r\n]*)\Z"
)


@dataclass(frozen=True)
class Placed:
    """A line, and whether it belongs to a fence (the fence's own two lines do)."""

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
    """Places lines as they come. From an opening fence on they wait until it is closed."""

    def __init__(self) -> None:
        self._opening: _OpenFence | None = None
        self._held: list[str] = []

    def feed(self, line: str) -> list[Placed]:
        """The lines that can be placed now."""
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
        """The lines that still wait: their first fence was never closed, later ones may be."""
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
    found = _FENCE.match(line)
    if not found or (found["run"][0] == "`" and "`" in found["info"]):
        return None
    may_close = not found["item"] and not found["info"].strip()
    return _OpenFence(found["run"][0], len(found["run"]), may_close)


def _longest_closing_after(fences: list[_OpenFence | None]) -> list[dict[str, int]]:
    """For each line, how long the longest closing run of each character after it is. Linear."""
    longest: dict[str, int] = {}
    after: list[dict[str, int]] = []
    for fence in reversed(fences):
        after.append(longest)
        if fence and fence.may_close and fence.length > longest.get(fence.char, 0):
            longest = {**longest, fence.char: fence.length}
    return after[::-1]
