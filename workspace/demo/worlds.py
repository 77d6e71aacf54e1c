"""Small worlds of people and agents, for trying out the product and testing its protocols.

Building a world again adds what is missing and changes nothing that exists.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from agents.lifecycle import AgentState
from agents.models import Agent
from agents.registration import register_agent
from workspace.local.state import state_dir

PROGRAMS = Path(__file__).resolve().parent / "agents"


@dataclass(frozen=True)
class Character:
    """A scripted agent: its program, and when it wakes by itself."""

    slug: str
    name: str
    title: str
    program: str
    mission: str
    wake: dict[str, Any] = field(default_factory=lambda: {"kind": "manual"})
    lane: str = ""
    starts: bool = True


DEMO = (
    Character(
        "ledger-close",
        "Ledger close",
        "Closes the month in the right ledger",
        "ledger.py",
        "Close October. Ask which ledger when the entries belong to both.",
        {"kind": "continuous", "every_seconds": 90, "idle_base_seconds": 120},
    ),
    Character(
        "release-train",
        "Release train",
        "Ships the weekly release",
        "release.py",
        "Ship the release when the checks are green. Ask before anything that cannot be undone.",
        {"kind": "schedule", "every_seconds": 600},
    ),
    Character(
        "branch-keeper",
        "Branch keeper",
        "Keeps the repository tidy",
        "branches.py",
        "Find stale branches. Never delete one without a person's approval.",
        {"kind": "schedule", "every_seconds": 900},
    ),
    Character(
        "support-writer",
        "Support writer",
        "Drafts replies to customers",
        "support.py",
        "Draft replies. Ask for the facts you do not have.",
        {"kind": "on_message"},
    ),
    Character(
        "archive-indexer",
        "Archive indexer",
        "Indexes ten years of scans",
        "indexer.py",
        "Index the archive and report as you go.",
        {"kind": "continuous", "every_seconds": 60},
    ),
    Character(
        "inbox-watch",
        "Inbox watch",
        "Watches a quiet inbox",
        "watcher.py",
        "Look for new invoices.",
        {"kind": "continuous", "idle_base_seconds": 30},
    ),
    Character(
        "rate-research",
        "Rate research",
        "Compares exchange rates at a vendor with a quota",
        "research.py",
        "Compare today's rates.",
        {"kind": "continuous", "every_seconds": 300},
        lane="rates-vendor",
    ),
)


def build_demo() -> list[str]:
    """Build the owner and the demo's agents. Return a line for each thing created."""
    owner, made = _person("owner", is_staff=True, is_superuser=True)
    for character in DEMO:
        made += _agent(character, owner)
    return made + _billing_agent(owner)


def build_conformance() -> list[str]:
    """Build the world that the conformance drivers run real clients against."""
    owner, made = _person("owner")
    made += _agent(
        Character("conf-markers", "Conformance: markers", "", "scripted.py", "", starts=False),
        owner,
    )
    made += _leaf_agent(owner)
    made += _hybrid_agent(owner)
    made += _eve_agent(owner)
    return made


def _eve_agent(owner: User) -> list[str]:
    """Register an agent with tools that need approval. Its messages script its calls."""
    if Agent.objects.filter(slug="conf-eve").exists():
        return []
    register_agent(
        slug="conf-eve",
        name="Conformance: eve",
        owners=[owner],
        runtime_key="eve",
        settings={"agent": "workspace.demo.eve_agents:conformance"},
        lifecycle=AgentState.ACTIVE,
    )
    return ["agent conf-eve"]


def _hybrid_agent(owner: User) -> list[str]:
    """Register an agent for the Responses protocol. Its requests name the scenario."""
    if Agent.objects.filter(slug="conf-responses").exists():
        return []
    register_agent(
        slug="conf-responses",
        name="Conformance: responses",
        owners=[owner],
        runtime_key="responses",
        settings={
            "command": [sys.executable, str(PROGRAMS / "brain.py")],
            "hitl": True,
            "hitl_questions": [
                r"Which ledger: EU or US\?",
                r"Publish the report for \d{4}-\d{2}-\d{2}\?",
            ],
            "max_usd_per_run": 0.5,
            "request_may_tighten": True,
            "simulate_suspension": True,
        },
        lifecycle=AgentState.ACTIVE,
    )
    return ["agent conf-responses"]


def _leaf_agent(owner: User) -> list[str]:
    """Register an agent for leaf, with a volume that the driver of the files dialect shares."""
    volume = state_dir() / "volume"
    volume.mkdir(parents=True, exist_ok=True)
    volume.chmod(0o777)
    if Agent.objects.filter(slug="conf-leaf").exists():
        return []
    register_agent(
        slug="conf-leaf",
        name="Conformance: leaf",
        owners=[owner],
        runtime_key="leaf",
        settings={"model": "scripted", "volume": str(volume)},
        lifecycle=AgentState.ACTIVE,
    )
    return ["agent conf-leaf"]


def _billing_agent(owner: User) -> list[str]:
    """Register an agent that is defined in Python and asks before each refund."""
    if Agent.objects.filter(slug="billing").exists():
        return []
    register_agent(
        slug="billing",
        name="Billing",
        title="Refunds duplicate charges",
        mission="Look for duplicate charges.",
        owners=[owner],
        runtime_key="eve",
        settings={"agent": "workspace.demo.billing:billing"},
        wake={"kind": "schedule", "every_seconds": 1200},
        lifecycle=AgentState.ACTIVE,
    )
    return ["agent billing"]


def build_nothing() -> list[str]:
    """Build only the owner, to sign in as."""
    return _person("owner", is_staff=True, is_superuser=True)[1]


def _person(name: str, **rights: bool) -> tuple[User, list[str]]:
    person, fresh = User.objects.get_or_create(username=name, defaults=rights)
    if fresh:
        person.set_unusable_password()
        person.save(update_fields=["password"])
    return person, [f"person {name}"] if fresh else []


def _agent(character: Character, owner: User) -> list[str]:
    if Agent.objects.filter(slug=character.slug).exists():
        return []
    register_agent(
        slug=character.slug,
        name=character.name,
        title=character.title,
        mission=character.mission,
        owners=[owner],
        runtime_key="markers",
        settings={
            "command": [sys.executable, str(PROGRAMS / character.program)],
            "env_allow": ["DEMO_PACE"],
        },
        wake=character.wake,
        lane=character.lane,
        lifecycle=AgentState.ACTIVE if character.starts else AgentState.DRAFT,
    )
    return [f"agent {character.slug}"]


WORLDS: dict[str, Callable[[], list[str]]] = {
    "demo": build_demo,
    "conformance": build_conformance,
    "none": build_nothing,
}
