"""What an owner is asked when a turn with a server elsewhere came to no clear end.

Each protocol says what happened; the question and the three ways out are the same for all.
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

    ``again``, ``fresh`` and ``end`` say what sending again, starting over and ending would do; a way
    out without a text is not offered.
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
    """Say that a reply was lost, so that nobody knows whether something arrived."""
    return _("We don't know whether the agent received {sent}.").format(sent=sent)


def twice_warning() -> str:
    """Say what sending again may cause."""
    return _("If you send it again, it may be done twice.")
