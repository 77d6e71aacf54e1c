#!/usr/bin/env python3
"""A support writer: it asks for a fact in free text, then uses exactly that text in a draft."""

from __future__ import annotations

from talk import hear, say  # type: ignore[import-not-found]

QUESTION = "When will the replacement reach Ms Ito?"


def main() -> None:
    capsule = hear()
    decision = capsule.decision_on(QUESTION)
    for message in capsule.messages:
        say(f"A new case came in: {message.partition(chr(10))[0][:120]}")
    if decision:
        draft(decision.reply)
    else:
        ask()


def ask() -> None:
    say(
        "Reading the case of Ms Ito: her kettle arrived broken, and a replacement is on its way.",
        0.9,
    )
    say("REPORT: The reply to Ms Ito is drafted except for the date.", 1.2)
    say(f"ASK: {QUESTION}")
    say("The carrier has not replied. She has asked twice and would like a day she can rely on.", 0)
    say("OUTCOME: BLOCKED", 0.3)


def draft(text: str) -> None:
    say("Writing the reply.")
    say("> Dear Ms Ito,", 0.8)
    say("> thank you for your patience. About your replacement:", 0.5)
    for line in text.splitlines():
        say(f"> {line}", 0.3)
    say("NOTIFY: The reply to Ms Ito is ready in the drafts folder.", 0.6)
    say("OUTCOME: WORK_DONE", 0.2)


if __name__ == "__main__":
    main()
