#!/usr/bin/env python3
"""A long-running agent: it needs nobody and reports its progress."""

from __future__ import annotations

from talk import hear, say  # type: ignore[import-not-found]

SHELVES = 12
SCANS = 1_150


def main() -> None:
    hear()
    say("Opening the archive: ten years of scans on twelve shelves.")
    for shelf in range(1, SHELVES + 1):
        say(f"Shelf {shelf}: reading.", 0.8)
        say(f"Shelf {shelf}: {SCANS - 17 * shelf} scans read, {shelf % 4} unreadable.", 2.2)
        if shelf % 3 == 0:
            say(f"REPORT: {shelf} of {SHELVES} shelves are indexed.", 0.4)
    say("NOTIFY: The archive is indexed. 18 scans could not be read and are listed for a rescan.")
    say("OUTCOME: WORK_DONE", 0.2)


if __name__ == "__main__":
    main()
