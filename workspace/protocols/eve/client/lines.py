"""Parse newline-delimited JSON from chunks of bytes."""

from __future__ import annotations

from typing import Any

from agents.text import json_input

#: The largest line, in bytes.
LARGEST = 4 * 1024 * 1024


class BadLine(Exception):
    """A line that is not a JSON object, or too long. The message says which."""


class LineReader:
    """Parse chunks of bytes into objects. Blank lines are heartbeats."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """Return the objects that this chunk completes. Raises BadLine."""
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._begun, lines[0]])
            self._begun, self._size = [], 0
        self._begun.append(rest)
        self._size += len(rest)
        if max(self._size, *(len(line) for line in lines), 0) > LARGEST:
            raise BadLine("A line of the stream is too long.")
        return [_object(line) for line in lines if line.strip()]


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json_input.read_json(line)
    except ValueError as error:
        raise BadLine("The stream contains a line that is not JSON.") from error
    if not isinstance(found, dict):
        raise BadLine("The stream contains a line that is not a JSON object.")
    return found
