#!/usr/bin/env python3
"""A tidy agent: one of its options is destructive and marked with (!)."""

from __future__ import annotations

from talk import hear, say  # type: ignore[import-not-found]

QUESTION = "Delete 1,240 stale branches?"
STALE = ("import-spike", "fix/typo-2019", "release-2.7-rc3", "wip-do-not-merge", "olivia-tmp")


def main() -> None:
    decision = hear().decision_on(QUESTION)
    if not decision:
        look()
    elif decision.option == "list-them-first":
        show()
    elif decision.option == "delete-them":
        delete()
    else:
        keep(decision.reply)


def look() -> None:
    say("Looking for branches that nobody has touched for a year.")
    say("REPORT: 1,240 of 1,377 branches are older than a year; all are merged or abandoned.", 1.5)
    ask("List them first | Keep them | Delete them (!)")


def ask(options: str) -> None:
    say(f"ASK: {QUESTION}")
    say("Deleting cannot be undone from here: 83 of them were never merged.", 0)
    say(f"OPTIONS: {options}", 0)
    say("OUTCOME: BLOCKED", 0.2)


def show() -> None:
    say("The oldest of them:")
    for name in STALE:
        say(f"- `{name}`", 0.3)
    say(f"REPORT: Listed the {len(STALE)} oldest; the rest are much the same.")
    ask("Keep them | Delete them (!)")


def delete() -> None:
    say("Deleting in batches.")
    for done in (400, 800, 1240):
        say(f"REPORT: {done} of 1,240 branches are deleted.", 1.1)
    say("OUTCOME: WORK_DONE", 0.2)


def keep(reply: str) -> None:
    say(f"REPORT: Decided: {reply}. All branches stay; nothing was deleted.")
    say("OUTCOME: WORK_DONE", 0.2)


if __name__ == "__main__":
    main()
