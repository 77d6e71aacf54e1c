"""Read server-sent events from chunks of bytes, with a limit on the size of an event."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

#: The limit of an event's data, and of an unfinished line, in characters.
LARGEST = 8 * 1024 * 1024
_END = re.compile(r"\r\n|\n|\r")


class TooLarge(Exception):
    """An event exceeds the limit."""


@dataclass(frozen=True)
class ServerSentEvent:
    """An event. ``kind`` is empty if the server named none."""

    kind: str
    data: str


class EventReader:
    """Parse chunks of bytes into complete events. Comments and unknown fields are dropped."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._rest = ""
        self._kind = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this chunk completes. Raises TooLarge."""
        # A carriage return at the end may be half of a line end.
        text = self._rest + self._decode(piece)
        held = text.endswith("\r")
        *lines, rest = _END.split(text[:-1] if held else text)
        self._rest = rest + ("\r" if held else "")
        if self._size + len(self._rest) > LARGEST:
            raise TooLarge
        return [sent for line in lines if (sent := self._line(line)) is not None]

    def _line(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._event()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._size += len(value)
            if self._size > LARGEST:
                raise TooLarge
            self._data.append(value)
        return None

    def _event(self) -> ServerSentEvent | None:
        kind, data = self._kind, self._data
        self._kind, self._data, self._size = "", [], 0
        return ServerSentEvent(kind, "\n".join(data)) if data else None
