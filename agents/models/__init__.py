"""Agents, their sessions and runs, what happened in them, and what is owed to them."""

from agents.models.agent import Agent, Lane
from agents.models.event import Event
from agents.models.inbox import InboxItem
from agents.models.run import Run
from agents.models.session import Session

__all__ = ["Agent", "Event", "InboxItem", "Lane", "Run", "Session"]
