"""The runtime ``leaf``: our own reviewing agent, a turn of which is one pass of the state machine.

A turn that asks for approval parks: its session, its conversation and its gate are rows, and nothing
runs. A turn that breaks is tried again, and given up after a number of failures in a row.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from agents.db.retrying import in_database
from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Turn, TurnEvent
from agents.text import json_input
from asks.drafts import AskDraft
from workspace.protocols.common.turn_settings import TurnEnded, check_attempts, settings_of
from workspace.protocols.leaf import wire
from workspace.protocols.leaf.agent import brains, texts
from workspace.protocols.leaf.agent.gates import Aborted, Paused, Seed, may_submit, next_step
from workspace.protocols.leaf.agent.reviewing import (
    Asked,
    Broke,
    Failed,
    Review,
    Reviewed,
    Submitted,
    review_item,
)
from workspace.protocols.leaf.server import state
from workspace.protocols.leaf.server.facts import LeafFacts, facts_in, opened
from workspace.protocols.leaf.server.state import SessionLog
from workspace.protocols.leaf.server.volume import Volume
from workspace.protocols.leaf.settings import LeafSettings
from workspace.protocols.leaf.wire import WorkItem

LIMIT_PASSES = timedelta(minutes=5)
WHAT_TO_REVIEW = (
    "Tell me what to review, as JSON: "
    '{"item_id": "i1", "file": "a.py", "pattern": "eval(", "require_approval": true}'
)

Reader = Callable[..., Awaitable[Any]]


class LeafRuntime:
    """Runs our own agent. ``read`` does database work from the event loop."""

    key = "leaf"
    settings_model: type[BaseModel] = LeafSettings

    def __init__(self, read: Reader = in_database) -> None:
        self._read = read

    def read_ahead(self, turn: Turn) -> SessionLog:
        """The session's gates. One is raised as a turn ends, so there is none before the first has."""
        return state.read_log(turn.session_id) if turn.number > 1 else SessionLog(())

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, LeafSettings)
            check_attempts(turn, settings.max_attempts)
        except TurnEnded as over:
            yield over.ended
            return
        gates = turn.read
        if not isinstance(gates, SessionLog):
            gates = await self._read(self.read_ahead, turn)
        async with aclosing(_Pass(turn, settings, gates).events()) as events:
            async for event in events:
                yield event


def item_of(messages: Sequence[str]) -> WorkItem | None:
    """The item that a message holds as JSON, if one does."""
    for text in messages:
        with suppress(ValueError):
            return wire.validate_item(json_input.read_json(text))
    return None


class _Pass:
    """One pass of the state machine over one session."""

    def __init__(self, turn: Turn, settings: LeafSettings, gates: SessionLog) -> None:
        self._turn, self._settings, self._log = turn, settings, gates
        self._data = dict(turn.session_data)
        self._told = [given.body for given in turn.given if given.kind != "verdict"]

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        facts = facts_in(self._data) or self._facts_of_message()
        if facts is None:
            yield Ended(outcome=Outcome.BLOCKED, report=WHAT_TO_REVIEW)
            return
        short = self._without_the_agent(facts)
        if short is not None:
            yield short
            return
        async with aclosing(review_item(self._review(facts))) as telling:
            async for told in telling:
                yield self._ended(facts, told) if isinstance(told, Reviewed) else told

    def _facts_of_message(self) -> LeafFacts | None:
        """A person may start a review by a message that holds the item."""
        item = item_of(self._told)
        if item is None:
            return None
        facts = LeafFacts(session_id=f"session-{self._turn.session_id}", item=item)
        self._data, self._told = opened(facts), []
        return facts

    def _without_the_agent(self, facts: LeafFacts) -> Ended | None:
        """What needs no model: a gate that still waits, an abort, a verdict that is there."""
        step = self._step(facts)
        if isinstance(step, Aborted):
            return self._end(Outcome.WORK_DONE, "Aborted. There is no verdict.")
        if isinstance(step, Paused) and not self._told:
            draft = state.gate_draft(facts, step.gate.summary, step.gate.proposed_action)
            return self._end(Outcome.BLOCKED, asks=(draft,))
        if self._data.get("result"):
            return self._end(Outcome.WORK_DONE, "The verdict stands.")
        return None

    def _step(self, facts: LeafFacts) -> Seed | Paused | Aborted:
        workspace = facts.workspace_ref or self._settings.workspace
        return next_step(self._log.state, None, texts.fresh_prompt(facts.item, workspace))

    def _review(self, facts: LeafFacts) -> Review:
        state, settings, turn = self._log.state, self._settings, self._turn
        return Review(
            item_id=facts.item.item_id,
            prompt=self._prompt(facts),
            model=brains.chosen(settings.model, settings.models, facts.model),
            may_submit=may_submit(
                state.last_decision,
                require_approval=facts.item.require_approval,
                withheld=state.pending is not None or self._log.is_withheld,
            ),
            turns=min(wire.turns_allowed(facts.max_turns), settings.max_turns),
            seconds=settings.wall_clock_seconds,
            messages=self._data.get("messages") or [],
            files=Volume(settings.workspace, facts.workspace_ref) if settings.workspace else None,
            call_prefix=f"{turn.run_id}.{turn.epoch}.",
        )

    def _prompt(self, facts: LeafFacts) -> str:
        step = self._step(facts)
        said = [texts.told_by_a_person(words) for words in self._told]
        if self._log.is_withheld:
            said.insert(0, texts.WITHDRAWN)
        elif isinstance(step, Seed):
            said.insert(0, step.prompt)
        return "\n\n".join(said)

    def _ended(self, facts: LeafFacts, reviewed: Reviewed) -> Ended:
        match reviewed.result:
            case Asked(summary, proposed_action):
                draft = state.gate_draft(facts, summary, proposed_action)
                return self._end(Outcome.BLOCKED, asks=(draft,), messages=reviewed.messages)
            case Submitted(verdict):
                words = f"**{verdict['verdict']}** for {verdict['item_id']}. {verdict['reason']}"
                return self._end(
                    Outcome.WORK_DONE, words, messages=reviewed.messages, result=verdict
                )
            case Failed():
                return self._failed(facts, reviewed.result, reviewed.messages)
            case Broke():
                return self._broke(reviewed.result)

    def _failed(self, facts: LeafFacts, failed: Failed, messages: list[Any] | None) -> Ended:
        """The agent came to no end. A gate that waits goes on waiting: it is bound to this turn now."""
        if (gate := self._log.state.pending) is not None:
            draft = state.gate_draft(facts, gate.summary, gate.proposed_action)
            return self._end(Outcome.BLOCKED, asks=(draft,), messages=messages)
        told = {"reason": failed.reason, "message": failed.message}
        return self._end(Outcome.NO_WORK, error=failed.message, messages=messages, failed=told)

    def _broke(self, broke: Broke) -> Ended:
        if broke.limited:
            return Ended(
                outcome=Outcome.RATE_LIMITED,
                error=broke.message,
                retry_at=datetime.now(UTC) + LIMIT_PASSES,
            )
        last = self._turn.failures + 1 >= self._settings.max_attempts
        return Ended(
            outcome=Outcome.RETRYABLE_ERROR,
            error=broke.message,
            give_up=broke.for_good or last,
        )

    def _end(
        self,
        outcome: Outcome,
        report: str = "",
        *,
        asks: tuple[AskDraft, ...] = (),
        error: str = "",
        messages: list[Any] | None = None,
        result: dict[str, str] | None = None,
        failed: dict[str, str] | None = None,
    ) -> Ended:
        """The end of a turn that ran, with what the session keeps of it."""
        data = {**self._data, "failed": failed}
        if messages is not None:
            data["messages"] = messages
        if result is not None:
            data["result"] = result
        return Ended(outcome=outcome, report=report, asks=asks, error=error, session_data=data)
