"""What the tests of the grammar share: read a text whole, or cut into pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from agents.running.runtime import Ignored, Noticed, Reported
from workspace.protocols.markers.reader import Landed, Reader, Reading


def pieces(text: str, cuts: Iterable[int]) -> list[str]:
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(text)}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(places)]


def read_pieces(chunks: Iterable[str]) -> tuple[list[Landed], Reading]:
    """All that landed, in order, and the final reading."""
    reader = Reader()
    landed = [one for chunk in chunks for one in reader.feed(chunk)]
    reading = reader.finish()
    return [*landed, *reading.landed], reading


def read(text: str) -> tuple[list[Landed], Reading]:
    return read_pieces([text])


def reports(landed: Iterable[Landed]) -> list[str]:
    return [one.text for one in landed if isinstance(one, Reported)]


def notices(landed: Iterable[Landed]) -> list[str]:
    return [one.text for one in landed if isinstance(one, Noticed)]


def ignored(landed: Iterable[Landed]) -> dict[str, str]:
    return {one.line: one.why for one in landed if isinstance(one, Ignored)}


def prompts(reading: Reading) -> list[str]:
    return [ask.prompt for ask in reading.asks]


def labels(reading: Reading) -> list[list[str]]:
    return [[option.label for option in ask.options] for ask in reading.asks]
