"""The standard cast and a small world, made by the product's own verbs.

Olga owns the agent, so does Carl, her colleague; Sam is a stranger who owns another agent.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from pydantic import BaseModel

from agents import claims, controls, settlement
from agents.lifecycle import AgentState, Outcome
from agents.models import Agent, Session
from agents.registration import register_agent
from agents.running import runtime
from agents.running.runtime import Ended, Turn, TurnEvent
from asks.actions import binding
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from asks.models import Ask, Gate
from workspace.accounts import api_keys
from workspace.models import ApiKey

_numbers = itertools.count(1)


class NoSettings(BaseModel):
    """This runtime has none."""


class Still:
    """A runtime whose turns the tests end themselves."""

    key = "still"
    settings_model: type[BaseModel] = NoSettings

    async def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]:  # noqa: ARG002
        yield Ended(outcome=Outcome.NO_WORK)


@dataclass
class Cast:
    """Who is there, and the two agents: Olga's and Carl's, and Sam's."""

    owner: User
    colleague: User
    stranger: User
    agent: Agent
    other: Agent

    @property
    def session(self) -> Session:
        return home(self.agent)


def cast() -> Cast:
    number = next(_numbers)
    olga, carl, sam = (User.objects.create_user(f"{name}{number}") for name in _NAMES)
    return Cast(olga, carl, sam, agent_of(olga, carl), agent_of(sam))


_NAMES = ("olga", "carl", "sam")


def agent_of(*owners: User, slug: str = "") -> Agent:
    runtime.register_runtime(Still())
    return register_agent(
        slug=slug or f"agent-{next(_numbers)}",
        owners=owners,
        runtime_key="still",
        settings={},
        lifecycle=AgentState.ACTIVE,
    )


def home(agent: Agent) -> Session:
    return Session.objects.select_related("agent").get(agent=agent, is_home=True)


EU_OR_US = (OptionDraft("eu", "EU ledger"), OptionDraft("us", "US ledger", style=Style.DANGER))


def question(prompt: str = "Which ledger?", **fields: Any) -> AskDraft:
    return AskDraft(
        request_key=f"q{next(_numbers)}",
        prompt=prompt,
        options=EU_OR_US,
        **fields,
    )


def words(prompt: str = "What shall I write?") -> AskDraft:
    return AskDraft(request_key=f"w{next(_numbers)}", prompt=prompt)


def approval(
    *, money_critical: bool = False, params: Any = None, expires_in: timedelta | None = None
) -> AskDraft:
    return AskDraft(
        request_key=f"a{next(_numbers)}",
        prompt="May I refund order 1182?",
        kind=AskKind.APPROVAL,
        options=(
            OptionDraft("yes", "Approve", meaning=Meaning.APPROVE),
            OptionDraft("no", "Deny", meaning=Meaning.DENY),
        ),
        action=ActionDraft("refund", params or {"order": 1182, "amount": 48}, money_critical),
        expires_in=expires_in,
    )


def turn(agent: Agent, *drafts: AskDraft, outcome: Outcome = Outcome.BLOCKED) -> None:
    """One whole turn of an agent's home session, ended by hand."""
    owner = agent.owners.order_by("pk").first()
    assert owner is not None
    run = controls.start_session(session_id=home(agent).pk, by=owner)
    assert run is not None
    claimed = claims.claim_run(run_id=run.pk, worker="test")
    assert claimed is not None
    assert settlement.settle_run(claimed.fence, Ended(outcome=outcome, asks=drafts))


def asked(agent: Agent, *drafts: AskDraft) -> Ask:
    """The first ask of a turn that asks these."""
    drafts = drafts or (question(),)
    turn(agent, *drafts)
    return Ask.objects.get(agent=agent, request_key=drafts[0].request_key)


def echo_of(ask: Ask) -> dict[str, Any]:
    return binding.shown_binding(Gate.objects.get(ask=ask)).as_echo()


def key_of(
    person: User | None = None,
    agent: Agent | None = None,
    scopes: tuple[str, ...] = ("run:read", "ask:answer"),
) -> str:
    """A new key's token."""
    return made_key(person, agent, scopes)[1]


def made_key(
    person: User | None = None,
    agent: Agent | None = None,
    scopes: tuple[str, ...] = ("run:read", "ask:answer"),
) -> tuple[ApiKey, str]:
    return api_keys.create_key(
        name=f"key-{next(_numbers)}", scopes=scopes, agent=agent, person=person
    )
