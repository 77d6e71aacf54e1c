"""Ask the owner how to continue after a turn with a remote server that did not end cleanly.

Each protocol describes what happened. The question and its three options are shared.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from asks.drafts import AskDraft, OptionDraft
from asks.lifecycle import Meaning, Style

AGAIN, FRESH, END = "again", "fresh", "end"


def draft_owner_ask(
    request_key: str,
    *,
    headline: str,
    details: str,
    again: str = "",
    fresh: str = "",
    end: str,
    end_meaning: Meaning = Meaning.ANSWER,
) -> AskDraft:
    """Draft the question of what should happen next.

    ``again``, ``fresh`` and ``end`` describe the options. An option without a text is not offered.
    """
    offered = [
        (again, OptionDraft(AGAIN, _("Send it again"), again)),
        (fresh, OptionDraft(FRESH, _("Start over"), fresh)),
        (end, OptionDraft(END, _("End it"), end, Style.DANGER, end_meaning)),
    ]
    question = _("What should happen next?")
    return AskDraft(
        request_key=request_key,
        prompt=" ".join(part for part in (f"**{headline}**", details, question) if part),
        options=tuple(option for text, option in offered if text),
    )


def unsure_headline(sent: str) -> str:
    """Return the headline for a message whose reply was lost."""
    return _("We don't know whether the agent received {sent}.").format(sent=sent)


def twice_warning() -> str:
    """Return the warning about sending a message twice."""
    return _("If you send it again, it may be done twice.")
