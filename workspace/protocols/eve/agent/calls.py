"""Carries out what a model calls: at once, after an approval exactly once, or not at all.

An approved call takes its grant first, which is written down for good; then it runs; then how it
ended is written down with what it gave back. A worker that is lost in between leaves a grant that
was begun and never ended: it is not begun again, a person is asked.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.db import transaction
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.exceptions import ToolFailed as TellModel
from pydantic_core import to_jsonable_python

from agents.db import statements
from agents.running.runtime import Turn
from agents.text.storable import make_storable
from asks.actions import grants
from asks.actions.grants import Begun
from asks.drafts.validation import BadDraft
from workspace.protocols.eve.agent import gating, questions, texts
from workspace.protocols.eve.agent.parking import Kind, Parked, draft_of, new_approval_key
from workspace.protocols.eve.agent.reporter import Reporter
from workspace.protocols.eve.agent.resolving import ResolutionState, Resolved
from workspace.protocols.eve.agent.threads import run_in_thread
from workspace.protocols.eve.models import EveResult
from workspace.toolkit import BadInput, Proposal, Tool, ToolContext, ToolFailed, always, never
from workspace.toolkit.approval import needs_approval

Reader = Callable[..., Awaitable[Any]]


class Calls:
    """The calls of one turn. ``read`` does database work that may be done twice, ``once`` all other."""

    def __init__(
        self,
        turn: Turn,
        resolved: Sequence[Resolved],
        telling: Reporter,
        *,
        read: Reader,
        once: Reader,
    ) -> None:
        self._turn, self._telling, self._read, self._once = turn, telling, read, once
        self._resolved = {one.parked.call_id: one for one in resolved}
        self.parked: dict[str, Parked] = {}

    async def call(self, tool: Tool, call_id: str, given: dict[str, Any], *, approved: bool) -> Any:
        """What a call gives back. Raises what tells pydantic-ai that it waits, or that it failed."""
        if approved:
            return await self._approved(tool, self._resolved[call_id])
        try:
            params = tool.checked(given)
        except BadInput as error:
            raise TellModel(f"Invalid input for {tool.name}: {error}") from error
        if await self._must_ask(tool, params):
            self._park(call_id, tool.name, params, "tool-approval", new_approval_key(), tool)
            raise ApprovalRequired
        return await self._free(tool, call_id, params)

    async def ask(self, call_id: str, given: dict[str, Any]) -> Any:
        """A question: it always waits."""
        try:
            params = questions.check_question(given)
        except BadInput as error:
            raise TellModel(f"Invalid input for {questions.NAME}: {error}") from error
        taken = await self._read(gating.is_taken, self._turn.session_id, call_id)
        name = f"{call_id}.{self._turn.run_id}.{self._telling.step}" if taken else call_id
        self._park(call_id, questions.NAME, params, "question", name[-190:])
        raise CallDeferred(kind="question")

    def _park(
        self,
        call_id: str,
        name: str,
        params: dict[str, Any],
        kind: Kind,
        key: str,
        tool: Tool | None = None,
    ) -> None:
        parked = Parked(call_id, name, params, kind, key, max(self._telling.step, 0))
        try:
            draft_of(parked, tool)
        except BadDraft as error:
            raise TellModel(f"This cannot be asked. {error}") from error
        self.parked[call_id] = parked

    async def _must_ask(self, tool: Tool, params: dict[str, Any]) -> bool:
        session_id = self._turn.session_id
        if tool.needs is always():
            return True
        if tool.needs is not never():
            approved = await self._read(gating.approved_tools, session_id)
            if await needs_approval(tool.needs, Proposal(tool.name, params, approved)):
                return True
        return bool(await self._read(gating.policy_asks, session_id, tool.name, params))

    async def _free(self, tool: Tool, call_id: str, params: dict[str, Any]) -> Any:
        self._telling.requested(call_id, tool.name, params)
        self._telling.runs(call_id, tool.name, params)
        try:
            key = f"{self._turn.run_id}.{self._turn.epoch}.{call_id}"
            output = await self._run(tool, params, self._context(call_id, key))
        except Exception as error:
            words = _failure(error)
            self._telling.result(call_id, tool.name, words, failed=True)
            raise TellModel(words) from error
        self._telling.result(call_id, tool.name, output)
        return output

    async def _approved(self, tool: Tool, found: Resolved) -> Any:
        """Run an approved call, or give back what it came to when it was run before."""
        call_id = found.parked.call_id
        if found.state is ResolutionState.ENDED:
            return self._ended(found.parked, found.output, failed=found.failed)
        try:
            params = tool.checked(found.params)
        except BadInput as error:
            words = f"Invalid input for {tool.name}: {error}"
            return self._ended(found.parked, words, failed=True)
        begun: Begun | None = await self._once(self._begin, tool.name, found.params)
        if begun is None:
            return self._ended(found.parked, texts.NOT_GRANTED, failed=True)
        self._telling.runs(call_id, tool.name, params)
        try:
            context = self._context(call_id, found.parked.request_key, found.by)
            output = await self._run(tool, params, context)
        except ToolFailed as error:
            await self._read(_end, begun, str(error), True)
            return self._ended(found.parked, str(error), failed=True)
        except Exception as error:  # noqa: BLE001 -- whether it happened is for the owner to say
            words = f"{texts.BROKE} ({_failure(error)})"
            return self._ended(found.parked, words, failed=True)
        await self._read(_end, begun, output, False)
        return self._ended(found.parked, output)

    def _begin(self, operation: str, params: Any) -> Begun | None:
        turn = self._turn
        return grants.begin_effect(
            session_id=turn.session_id, operation=operation, params=params, fence=turn.fence
        )

    def _ended(self, parked: Parked, output: Any, *, failed: bool = False) -> Any:
        self._telling.result(parked.call_id, parked.tool_name, output, failed=failed)
        if failed:
            raise TellModel(str(output))
        return output

    def _context(self, call_id: str, key: str, approved_by: str = "") -> ToolContext:
        turn = self._turn
        return ToolContext(turn.agent.slug, turn.session_id, call_id, key, approved_by)

    async def _run(self, tool: Tool, params: dict[str, Any], context: ToolContext) -> Any:
        arguments = tool.arguments(params, context)
        async with asyncio.timeout(tool.seconds):
            if inspect.iscoroutinefunction(tool.function):
                output = tool.function(**arguments)
            else:
                output = await run_in_thread(tool.function, arguments)
            if inspect.isawaitable(output):
                output = await output
        return make_storable(to_jsonable_python(output, fallback=str))


@transaction.atomic
def _end(begun: Begun, output: Any, failed: bool) -> None:  # noqa: FBT001 -- called through read
    """How an approved call ended, and what it gave back, in one transaction. Again it writes nothing."""
    detail = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    if grants.finish_effect(begun, happened=not failed, detail=detail):
        statements.insert(
            EveResult(redemption_id=begun.redemption_id, output=output, failed=failed)
        )


def _failure(error: Exception) -> str:
    if isinstance(error, ToolFailed):
        return make_storable(str(error))
    if isinstance(error, TimeoutError) and not str(error):
        return "It took too long and was ended."
    return make_storable(f"{type(error).__name__}: {error}")
