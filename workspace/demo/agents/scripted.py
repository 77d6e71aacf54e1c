#!/usr/bin/env python3
"""Write the lines of its mission as output, for experiments and tests.

A line ``---`` separates the parts. The first turn plays the first part; each later turn plays the
part after the question that was decided. ``{answer}`` is replaced by the decision, and ``sleep N``
pauses for N seconds.
"""

from __future__ import annotations

from talk import Decision, hear, pause, say  # type: ignore[import-not-found]

NOTHING_LEFT = ["REPORT: The owner decided: {answer}", "OUTCOME: WORK_DONE"]
NO_SCRIPT = ["My mission contains no lines to play.", "OUTCOME: NO_WORK"]


def main() -> None:
    capsule = hear()
    parts = [part.strip("\n").split("\n") for part in f"\n{capsule.mission}\n".split("\n---\n")]
    decisions = capsule.decisions
    play(part_after(parts, decisions[-1]) if decisions else first(parts), decisions)


def first(parts: list[list[str]]) -> list[str]:
    return parts[0] if any(parts[0]) else NO_SCRIPT


def part_after(parts: list[list[str]], decision: Decision) -> list[str]:
    """Return the part after the one with the decided question."""
    asked = f"ASK: {decision.asked.partition(chr(10))[0]}"
    place = next((i for i, part in enumerate(parts) if asked in part), 0)
    return parts[place + 1] if place + 1 < len(parts) else NOTHING_LEFT


def play(lines: list[str], decisions: list[Decision]) -> None:
    answer = ", ".join(decision.reply for decision in decisions)
    for line in lines:
        if line.startswith("sleep "):
            pause(float(line.removeprefix("sleep ")))
        else:
            say(line.replace("{answer}", answer), 0)


if __name__ == "__main__":
    main()
