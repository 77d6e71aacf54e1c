"""The words that scripts show, as JSON in a meta element: a translator finds them here."""

from __future__ import annotations

import json

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()


@register.simple_tag
def script_words() -> SafeString:
    """Render the element that static/js/words.js reads."""
    words = {
        "problems": _problems(),
        "connection": _connection(),
        "queue": _queue(),
        "press": _press(),
        "typing": _typing(),
    }
    return format_html('<meta name="script-words" content="{}">', json.dumps(words))


def _problems() -> dict[str, str]:
    """Say why an answer was not sent, by HTTP status; 0 is a server that cannot be reached."""
    return {
        "0": _(
            "The server cannot be reached. Nothing is lost: your answer may or may not have arrived,"
            " and sending it again records it once."
        ),
        "400": _(
            "The server could not read that; most likely it is far too long. Nothing was recorded,"
            " and your text is still here."
        ),
        "401": _(
            "You are signed out, so nothing was recorded. Sign in in another tab, then send again."
        ),
        "403": _(
            "This page is too old to be trusted, so nothing was recorded. Reload it; what you typed"
            " is kept."
        ),
        "404": _("This is not yours, or it is gone. Nothing was recorded."),
        "413": _("That is too long to send. Nothing was recorded; shorten it and send again."),
        "429": _("Too many tries in a short time. Wait a moment and send again."),
        "500": _("The server failed, and nothing was recorded. What you typed is still here."),
        "reload": _("Reload this page"),
    }


def _connection() -> dict[str, str]:
    return {
        "live": _("Live"),
        "connecting": _("Connecting"),
        "waiting": _("Reconnecting"),
        "polling": _("Checking every few seconds"),
        "offline": _("Offline"),
        "signed-out": _("Signed out"),
    }


def _queue() -> dict[str, str]:
    """Texts with {count} or {typed}, which the script fills in."""
    return {
        "arrived_one": _("1 new ask"),
        "arrived": _("{count} new asks"),
        "waits_one": _("1 decision waits"),
        "waits": _("{count} decisions wait"),
        "not_sent": _("Not sent, typed by you: {typed}"),
    }


def _press() -> dict[str, str]:
    """Say why a press recorded nothing."""
    return {
        "moved": _("The page had just moved, so nothing was pressed. Look again, then press."),
        "out_of_view": _("That answer was not on the screen, so nothing was sent. Press again."),
        "read_first": _(
            "Nothing was sent yet: you had not seen all that this covers. Read on, then press."
        ),
        "choose": _("Enter sends no answer from this field. Press the answer itself."),
    }


def _typing() -> dict[str, str]:
    """Say what became of a card, or of the keys, while somebody typed."""
    return {
        "gone": _("This is not yours to answer any more."),
        "kept": _("What you typed is kept and was not sent."),
        "keys_off": _("Your field is gone, so keys do nothing. Press Esc to use them again."),
    }
