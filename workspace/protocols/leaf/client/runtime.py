"""The runtime ``leaf-remote``: drive sessions at a remote leaf harness.

A turn sends the session's envelope, with the owner's decision if there is one, and reads the
result. “Paused” becomes an approval in the workspace. Two results are shown to the owner to
resolve: a harness that still waits at a gate after its decision was sent (it rejected it), and one
that no longer knows a session that it had parked (it lost it).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

import httpx
from pydantic import BaseModel

from agents.lifecycle import Outcome
from agents.mending.checks import Finding
from agents.running.runtime import Ended, Given, Ignored, Step, Turn, TurnEvent
from workspace.protocols.common import ended_approvals, turn_endings
from workspace.protocols.common.http_client import PermanentError, ServerAway
from workspace.protocols.common.settings_checks import check_server, sent_prompt
from workspace.protocols.common.turn_settings import TurnEnded, settings_of
from workspace.protocols.leaf.agent.runtime import WHAT_TO_REVIEW, item_of
from workspace.protocols.leaf.client import owner_asks
from workspace.protocols.leaf.client.http import HarnessClient, HarnessReply
from workspace.protocols.leaf.client.memory import LeafMemory
from workspace.protocols.leaf.server.facts import LeafFacts, facts_in, opened
from workspace.protocols.leaf.settings import RemoteLeafSettings
from workspace.protocols.leaf.wire import ABORT, APPROVE, REJECT


class RemoteLeafRuntime:
    """Drive a remote harness."""

    key = "leaf-remote"
    hands_over_approvals = True
    settings_model: type[BaseModel] = RemoteLeafSettings

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport

    def check_settings(self, settings: dict[str, Any]) -> list[Finding]:
        checked = RemoteLeafSettings.model_validate(settings)
        return check_server(checked.base_url, checked.key_variable)

    def show_prompt(self, turn: Turn) -> str:
        return sent_prompt(turn, WHAT_TO_REVIEW)

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, RemoteLeafSettings)
        except TurnEnded as over:
            yield over.ended
            return
        messages = [given.body for given in turn.given if given.kind != "verdict"]
        item = None if facts_in(turn.session_data) else item_of(messages)
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
                ended = harness_turn.broke("The harness took too long. Its state is checked again.")
        for step in harness_turn.steps:
            yield step
        for message in messages if item is None else ():
            yield Ignored(message[:2000], "a harness accepts decisions, not messages")
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
        """Take the session one turn further, and return its end."""
        if self.data.get("result"):
            return self._end(Outcome.WORK_DONE, "The verdict is final.")
        choice, decision = self._owner_choice()
        if choice == owner_asks.END:
            report = "Ended by the owner. There is no verdict."
            failed = {"reason": "ended", "message": report}
            return self._end(Outcome.WORK_DONE, report, failed=failed)
        if choice == owner_asks.FRESH:
            harness = self._start_afresh(harness)
            decision = None
        try:
            return await self._exchange(harness, decision, even_if_lost=choice == owner_asks.AGAIN)
        except ServerAway as away:
            return turn_endings.end_away(away) or self.broke(str(away))
        except PermanentError as error:
            return self.broke(str(error), for_good=True)

    def _owner_choice(self) -> tuple[str, dict[str, Any] | None]:
        """Return the owner's last choice, and the decision to send: theirs, or one not sent yet."""
        verdicts = [given for given in self.turn.given if given.kind == "verdict"]
        if not verdicts:
            return "", self.memory.unsent
        last = verdicts[-1]
        choice = str(last.data.get("option", ""))
        if ended_approvals.why_ended(last):
            return "", None  # the harness still waits at its gate, and a person is asked again
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
        """Check before sending: a harness that lost a parked session would start over."""
        if self.memory.parked is not None and not even_if_lost:
            before = await harness.status_of_parked()
            self._record_step("Status", before)
            if not before.known or before.word == "queued":
                self.memory.unsent = decision
                return self._lost()
            if decision is None and not before.is_under_way:
                return self._result(before)
        reply = await self._send(harness, decision)
        reply = await self._poll(harness, reply, decision)
        return self._result(reply, decision)

    async def _send(self, harness: HarnessClient, decision: dict[str, Any] | None) -> HarnessReply:
        """Send. If the connection breaks, the session's status at the harness decides."""
        try:
            reply = await harness.send(decision)
        except ServerAway as away:
            if away.retry_after is not None:
                raise
            reply = await harness.status()
            if reply.is_under_way and (not reply.known or reply.word == "queued"):
                raise
            if reply.is_paused and decision is not None and reply.gate_id == decision["gateId"]:
                raise
        self._record_step("Sent the decision" if decision else "Sent the envelope", reply)
        return reply

    async def _poll(
        self, harness: HarnessClient, reply: HarnessReply, decision: dict[str, Any] | None
    ) -> HarnessReply:
        """Poll until the session is idle. For a while “paused” at the decided gate may be outdated."""
        loop = asyncio.get_running_loop()
        believe_after = loop.time() + self.settings.settle_seconds
        while reply.is_under_way or (
            self._may_be_old(reply, decision) and loop.time() < believe_after
        ):
            await asyncio.sleep(self.settings.poll_seconds)
            reply = await harness.status()
        self._record_step("Status", reply)
        return reply

    def _may_be_old(self, reply: HarnessReply, decision: dict[str, Any] | None) -> bool:
        """Whether a reply may predate the decision, or the file of its gate."""
        if self.settings.dialect == "files" and reply.is_paused and not reply.summary:
            return True
        return self.settings.asynchronous and _is_at(reply, decision)

    def _result(self, reply: HarnessReply, decision: dict[str, Any] | None = None) -> Ended:
        """Translate the harness's reply into the workspace's terms."""
        if reply.is_paused and reply.gate_id is not None:
            return self._parked(reply, decision)
        self.memory = LeafMemory(name=self.memory.name, starts=self.memory.starts)
        if reply.word == "done" and reply.verdict:
            heading = f"**{reply.verdict['verdict']}** for {reply.verdict['item_id']}. "
            return self._end(
                Outcome.WORK_DONE, heading + reply.verdict["reason"], result=reply.verdict
            )
        if reply.word == "aborted":
            return self._end(Outcome.WORK_DONE, "Aborted. There is no verdict.")
        if reply.word == "failed" and not reply.reason.startswith("error"):
            return self._end(Outcome.NO_WORK, error=f"The harness says: failed, {reply.reason}.")
        error = f"The harness says: {reply.word} {reply.reason}".strip() + "."
        if reply.word == "expired":
            return self._end(Outcome.BLOCKED, error=error)
        return self.broke(error)

    def _parked(self, reply: HarnessReply, decision: dict[str, Any] | None) -> Ended:
        """Ask about a gate. If it was just decided, the harness has rejected the decision."""
        refused = decision if decision and _is_at(reply, decision) else None
        self.memory = LeafMemory(
            name=self.memory.name,
            starts=self.memory.starts,
            parked=reply.gate_id,
            summary=reply.summary or self.memory.summary,
            proposed_action=reply.proposed_action or self.memory.proposed_action,
            binding=reply.binding,
        )
        draft = owner_asks.gate_ask(
            self.facts, self.settings.base_url, self.memory, refused=refused, why=reply.refused
        )
        return self._end(Outcome.BLOCKED, asks=(draft,))

    def _lost(self) -> Ended:
        error = f"The harness no longer knows this session, which was parked at gate {self.memory.parked}."
        draft = owner_asks.lost_ask(self.settings.base_url, self.memory)
        failed = {"reason": "lost", "message": error}
        return self._end(Outcome.BLOCKED, error=error, asks=(draft,), failed=failed)

    def broke(self, error: str, *, for_good: bool = False) -> Ended:
        return turn_endings.end_broken(
            self.turn, self.settings.max_attempts, error, for_good=for_good
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

    def _record_step(self, title: str, reply: HarnessReply) -> None:
        status = reply.word if reply.gate_id is None else f"{reply.word}, gate {reply.gate_id}"
        call = f"{self.turn.run_id}.{self.turn.epoch}.{len(self.steps)}"
        self.steps.append(Step(call, f"{title}: {self.settings.base_url}", status, reply.reason))


def _decision(given: Given, action: str) -> dict[str, Any]:
    """Return the verdict as the protocol's decision about the gate that the owner saw."""
    params = given.data.get("params") or {}
    decision: dict[str, Any] = {"gateId": params.get("gate"), "action": action}
    if text := given.data.get("text"):
        decision["feedback"] = text
    if params.get("binding"):
        decision["binding"] = params["binding"]
    return decision


def _is_at(reply: HarnessReply, decision: dict[str, Any] | None) -> bool:
    return reply.is_paused and decision is not None and reply.gate_id == decision["gateId"]
