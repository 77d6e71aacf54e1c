"""Match a follow-up text to an open request: by id, then label, then index, then as free text.

A text that could answer several requests answers none of them. An approval is bound to an action, so
only the complete id or label of its option answers it, and only while no other request is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workspace.protocols.eve.server.log_events import APPROVAL, Json, LoggedRequest


class Ambiguous(ValueError):
    """The text could answer more than one request. The message is a sentence."""


@dataclass(frozen=True)
class MatchedOption:
    """The request that a text answers, by an option or by the text itself."""

    request: LoggedRequest
    option: str = ""
    text: str = ""


def match_text(text: str, requests: Sequence[LoggedRequest]) -> MatchedOption | None:
    """Return the request that a text answers, or None. Raises Ambiguous."""
    words = text.strip()
    chosen = [(one, key) for one in requests if (key := _option(words, one)) is not None]
    if len(chosen) == 1:
        request, option = chosen[0]
        if request.kind == APPROVAL and len(requests) > 1:
            raise Ambiguous("More than one request is open: answer an approval by its requestId.")
        return MatchedOption(request, option)
    if chosen:
        raise Ambiguous("This could answer more than one request: answer by requestId.")
    free = [one for one in requests if one.wire.get("allowFreeform") is True]
    if len(free) > 1:
        raise Ambiguous("More than one question takes words: answer by requestId.")
    return MatchedOption(free[0], text=text) if free else None


def _option(words: str, request: LoggedRequest) -> str | None:
    options: list[Json] = request.wire.get("options") or []
    for name in ("id", "label"):
        if found := _named(words, name, options):
            return found
    if request.kind == APPROVAL or not (words.isascii() and words.isdigit() and len(words) < 4):
        return None
    place = int(words) - 1
    return str(options[place]["id"]) if 0 <= place < len(options) else None


def _named(words: str, name: str, options: Sequence[Json]) -> str | None:
    """Return the option with that id or label. Case is ignored unless it decides between two."""
    wanted = words.casefold()
    same = [one for one in options if str(one[name]).strip().casefold() == wanted]
    exact = [one for one in same if str(one[name]).strip() == words]
    if len(same) > 1 and len(exact) != 1:
        raise Ambiguous("Two options have this name: answer by optionId.")
    same = exact or same
    return str(same[0]["id"]) if same else None
