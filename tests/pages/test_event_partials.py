"""Each kind of event has a partial that draws it, and every partial is in use."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings

from agents.events import log
from agents.models import Event
from workspace.templatetags.words import EVENT_PARTIALS, UNKNOWN_KIND, event_partial

FOLDER = Path(settings.BASE_DIR) / "templates" / "events"


def documented_kinds() -> set[str]:
    """The kinds that the docstring of `agents.events.log` lists."""
    listed = r"^Kinds of [\w ]+: (.+)\.$|The session itself: (\w+)\."
    lines = re.findall(listed, str(log.__doc__), re.MULTILINE)
    assert len(lines) == 4, "the docstring lists the kinds"
    return {name for line in lines for name in re.split(r", ", line[0] or line[1])}


def test_every_documented_kind_has_a_partial() -> None:
    assert documented_kinds() == EVENT_PARTIALS.keys()


def test_every_partial_exists_and_is_used() -> None:
    used = {f"_{name}.html" for name in (*EVENT_PARTIALS.values(), UNKNOWN_KIND)}
    assert used == {path.name for path in FOLDER.glob("_*.html")}


def test_an_unknown_kind_falls_back_to_its_text() -> None:
    assert event_partial(Event(kind="of_tomorrow")) == "events/_plain.html"
