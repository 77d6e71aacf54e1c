#!/usr/bin/env python3
"""A release agent: it asks two questions in one turn and continues when both are answered."""

from __future__ import annotations

from talk import Decision, hear, say  # type: ignore[import-not-found]

SHIP = "Ship 4.2 today?"
NOTES = "Who signs the release notes?"


def main() -> None:
    capsule = hear()
    ship, notes = capsule.decision_on(SHIP), capsule.decision_on(NOTES)
    if ship:
        finish(ship, notes)
    else:
        ask()


def ask() -> None:
    say("Checking what is on the release branch.")
    say("REPORT: 41 changes since 4.1; all 318 checks are green.", 1.4)
    say("The new importer has been on for testers for nine days.", 0.9)
    say(f"ASK: {SHIP}")
    say("Everything is green. The new importer is the only part that nobody can turn off later.", 0)
    say("OPTIONS: Ship it | Ship with the importer off | Hold until Monday", 0)
    say(f"ASK: {NOTES} A name, as it should appear below them.", 0.4)
    say("OUTCOME: BLOCKED", 0.2)


def finish(ship: Decision, notes: Decision | None) -> None:
    say(f"Decided: {ship.reply}.")
    if ship.option.startswith("hold"):
        say("REPORT: 4.2 is held until Monday. Nothing was tagged.")
    else:
        say("Tagging 4.2 and building the packages.", 0.8)
        say("REPORT: Packages for six platforms are built.", 1.8)
        signed = notes.reply if notes else "the release team"
        say(f"REPORT: 4.2 is out ({ship.reply.lower()}). Release notes signed by {signed}.", 1.2)
    say("OUTCOME: WORK_DONE", 0.2)


if __name__ == "__main__":
    main()
