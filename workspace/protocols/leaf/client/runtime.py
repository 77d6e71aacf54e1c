"""The runtime ``leaf-remote``: drives sessions at somebody else's leaf harness.

A turn sends the session's envelope, with the owner's decision if there is one, and reads what came
of it. “Paused” becomes an approval in the workspace. Two answers are the owner's problem and are
shown as such: a harness that still waits at a gate after its decision was sent (it refused it), and
one that knows nothing of a session it had parked (it lost it).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

import httpx
from pydantic import BaseModel

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Given, Ignored, Step, Turn, TurnEvent
from workspace.protocols.common import turn_endings
from workspace.protocols.common.http_client import PermanentError, ServerAway
from workspace.protocols.common.turn_settings import TurnEnded, settings_of
from workspace.protocols.leaf.agent.runtime import WHAT_TO_REVIEW, item_of
from workspace.protocols.leaf.client import owner_asks
from workspace.protocols.leaf.client.http import HarnessClient, HarnessReply
from workspace.protocols.leaf.client.memory import LeafMemory
from workspace.protocols.leaf.server.facts import LeafFacts, facts_in, opened
from workspace.protocols.leaf.settings import RemoteLeafSettings
from workspace.protocols.leaf.wire import ABORT, APPROVE, REJECT


class RemoteLeafRuntime:
    """Drives a remote harness."""

    key = "leaf-remote"
    settings_model: type[BaseModel] = RemoteLeafSettings

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, RemoteLeafSettings)
        except TurnEnded as over:
            yield over.ended
            return
        told = [given.body for given in turn.given if given.kind != "verdict"]
        item = None if facts_in(turn.session_data) else item_of(told)
        data = dict(turn.session_data)
        if item is not None:
            data = opened(LeafFacts(session_id=f"session-{turn.session_id}", item=item))
        facts = facts_in(data)
        if facts is None:
            yield Ended(outcome=Outcome.BLOCKED, report=WHAT_TO_REVIEW)
            return
        async with httpx.AsyncClient(transport=self._transport, trust_env=False) as client:
            harness_turn = _HarnessTurn(turn, settings, facts, data)
            name = harness_turn.memory.name or facts.session_id
            try:
                async with asyncio.timeout(settings.wall_clock_seconds):
                    ended = await harness_turn.carry(HarnessClient(settings, facts, name, client))
            except TimeoutError:
                ended = harness_turn.broke(
                    "The harness was at work for too long; its state is looked at again."
                )
        for step in harness_turn.steps:
            yield step
        for words in told if item is None else ():
            yield Ignored(words[:2000], "a harness takes decisions and no messages")
        yield ended


@dataclass
class _HarnessTurn:
    """One turn's conversation with the harness."""

    turn: Turn
    settings: RemoteLeafSettings
    facts: LeafFacts
    data: dict[str, Any]

    def __post_init__(self) -> None:
        self.memory = LeafMemory.model_validate(self.data.get("remote") or {})
        self.steps: list[Step] = []

    async def carry(self, harness: HarnessClient) -> Ended:
        """Bring the session one turn further."""
        if self.data.get("result"):
            return self._end(Outcome.WORK_DONE, "The verdict stands.")
        choice, decision = self._owners_word()
        if choice == owner_asks.END:
            words = "Ended by the owner. There is no verdict."
            failed = {"reason": "ended", "message": words}
            return self._end(Outcome.WORK_DONE, words, failed=failed)
        if choice == owner_asks.FRESH:
            harness = self._start_afresh(harness)
            decision = None
        try:
            return await self._exchange(harness, decision, even_if_lost=choice == owner_asks.AGAIN)
        except ServerAway as away:
            return turn_endings.end_away(away) or self.broke(str(away))
        except PermanentError as error:
            return self.broke(str(error), for_good=True)

    def _owners_word(self) -> tuple[str, dict[str, Any] | None]:
        """What the owner chose last, and the decision to send: theirs, or one that is still unsent."""
        verdicts = [given for given in self.turn.given if given.kind == "verdict"]
        if not verdicts:
            return "", self.memory.unsent
        last = verdicts[-1]
        choice = str(last.data.get("option", ""))
        if choice in (APPROVE, REJECT, ABORT):
            return choice, _decision(last, choice)
        return choice, self.memory.unsent

    def _start_afresh(self, harness: HarnessClient) -> HarnessClient:
        starts = self.memory.starts + 1
        name = f"{self.facts.session_id}.{starts}"
        self.memory = LeafMemory(name=name, starts=starts)
        return replace(harness, name=name)

    async def _exchange(
        self, harness: HarnessClient, decision: dict[str, Any] | None, *, even_if_lost: bool
    ) -> Ended:
        """Look before sending: a harness that lost a parked session would start it all over."""
        if self.memory.parked is not None and not even_if_lost:
            before = await harness.status_of_parked()
            self._say("How it stands", before)
            if not before.known or before.word == "queued":
                self.memory.unsent = decision
                return self._lost()
            if decision is None and not before.is_under_way:
                return self._result(before)
        found = await self._send(harness, decision)
        found = await self._followed(harness, found, decision)
        return self._result(found, decision)

    async def _send(self, harness: HarnessClient, decision: dict[str, Any] | None) -> HarnessReply:
        """Send; if the connection broke, what the harness says of the session counts."""
        try:
            found = await harness.send(decision)
        except ServerAway as away:
            if away.retry_after is not None:
                raise
            found = await harness.status()
            if found.is_under_way and (not found.known or found.word == "queued"):
                raise
            if found.is_paused and decision is not None and found.gate_id == decision["gateId"]:
                raise
        self._say("Sent the decision" if decision else "Sent the envelope", found)
        return found

    async def _followed(
        self, harness: HarnessClient, found: HarnessReply, decision: dict[str, Any] | None
    ) -> HarnessReply:
        """Poll until the session rests. For a while “paused” at the decided gate may be old news."""
        loop = asyncio.get_running_loop()
        believe_after = loop.time() + self.settings.settle_seconds
        while found.is_under_way or (
            self._may_be_old(found, decision) and loop.time() < believe_after
        ):
            await asyncio.sleep(self.settings.poll_seconds)
            found = await harness.status()
        self._say("How it stands", found)
        return found

    def _may_be_old(self, found: HarnessReply, decision: dict[str, Any] | None) -> bool:
        """Whether this may be said before a decision was looked at, or its gate's file was written."""
        if self.settings.dialect == "files" and found.is_paused and not found.summary:
            return True
        return self.settings.asynchronous and _is_at(found, decision)

    def _result(self, found: HarnessReply, decision: dict[str, Any] | None = None) -> Ended:
        """What the harness says, in the workspace's terms."""
        if found.is_paused and found.gate_id is not None:
            return self._parked(found, decision)
        self.memory = LeafMemory(name=self.memory.name, starts=self.memory.starts)
        if found.word == "done" and found.verdict:
            words = f"**{found.verdict['verdict']}** for {found.verdict['item_id']}. "
            return self._end(
                Outcome.WORK_DONE, words + found.verdict["reason"], result=found.verdict
            )
        if found.word == "aborted":
            return self._end(Outcome.WORK_DONE, "Aborted. There is no verdict.")
        if found.word == "failed" and not found.reason.startswith("error"):
            return self._end(Outcome.NO_WORK, error=f"The harness says: failed, {found.reason}.")
        words = f"The harness says: {found.word} {found.reason}".strip() + "."
        if found.word == "expired":
            return self._end(Outcome.BLOCKED, error=words)
        return self.broke(words)

    def _parked(self, found: HarnessReply, decision: dict[str, Any] | None) -> Ended:
        """A gate. If it is the one that was decided, the harness has refused the decision."""
        refused = decision if decision and _is_at(found, decision) else None
        self.memory = LeafMemory(
            name=self.memory.name,
            starts=self.memory.starts,
            parked=found.gate_id,
            summary=found.summary or self.memory.summary,
            proposed_action=found.proposed_action or self.memory.proposed_action,
            binding=found.binding,
        )
        draft = owner_asks.gate_ask(
            self.facts, self.settings.base_url, self.memory, refused=refused, why=found.refused
        )
        return self._end(Outcome.BLOCKED, asks=(draft,))

    def _lost(self) -> Ended:
        words = f"The harness knows nothing of this session, which was parked at gate {self.memory.parked}."
        draft = owner_asks.lost_ask(self.settings.base_url, self.memory)
        failed = {"reason": "lost", "message": words}
        return self._end(Outcome.BLOCKED, error=words, asks=(draft,), failed=failed)

    def broke(self, words: str, *, for_good: bool = False) -> Ended:
        return turn_endings.end_broken(
            self.turn, self.settings.max_attempts, words, for_good=for_good
        )

    def _end(
        self,
        outcome: Outcome,
        report: str = "",
        *,
        error: str = "",
        asks: tuple[object, ...] = (),
        result: dict[str, Any] | None = None,
        failed: dict[str, str] | None = None,
    ) -> Ended:
        if error and failed is None:
            failed = {"reason": "error", "message": error}
        data = {**self.data, "remote": self.memory.model_dump(), "failed": failed}
        if result is not None:
            data["result"] = result
        return Ended(outcome=outcome, report=report, error=error, asks=asks, session_data=data)

    def _say(self, title: str, found: HarnessReply) -> None:
        status = found.word if found.gate_id is None else f"{found.word}, gate {found.gate_id}"
        call = f"{self.turn.run_id}.{self.turn.epoch}.{len(self.steps)}"
        self.steps.append(Step(call, f"{title}: {self.settings.base_url}", status, found.reason))


def _decision(given: Given, action: str) -> dict[str, Any]:
    """The verdict as the protocol's decision, about the gate that the owner was shown."""
    params = given.data.get("params") or {}
    decision: dict[str, Any] = {"gateId": params.get("gate"), "action": action}
    if words := given.data.get("text"):
        decision["feedback"] = words
    if params.get("binding"):
        decision["binding"] = params["binding"]
    return decision


def _is_at(found: HarnessReply, decision: dict[str, Any] | None) -> bool:
    return found.is_paused and decision is not None and found.gate_id == decision["gateId"]
