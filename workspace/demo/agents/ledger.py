#!/usr/bin/env python3
"""A ledger reconciler: it can do everything except decide which of two ledgers is right."""

from __future__ import annotations

from talk import hear, say  # type: ignore[import-not-found]


def main() -> None:
    capsule = hear()
    decision = capsule.decision_on("Which ledger: EU or US?")
    if decision:
        close(decision.reply)
    else:
        ask()


def ask() -> None:
    say("Reading the entries of October.")
    say("REPORT: Read 1,204 entries; 1,167 match one ledger each.", 1.2)
    say("37 entries carry a booking code of both ledgers.", 1.0)
    say("REPORT: 37 entries (84,310.55) belong to both ledgers.", 0.8)
    say("ASK: Which ledger: EU or US?")
    say("37 entries over **84,310.55** carry both booking codes. In September they went to EU.", 0)
    say("OPTIONS: EU | US | ...", 0)
    say("OUTCOME: BLOCKED", 0.2)


def close(ledger: str) -> None:
    say(f"The ledger is decided: {ledger}.")
    for done in (12, 25, 37):
        say(f"Booked {done} of 37 entries.", 0.9)
    say("REPORT: All 37 entries are booked, the difference is 0.00.")
    say("REPORT: October is closed.", 0.8)
    say("OUTCOME: WORK_DONE", 0.2)


if __name__ == "__main__":
    main()
