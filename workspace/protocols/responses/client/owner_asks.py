"""Ask the owner about a conversation with a remote agent that did not end cleanly."""

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

__all__ = ["AGAIN", "END", "FRESH", "draft_lost", "draft_rejected", "draft_unsure", "is_ours"]

#: Prefixes of the request keys. A number follows, because it can happen more than once.
LOST, UNSURE, REJECTED = "remote-lost-", "remote-unsure-", "remote-refused-"


def is_ours(request_key: str) -> bool:
    """Whether an ask comes from here and not from the agent."""
    return request_key.startswith((LOST, UNSURE, REJECTED))


def draft_lost(number: int, details: str, *, answer: str) -> AskDraft:
    """Ask about a response that the server no longer knows."""
    lost = _("Your answer “{answer}” was not accepted.").format(answer=answer) if answer else ""
    nothing = _("Nothing was run again.")
    return draft_owner_ask(
        f"{LOST}{number}",
        headline=_("The agent has forgotten this conversation."),
        details=" ".join(part for part in (details, lost, nothing) if part),
        again=_("It may only have been unavailable."),
        fresh=_("The same request from the beginning."),
        end=_("Nothing more is sent."),
    )


def draft_unsure(number: int, details: str, *, what: str) -> AskDraft:
    """Ask about a request whose reply was lost: sending it again may run it twice."""
    return draft_owner_ask(
        f"{UNSURE}{number}",
        headline=unsure_headline(what),
        details=f"{details} {twice_warning()}",
        again=_("If it did not arrive, or may be done twice."),
        end=_("Treat it as received. Nothing more is sent, and its result is not seen here."),
    )


def draft_rejected(number: int, details: str, *, answer: str) -> AskDraft:
    """Ask about an answer that the server rejects."""
    return draft_owner_ask(
        f"{REJECTED}{number}",
        headline=_("The agent rejected your answer “{answer}”.").format(answer=answer),
        details=details,
        again=_("If the obstacle is gone."),
        fresh=_("The same request from the beginning."),
        end=_("Nothing more is sent."),
    )
