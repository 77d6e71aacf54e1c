"""Split streamed text into whole lines."""

from __future__ import annotations

from agents.text.storable import make_storable

MAX_LINE = 65_536
"""Most characters of one line. A longer line is truncated."""


def drop_nul(text: str) -> str:
    """Make text storable. NULs are dropped: command-line programs print them as separators."""
    return make_storable(text.replace("\0", ""))


class LineFeed:
    """Split a stream of text at newlines (LF or CRLF), independent of chunk boundaries."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._parts: list[str] = []
        self._length = 0

    def feed(self, chunk: str) -> list[str]:
        """Add a chunk. Return the lines that it completes, without their line endings."""
        *ends, rest = chunk.split("\n")
        lines = [self._complete(end) for end in ends]
        self._keep(rest)
        return lines

    def rest(self) -> list[str]:
        """Return the last line if the stream ended without a newline, else an empty list."""
        return [self._complete("")] if self._parts else []

    def _keep(self, part: str) -> None:
        part = drop_nul(part)[: self._max - self._length]
        if part:
            self._parts.append(part)
            self._length += len(part)

    def _complete(self, end: str) -> str:
        self._keep(end)
        line = "".join(self._parts).removesuffix("\r")
        self._parts, self._length = [], 0
        return line
