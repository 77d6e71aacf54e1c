"""The runtime ``leaf``: a built-in reviewing agent; each turn is one pass of the state machine.

A turn that requests approval parks: its session, conversation and gate are stored, and nothing runs.
A turn that breaks is retried, and given up after ``max_attempts`` failures in a row.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from agents.db.retrying import in_database
from agents.lifecycle import Outcome
from agents.mending.checks import Finding, check_folder
from agents.running.runtime import Ended, Turn, TurnEvent
from agents.text import json_input
from asks.drafts import AskDraft
from workspace.protocols.common.settings_checks import note_model, sent_prompt
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
    """Run the built-in reviewing agent. ``read`` runs database work from the event loop."""

    key = "leaf"
    hands_over_approvals = True
    settings_model: type[BaseModel] = LeafSettings

    def __init__(self, read: Reader = in_database) -> None:
        self._read = read

    def read_ahead(self, turn: Turn) -> SessionLog:
        """Read the session's gates. The first turn has none: a gate is raised when a turn ends."""
        return state.read_log(turn.session_id) if turn.number > 1 else SessionLog(())

    def check_settings(self, settings: dict[str, Any]) -> list[Finding]:
        checked = LeafSettings.model_validate(settings)
        found = check_folder("workspace", checked.workspace)
        found += check_folder("volume", checked.volume)
        for name in [checked.model, *checked.models.values()]:
            try:
                brains.model_named(name)
            except brains.NoSuchModel as error:
                found.append(note_model(name, error))
        return found

    def show_prompt(self, turn: Turn) -> str:
        """Return the envelope that the turn would review."""
        return sent_prompt(turn, WHAT_TO_REVIEW)

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
    """Return the first message that is a work item as JSON, or None."""
    for text in messages:
        with suppress(ValueError):
            return wire.validate_item(json_input.read_json(text))
    return None


class _Pass:
    """One pass of the state machine over one session."""

    def __init__(self, turn: Turn, settings: LeafSettings, gates: SessionLog) -> None:
        self._turn, self._settings, self._log = turn, settings, gates
        self._data = dict(turn.session_data)
        self._messages = [given.body for given in turn.given if given.kind != "verdict"]

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        facts = facts_in(self._data) or self._facts_of_message()
        if facts is None:
            yield Ended(outcome=Outcome.BLOCKED, report=WHAT_TO_REVIEW)
            return
        ended = self._without_the_agent(facts)
        if ended is not None:
            yield ended
            return
        async with aclosing(review_item(self._review(facts))) as events:
            async for event in events:
                yield self._ended(facts, event) if isinstance(event, Reviewed) else event

    def _facts_of_message(self) -> LeafFacts | None:
        """Open a review from a message that is a work item, or return None."""
        item = item_of(self._messages)
        if item is None:
            return None
        facts = LeafFacts(session_id=f"session-{self._turn.session_id}", item=item)
        self._data, self._messages = opened(facts), []
        return facts

    def _without_the_agent(self, facts: LeafFacts) -> Ended | None:
        """End the turn if no model is needed: aborted, still waiting at a gate, or already decided."""
        step = self._step(facts)
        if isinstance(step, Aborted):
            return self._end(Outcome.WORK_DONE, "Aborted. There is no verdict.")
        if isinstance(step, Paused) and not self._messages:
            draft = state.gate_draft(facts, step.gate.summary, step.gate.proposed_action)
            return self._end(Outcome.BLOCKED, asks=(draft,))
        if self._data.get("result"):
            return self._end(Outcome.WORK_DONE, "The verdict was already submitted.")
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
        parts = [texts.owner_message(text) for text in self._messages]
        if self._log.is_withheld:
            parts.insert(0, texts.WITHDRAWN)
        elif isinstance(step, Seed):
            parts.insert(0, step.prompt)
        return "\n\n".join(parts)

    def _ended(self, facts: LeafFacts, reviewed: Reviewed) -> Ended:
        match reviewed.result:
            case Asked(summary, proposed_action):
                draft = state.gate_draft(facts, summary, proposed_action)
                return self._end(Outcome.BLOCKED, asks=(draft,), messages=reviewed.messages)
            case Submitted(verdict):
                report = f"**{verdict['verdict']}** for {verdict['item_id']}. {verdict['reason']}"
                return self._end(
                    Outcome.WORK_DONE, report, messages=reviewed.messages, result=verdict
                )
            case Failed():
                return self._failed(facts, reviewed.result, reviewed.messages)
            case Broke():
                return self._broke(reviewed.result)

    def _failed(self, facts: LeafFacts, failed: Failed, messages: list[Any] | None) -> Ended:
        """End a turn without a result. A pending gate is asked again, now bound to this turn."""
        if (gate := self._log.state.pending) is not None:
            draft = state.gate_draft(facts, gate.summary, gate.proposed_action)
            return self._end(Outcome.BLOCKED, asks=(draft,), messages=messages)
        failure = {"reason": failed.reason, "message": failed.message}
        return self._end(Outcome.NO_WORK, error=failed.message, messages=messages, failed=failure)

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
        """End a turn that ran, with the data that its session keeps."""
        data = {**self._data, "failed": failed}
        if messages is not None:
            data["messages"] = messages
        if result is not None:
            data["result"] = result
        return Ended(outcome=outcome, report=report, asks=asks, error=error, session_data=data)
