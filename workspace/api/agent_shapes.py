"""The shapes of agents: what is returned of one, and what a program sends to change it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agents.lifecycle import AgentState
from workspace.api.shapes import _In, _Out, _Query


class AgentDetailShape(_Out):
    slug: str
    name: str
    title: str
    mission: str
    contract: str
    lane: str
    lifecycle: AgentState
    version: int = Field(description="Send it with an edit. It counts the edits.")
    runtime: str
    settings: dict[str, Any] | None = Field(
        description="The runtime's settings, with dots for the values of `env`; null for a key that "
        "may not edit."
    )
    wake_policy: dict[str, Any]
    owners: list[str]
    path: str = Field(description="The page of the agent.")
    notes: list[str] = Field(description="What could not be checked when it was saved.")


class AgentList(_Out):
    agents: list[AgentDetailShape]


class ToldShape(_Out):
    prompt: str = Field(description="What its next turn would tell it; empty if there is none.")
    problem: str = Field(description="Why there is no prompt; empty if there is one.")


class RetriedShape(_Out):
    started: int = Field(description="How many failing sessions were started.")


class AgentBody(_In):
    """An agent to connect as a draft. Its owner is the key's person."""

    slug: str
    runtime: str
    settings: dict[str, Any] = {}
    name: str = ""
    title: str = ""
    mission: str = ""
    contract: str = ""
    lane: str = ""
    wake_policy: dict[str, Any] | None = None
    insist: bool = Field(default=False, description="Save it although a check finds a fault.")


class AgentEditBody(_In):
    """The fields to change, and the version that was read. A setting that is null gets its default."""

    version: int
    name: str | None = None
    title: str | None = None
    mission: str | None = None
    contract: str | None = None
    lane: str | None = None
    wake_policy: dict[str, Any] | None = None
    runtime: str | None = None
    settings: dict[str, Any] | None = Field(
        default=None, description="Only the settings to change; with another runtime, all of them."
    )
    insist: bool = Field(default=False, description="Save it although a check finds a fault.")


class OwnersBody(_In):
    """Who joins and who leaves, by user name. A group adds the people who are in it now."""

    version: int
    add: list[str] = []
    add_groups: list[str] = []
    remove: list[str] = []


class AgentListQuery(_Query):
    """No parameters."""
