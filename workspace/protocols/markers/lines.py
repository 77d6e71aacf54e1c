"""Text that comes in pieces, as whole lines."""

from __future__ import annotations

from agents.text.storable import make_storable

MAX_LINE = 65_536
"""Characters kept of one line. A longer one is cut; what follows up to its end is dropped."""


def drop_nul(text: str) -> str:
    """Make text storable. NULs are dropped: command-line programs print them as separators."""
    return make_storable(text.replace("\0", ""))


class LineFeed:
    """Cuts a stream of text at its newlines (LF or CRLF), however the pieces were cut."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._parts: list[str] = []
        self._length = 0

    def feed(self, chunk: str) -> list[str]:
        """The lines that this piece completes, without their ends."""
        *ends, rest = chunk.split("\n")
        lines = [self._complete(end) for end in ends]
        self._keep(rest)
        return lines

    def rest(self) -> list[str]:
        """The last line, if the stream ended without a newline."""
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
