"""Ask the owner about a session with a remote eve agent that did not end cleanly."""

from __future__ import annotations

from django.utils.translation import gettext as _

from asks.drafts import AskDraft
from workspace.protocols.common.owner_asks import (
    AGAIN,
    END,
    FRESH,
    draft_owner_ask,
    twice_warning,
    unsure_headline,
)

__all__ = ["AGAIN", "END", "FRESH", "draft_lost", "draft_unsure", "is_ours"]

#: Prefixes of the request keys. A number follows, because it can happen more than once.
LOST, UNSURE = "eve-remote-lost-", "eve-remote-unsure-"


def is_ours(request_key: str) -> bool:
    """Whether an ask comes from here and not from the agent."""
    return request_key.startswith((LOST, UNSURE))


def draft_lost(number: int, details: str, *, said: str) -> AskDraft:
    """Ask about a session that the server no longer knows or no longer continues."""
    not_sent = _("It did not receive {message}.").format(message=said) if said else ""
    nothing = _("Nothing was run again.")
    return draft_owner_ask(
        f"{LOST}{number}",
        headline=_("The agent's session is gone."),
        details=" ".join(part for part in (details, not_sent, nothing) if part),
        fresh=_("A new session, from its first message."),
        end=_("Nothing more is sent."),
    )


def draft_unsure(number: int, details: str, *, said: str) -> AskDraft:
    """Ask about a message whose reply was lost: sending it again may do it twice."""
    return draft_owner_ask(
        f"{UNSURE}{number}",
        headline=unsure_headline(said),
        details=f"{details} {twice_warning()}",
        again=_("If it did not arrive, or may be done twice."),
        end=_("Nothing more is sent."),
    )
