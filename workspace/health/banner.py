"""The banner that tells every page what is wrong. It changes on open pages without moving anything.

A banner that comes with the page takes its place in the page and keeps it, whatever happens later.
One that comes later lies over the page.
"""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from workspace.health.look import Health
from workspace.health.words import what_is_wrong
from workspace.text.markdown import assembled


def banner_of_page(health: Health) -> SafeString:
    """Render the banner of a page that is loaded now."""
    wrong = what_is_wrong(health)
    return _render(wrong, first=_name(wrong))


def banner_html(health: Health, *, shown: str, first: str) -> str:
    """Render the banner of an open page; empty if it shows what is wrong already.

    ``shown`` names what the page shows, ``first`` what it showed when it was loaded.
    """
    wrong = what_is_wrong(health)
    return "" if _name(wrong) == shown else _render(wrong, first=first, later=True)


def _render(wrong: dict[str, str], *, first: str, later: bool = False) -> SafeString:
    words = list(wrong.values())
    over = later and bool(first) and not wrong
    context = {
        "words": [_("This is over: everything works again.")] if over else words,
        "name": _name(wrong),
        "first": first,
        "over": over,
    }
    return assembled(render_to_string("parts/health.html", context))


def _name(wrong: dict[str, str]) -> str:
    return ".".join(wrong)
