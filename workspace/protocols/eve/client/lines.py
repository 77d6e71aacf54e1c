"""Lines of JSON out of bytes that come in pieces."""

from __future__ import annotations

from typing import Any

from agents.text import json_input

#: Bytes of one line. No event that a person could look at is longer.
LARGEST = 4 * 1024 * 1024


class BadLine(Exception):
    """A line that is no JSON object, or too long to be kept, with which of it."""


class LineReader:
    """Feed it bytes, get whole objects. Blank lines are heartbeats; the last half line is dropped."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """The objects that this piece completes. Raises BadLine."""
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._begun, lines[0]])
            self._begun, self._size = [], 0
        self._begun.append(rest)
        self._size += len(rest)
        if max(self._size, *(len(line) for line in lines), 0) > LARGEST:
            raise BadLine("One line of the stream is longer than anything that is read here.")
        return [_object(line) for line in lines if line.strip()]


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json_input.read_json(line)
    except ValueError as error:
        raise BadLine("The stream holds a line that is no JSON.") from error
    if not isinstance(found, dict):
        raise BadLine("The stream holds a line that is no JSON object.")
    return found
