"""What the owner is asked about a remote agent's session that came to no plain end."""

from __future__ import annotations

from asks.drafts import AskDraft, OptionDraft
from asks.lifecycle import Style

AGAIN, FRESH, END = "again", "fresh", "end"
#: The beginnings of their request keys; a number follows, since it may happen more than once.
LOST, UNSURE = "eve-remote-lost-", "eve-remote-unsure-"


def is_ours(request_key: str) -> bool:
    return request_key.startswith((LOST, UNSURE))


def lost(number: int, words: str, *, said: str) -> AskDraft:
    """The server knows nothing of the session, or takes nothing for it any more."""
    not_sent = f" It was not told {said}." if said else ""
    return AskDraft(
        request_key=f"{LOST}{number}",
        prompt=f"**The agent's session is gone.** {words}{not_sent} Nothing was run again. "
        "What shall become of it?",
        options=(
            OptionDraft(FRESH, "Start afresh", "A new session, from its first words."),
            OptionDraft(END, "End it", "Nothing more is sent.", Style.DANGER),
        ),
    )


def unsure(number: int, words: str, *, said: str) -> AskDraft:
    """Something was sent and its reply was lost; sending it again may have it done twice."""
    return AskDraft(
        request_key=f"{UNSURE}{number}",
        prompt=f"**Nobody here knows whether the agent took {said}.** {words} Sending it again may "
        "have it done twice. What shall become of it?",
        options=(
            OptionDraft(AGAIN, "Send it again", "If it was not taken, or may be done twice."),
            OptionDraft(END, "End it", "Nothing more is sent.", Style.DANGER),
        ),
    )
