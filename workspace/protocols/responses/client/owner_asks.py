"""What the owner is asked about a conversation with a remote agent that came to no plain end."""

from __future__ import annotations

from asks.drafts import AskDraft, OptionDraft
from asks.lifecycle import Style

AGAIN, FRESH, END = "again", "fresh", "end"
#: The beginnings of their request keys; a number follows, since it may happen more than once.
LOST, UNSURE, TURNED_DOWN = "remote-lost-", "remote-unsure-", "remote-refused-"


def is_ours(request_key: str) -> bool:
    return request_key.startswith((LOST, UNSURE, TURNED_DOWN))


def _end(detail: str) -> OptionDraft:
    return OptionDraft(END, "End it", detail, Style.DANGER)


def lost(number: int, words: str, *, answer: str) -> AskDraft:
    """The server knows nothing of the response that was to be followed."""
    not_taken = f" Your answer “{answer}” was not taken." if answer else ""
    return AskDraft(
        request_key=f"{LOST}{number}",
        prompt=f"**The agent has forgotten this conversation.** {words}{not_taken} Nothing was run "
        "again. What shall become of it?",
        options=(
            OptionDraft(AGAIN, "Send it again", "It may only have been away."),
            OptionDraft(FRESH, "Start afresh", "The same request from the beginning."),
            _end("Nothing more is sent."),
        ),
    )


def unsure(number: int, words: str, *, what: str) -> AskDraft:
    """A request was sent and its reply was lost; sending it again may run it twice."""
    return AskDraft(
        request_key=f"{UNSURE}{number}",
        prompt=f"**Nobody here knows whether the agent took {what}.** {words} Sending it again may "
        "have it done twice. What shall become of it?",
        options=(
            OptionDraft(AGAIN, "Send it again", "If it was not taken, or may be done twice."),
            _end("Take it as taken. Nothing more is sent, and its end is not seen here."),
        ),
    )


def turned_down(number: int, words: str, *, answer: str) -> AskDraft:
    """The server will not have an answer."""
    return AskDraft(
        request_key=f"{TURNED_DOWN}{number}",
        prompt=f"**The agent did not take your answer “{answer}”.** {words} What shall become of it?",
        options=(
            OptionDraft(AGAIN, "Send it again", "If what was in the way is gone."),
            OptionDraft(FRESH, "Start afresh", "The same request from the beginning."),
            _end("Nothing more is sent."),
        ),
    )
