"""A real command and a real tool that each want to do one approved thing, and the turns that carry them."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from agents import controls
from agents.lifecycle import AgentState
from agents.models import Agent, Run, Session
from agents.registration import register_agent
from agents.running.runner import carry_run
from asks.actions.grant_turns import lapse_stale_grants
from asks.drafts import ActionDraft
from asks.ledger import verify
from asks.models import Ask, Grant, LedgerRecord
from tests.eve.runtime.agents import EFFECTS
from tests.eve.runtime.world import Brain, call, eve_agent, open_asks
from tests.factories import ask, draft, home_of
from workspace.protocols.markers.permissions import approved_tools

ONCE = f"{shlex.quote(sys.executable)} {shlex.quote(approved_tools.__file__)} --once"
REFUND = {"charge_id": "ch_1", "amount": 12.5, "currency": "EUR"}


@dataclass
class World:
    """An agent that has asked, and how to see whether it has acted."""

    session: Session
    asked: Ask
    owner: User
    colleague: User
    acted: Callable[[], bool]
    folder: Path
    sent: dict[str, Any] = field(default_factory=dict)

    @property
    def agent(self) -> Agent:
        return self.session.agent

    @property
    def grant(self) -> Grant:
        return Grant.objects.get(ask=self.asked)

    def carry(self) -> None:
        """Carry every run that is queued, as a worker does."""
        while (
            run := Run.objects.filter(session=self.session, status="queued").first()
        ) is not None:
            asyncio.run(carry_run(run.pk))

    def start(self) -> None:
        """Press Start, and carry what comes of it."""
        controls.start_session(session_id=self.session.pk, by=self.colleague)
        self.carry()


def command_that(folder: Path, script: str) -> dict[str, Any]:
    """The settings of an agent whose turn is a shell script in a folder."""
    return {"command": ["sh", "-c", script], "cwd": str(folder)}


def once(command: str, operation: str = "Bash", **params: Any) -> str:
    """Shell code that runs a command if exactly that is approved."""
    wanted = json.dumps({"command": command, **params})
    return f"{ONCE} {operation} {shlex.quote(wanted)} -- {command}"


def command_world(
    owner: User, colleague: User, folder: Path, *, files: tuple[str, ...] = ()
) -> World:
    """A command that wants to delete the folder ``build``."""
    (folder / "build").mkdir()
    (folder / "plan.txt").write_text("delete build\n")
    made = register_agent(
        slug="cleaner",
        owners=[owner, colleague],
        runtime_key="markers",
        settings=command_that(folder, once("rm -rf build")),
        lifecycle=AgentState.ACTIVE,
    )
    session = home_of(made)
    action = ActionDraft("Bash", {"command": "rm -rf build"}, files=files)
    asked = ask(session, draft("clean", "May I delete build?", action=action))[0]
    return World(session, asked, owner, colleague, lambda: not (folder / "build").exists(), folder)


def tool_world(owner: User, colleague: User, folder: Path) -> World:
    """A tool of a Python agent that wants to refund, and asks again if it may not."""
    EFFECTS.clear()
    brain = Brain([call("refund", "c1", **REFUND)], [call("refund", "c2", **REFUND)])
    agent = eve_agent(owner, brain)
    agent.owners.add(colleague)
    session = home_of(agent)
    world = World(session, Ask(), owner, colleague, lambda: bool(EFFECTS), folder)
    world.start()
    world.asked = open_asks(session)[0]
    return world


def use_script(world: World, script: str) -> None:
    """Have the agent's next turns run another script."""
    Agent.objects.filter(pk=world.agent.pk).update(settings=command_that(world.folder, script))


def check_it_ended(world: World, why: str, state: str = "lapsed") -> None:
    """Nothing happened; the row, the ledger and the thread each say why."""
    lapse_stale_grants()
    assert not world.acted()
    grant = world.grant
    assert (grant.state, grant.end) == (state, why)
    assert grant.ended_at is not None
    record = LedgerRecord.objects.get(subject=f"grant:{grant.pk}")
    assert record.kind == f"grant_{state}"
    event = world.session.events.get(kind="grant_ended")
    assert event.data["why"] == why
    assert ("has lapsed" if state == "lapsed" else "took back") in event.text
    verify.verify_ledger()
