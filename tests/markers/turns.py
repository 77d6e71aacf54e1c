"""Turns for the tests of the capsule and the runtime."""

from __future__ import annotations

from typing import Any

from agents.running.runtime import AgentFacts, Given, Turn


def a_turn(**more: Any) -> Turn:
    """A first turn of the agent scout; ``settings``, ``mission`` and ``contract`` are its own."""
    agent = AgentFacts(
        slug="scout",
        runtime="markers",
        name="Scout",
        title="Looks around",
        mission=more.pop("mission", "Look around."),
        contract=more.pop("contract", "Touch nothing."),
        settings=more.pop("settings", {}),
    )
    facts = {"run_id": 7, "session_id": 3, "number": 1, "epoch": 1, "cause": "human"}
    return Turn(agent=agent, **{**facts, **more})


def verdict(**data: Any) -> Given:
    facts = {"ask_id": 5, "prompt": "Which region?", "option": "", "label": "", "text": ""}
    return Given("verdict", "olivia", data.get("label") or data.get("text", ""), facts | data)
