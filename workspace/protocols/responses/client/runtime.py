"""The runtime ``responses-remote``: drive an agent behind any server of the Responses protocol.

A turn sends the session's input, follows the response to its end, and turns the agent's questions
into asks. A request is recorded before it is sent, so a worker that takes over the turn follows the
same response instead of starting another.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import httpx
from pydantic import BaseModel

from agents.db.retrying import in_database
from agents.mending.checks import Finding
from agents.running.runtime import Turn, TurnEvent
from workspace.protocols.common.settings_checks import check_server, sent_prompt
from workspace.protocols.common.time_limit import with_deadline
from workspace.protocols.common.turn_settings import TurnEnded, settings_of
from workspace.protocols.responses.client.conversation import ResponsesConversation
from workspace.protocols.responses.client.http import ResponsesClient
from workspace.protocols.responses.client.settings import RemoteSettings
from workspace.protocols.responses.client.snapshot import snapshot_of

Reader = Callable[..., Awaitable[Any]]


class RemoteResponsesRuntime:
    """Drive a remote agent. ``read`` does database work from the event loop."""

    key = "responses-remote"
    hands_over_approvals = True
    settings_model: type[BaseModel] = RemoteSettings

    def __init__(
        self, read: Reader = in_database, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._read, self._transport = read, transport

    def check_settings(self, settings: dict[str, Any]) -> list[Finding]:
        checked = RemoteSettings.model_validate(settings)
        return check_server(checked.base_url, checked.key_variable)

    def show_prompt(self, turn: Turn) -> str:
        return sent_prompt(turn, str(turn.agent.settings.get("input") or ""))

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, RemoteSettings)
        except TurnEnded as over:
            yield over.ended
            return
        known = await self._read(snapshot_of, turn.session_id, turn.run_id)
        async with httpx.AsyncClient(transport=self._transport, trust_env=False) as client:
            server = ResponsesClient(settings, client)
            conversation = ResponsesConversation(turn, settings, known, server)
            longest, too_late = settings.wall_clock_seconds, conversation.endings.took_too_long
            async with aclosing(with_deadline(longest, conversation.events(), too_late)) as events:
                async for event in events:
                    yield event
