"""Carry out the calls of a model: immediately, or exactly once after an approval.

An approved call first redeems its grant in a committed transaction, then runs, then stores its end
and its result together. If the worker is lost in between, the effect has begun and has no end: the
call is never run again, and the owner is asked what happened.
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
    """The calls of one turn. ``read`` runs repeatable database work, ``once`` work that is not."""

    def __init__(
        self,
        turn: Turn,
        resolved: Sequence[Resolved],
        reporter: Reporter,
        *,
        read: Reader,
        once: Reader,
    ) -> None:
        self._turn, self._reporter, self._read, self._once = turn, reporter, read, once
        self._resolved = {one.parked.call_id: one for one in resolved}
        self.parked: dict[str, Parked] = {}

    async def call(self, tool: Tool, call_id: str, given: dict[str, Any], *, approved: bool) -> Any:
        """Return the result of a call. Raises pydantic-ai's exceptions if it waits or fails."""
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
        """Park a question. Always raises: CallDeferred, or ToolFailed for invalid input."""
        try:
            params = questions.check_question(given)
        except BadInput as error:
            raise TellModel(f"Invalid input for {questions.NAME}: {error}") from error
        taken = await self._read(gating.is_taken, self._turn.session_id, call_id)
        name = f"{call_id}.{self._turn.run_id}.{self._reporter.step}" if taken else call_id
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
        parked = Parked(call_id, name, params, kind, key, max(self._reporter.step, 0))
        try:
            draft_of(parked, tool)
        except BadDraft as error:
            raise TellModel(f"This request cannot be asked. {error}") from error
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
        self._reporter.requested(call_id, tool.name, params)
        self._reporter.runs(call_id, tool.name, params)
        try:
            key = f"{self._turn.run_id}.{self._turn.epoch}.{call_id}"
            output = await self._run(tool, params, self._context(call_id, key))
        except Exception as error:
            message = _failure(error)
            self._reporter.result(call_id, tool.name, message, failed=True)
            raise TellModel(message) from error
        self._reporter.result(call_id, tool.name, output)
        return output

    async def _approved(self, tool: Tool, call: Resolved) -> Any:
        """Run an approved call, or return the stored result if it has run before."""
        call_id = call.parked.call_id
        if call.state is ResolutionState.ENDED:
            return self._ended(call.parked, call.output, failed=call.failed)
        try:
            params = tool.checked(call.params)
        except BadInput as error:
            message = f"Invalid input for {tool.name}: {error}"
            return self._ended(call.parked, message, failed=True)
        begun: Begun | None = await self._once(self._begin, tool.name, call.params)
        if begun is None:
            return self._ended(call.parked, texts.NOT_GRANTED, failed=True)
        self._reporter.runs(call_id, tool.name, params)
        try:
            context = self._context(call_id, call.parked.request_key, call.by)
            output = await self._run(tool, params, context)
        except ToolFailed as error:
            await self._read(_end, begun, str(error), True)
            return self._ended(call.parked, str(error), failed=True)
        except Exception as error:  # noqa: BLE001 -- only the owner can tell whether it happened
            message = f"{texts.BROKE} ({_failure(error)})"
            return self._ended(call.parked, message, failed=True)
        await self._read(_end, begun, output, False)
        return self._ended(call.parked, output)

    def _begin(self, operation: str, params: Any) -> Begun | None:
        turn = self._turn
        return grants.begin_effect(
            session_id=turn.session_id, operation=operation, params=params, fence=turn.fence
        )

    def _ended(self, parked: Parked, output: Any, *, failed: bool = False) -> Any:
        self._reporter.result(parked.call_id, parked.tool_name, output, failed=failed)
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
    """Store the end and the result of an approved call together. Repeating it writes nothing."""
    detail = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    if grants.finish_effect(begun, happened=not failed, detail=detail):
        statements.insert(
            EveResult(redemption_id=begun.redemption_id, output=output, failed=failed)
        )


def _failure(error: Exception) -> str:
    if isinstance(error, ToolFailed):
        return make_storable(str(error))
    if isinstance(error, TimeoutError) and not str(error):
        return "The call timed out."
    return make_storable(f"{type(error).__name__}: {error}")
