#!/usr/bin/env python3
"""A researcher whose vendor has a quota: it reports the limit and waits without needing anyone."""

from __future__ import annotations

from talk import hear, say  # type: ignore[import-not-found]


def main() -> None:
    hear()
    say("Fetching today's rates.")
    say("REPORT: 14 of 31 currency pairs are compared.", 1.5)
    say("The vendor refuses the next request: the hourly quota is used up.", 1.0)
    say("OUTCOME: RATE_LIMITED (resets in 20m)", 0.2)


if __name__ == "__main__":
    main()
