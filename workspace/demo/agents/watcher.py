#!/usr/bin/env python3
"""A watcher: it rarely has anything to do, and then it backs off silently."""

from __future__ import annotations

from talk import hear, say  # type: ignore[import-not-found]


def main() -> None:
    hear()
    say("Looking into the invoice inbox.", 0.5)
    say("No new invoices.", 1.0)
    say("OUTCOME: NO_WORK", 0.2)


if __name__ == "__main__":
    main()
