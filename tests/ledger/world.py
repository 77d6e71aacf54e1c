"""People, agents and asks for tests of decisions, made by the product's own verbs."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from pydantic import BaseModel

from agents import claims, controls, settlement
from agents.lifecycle import AgentState, Outcome
from agents.models import Agent, Run, Session
from agents.registration import register_agent
from agents.running import runtime
from agents.running.runtime import Ended, Turn, TurnEvent
from asks import answering
from asks.actions import binding
from asks.answering import Answered
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning
from asks.models import Ask, Gate, Verdict

_numbers = itertools.count(1)


class NoSettings(BaseModel):
    """This runtime has none."""


class Idle:
    """A runtime whose turns the tests end themselves."""

    key = "idle"
    settings_model: type[BaseModel] = NoSettings

    async def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]:  # noqa: ARG002
        yield Ended(outcome=Outcome.NO_WORK)


def person(name: str = "") -> User:
    """A new person; they have an address by which a signer can be known."""
    name = name or f"person-{next(_numbers)}"
    return User.objects.create_user(name, f"{name}@example.com")


def agent_of(*owners: User) -> Agent:
    runtime.register_runtime(Idle())
    return register_agent(
        slug=f"agent-{next(_numbers)}",
        owners=owners,
        runtime_key="idle",
        settings={},
        lifecycle=AgentState.ACTIVE,
    )


def home(agent: Agent) -> Session:
    return agent.sessions.get(is_home=True)


YES_NO = (
    OptionDraft("yes", "Approve it", meaning=Meaning.APPROVE),
    OptionDraft("no", "Deny it", meaning=Meaning.DENY),
)


@dataclass
class Draft:
    """What a test wants to be asked."""

    prompt: str = "May I refund order 1182?"
    options: tuple[OptionDraft, ...] = YES_NO
    operation: str = "refund"
    params: Any = field(default_factory=lambda: {"order": 1182, "amount": "420.00"})
    money_critical: bool = False
    bound: bool = True
    context: dict[str, Any] = field(default_factory=dict)
    expires_in: timedelta | None = None

    def draft(self) -> AskDraft:
        action = ActionDraft(self.operation, self.params, self.money_critical)
        return AskDraft(
            request_key=f"request-{next(_numbers)}",
            prompt=self.prompt,
            kind=AskKind.APPROVAL if self.bound else AskKind.QUESTION,
            options=self.options,
            action=action if self.bound else None,
            context=self.context,
            expires_in=self.expires_in,
        )


def ask_of(session: Session, owner: User, *drafts: Draft) -> list[Ask]:
    """Run a turn of the session that asks all of these and ends."""
    turn = take_turn(session, owner)
    asked = [draft.draft() for draft in drafts or (Draft(),)]
    assert settlement.settle_run(turn.fence, Ended(outcome=Outcome.BLOCKED, asks=tuple(asked)))
    keys = [draft.request_key for draft in asked]
    return list(Ask.objects.filter(session=session, request_key__in=keys).order_by("pk"))


def take_turn(session: Session, owner: User) -> Turn:
    """Start the session, or take the run that its last answer queued."""
    run = controls.start_session(session_id=session.pk, by=owner)
    assert run is not None
    turn = claims.claim_run(run_id=run.pk, worker="test")
    assert turn is not None
    return turn


def end_turn(turn: Turn, outcome: Outcome = Outcome.WORK_DONE) -> Run:
    assert settlement.settle_run(turn.fence, Ended(outcome=outcome))
    return Run.objects.get(pk=turn.run_id)


def echo_of(ask: Ask) -> dict[str, Any] | None:
    gate = Gate.objects.filter(ask=ask).first()
    return binding.shown_binding(gate).as_echo() if gate else None


def decide(ask: Ask, by: User, option: str = "yes", text: str = "") -> Verdict:
    """Answer as a person would, with the binding that was shown."""
    done = answering.answer_ask(ask_id=ask.pk, by=by, option=option, text=text, echo=echo_of(ask))
    assert isinstance(done, Answered), done
    return done.verdict


def decided(owner: User | None = None, *drafts: Draft) -> list[Verdict]:
    """A fresh session in which each draft was asked and answered."""
    owner = owner or person()
    session = home(agent_of(owner))
    return [decide(ask, owner) for ask in ask_of(session, owner, *drafts)]
