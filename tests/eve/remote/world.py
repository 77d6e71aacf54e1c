"""Agents that are driven at an eve server, turn by turn, in the test's own transaction."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from agents import controls, messages
from agents.lifecycle import AgentState
from agents.models import Agent, Session
from agents.registration import register_agent
from agents.running.runtime import Ended
from asks.models import Ask
from tests.eve.remote.double import Double
from tests.factories import home_of, verdict_on
from tests.responses.world import carry_all, in_this_thread
from workspace.protocols.eve.client.runtime import RemoteEveRuntime

QUICK = {
    "silence_seconds": 1,
    "settle_seconds": 0.08,
    "patience_seconds": 20,
    "wall_clock_seconds": 60,
}
CALL = 'call refund {"charge": "ch_1", "amount": 12.5}'
PARAMS = {"charge": "ch_1", "amount": 12.5}


def agent_at(double: Double, owner: User, **more: Any) -> Agent:
    return register_agent(
        slug="driver",
        owners=[owner],
        runtime_key="eve-remote",
        settings={**QUICK, "base_url": double.url, **more},
        mission="hello",
        lifecycle=AgentState.ACTIVE,
    )


def drive() -> list[Ended]:
    """Carry every queued run to its end."""
    return carry_all(RemoteEveRuntime(read=in_this_thread))


def say(agent: Agent, owner: User, words: str) -> Session:
    """Write to an agent's home session and carry what comes of it."""
    home = home_of(agent)
    messages.post_message(session_id=home.pk, by=owner, text=words)
    drive()
    return Session.objects.get(pk=home.pk)


def start(agent: Agent, owner: User) -> Session:
    home = home_of(agent)
    controls.start_session(session_id=home.pk, by=owner)
    drive()
    return Session.objects.get(pk=home.pk)


def asked(session: Session) -> Ask:
    """The newest open ask."""
    return Ask.objects.filter(session=session, status="open").latest("pk")


def decide(ask: Ask, owner: User, option: str = "approve", text: str = "") -> list[Ended]:
    verdict_on(ask, owner, option=option, text=text)
    return drive()


def told(session: Session, kind: str = "output") -> str:
    return "".join(session.events.filter(kind=kind).order_by("seq").values_list("text", flat=True))
