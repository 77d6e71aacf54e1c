"""Text that comes in pieces, as whole lines."""

from __future__ import annotations

import re

MAX_LINE = 65_536
"""Characters kept of one line. A longer one is cut; what follows up to its end is dropped."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """Without NULs and with halves of surrogate pairs replaced: a database stores neither."""
    return _UNSTORABLE.sub(lambda found: "" if found[0] == "\0" else "\ufffd", text)


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
        part = storable(part)[: self._max - self._length]
        if part:
            self._parts.append(part)
            self._length += len(part)

    def _complete(self, end: str) -> str:
        self._keep(end)
        line = "".join(self._parts).removesuffix("\r")
        self._parts, self._length = [], 0
        return line
