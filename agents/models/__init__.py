"""Agents, lanes, sessions, runs, events and inbox items."""

from agents.models.agent import Agent, Lane
from agents.models.event import Event
from agents.models.inbox import InboxItem
from agents.models.run import Run
from agents.models.session import Session

__all__ = ["Agent", "Event", "InboxItem", "Lane", "Run", "Session"]
