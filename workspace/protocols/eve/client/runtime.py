"""The runtime ``eve-remote``: drive an agent behind any eve server, of both eras.

A turn reads the stream from where the last one stopped, sends the session's input, follows the
stream until the agent is idle, and turns its requests into asks. A waiting session holds no
resources.
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
from workspace.protocols.eve.client.conversation import EveConversation
from workspace.protocols.eve.client.http import EveClient
from workspace.protocols.eve.client.settings import EveRemoteSettings
from workspace.protocols.eve.client.snapshot import snapshot_of

KEY = "eve-remote"
Reader = Callable[..., Awaitable[Any]]


class RemoteEveRuntime:
    """Drive a remote agent. ``read`` does database work from the event loop."""

    key = KEY
    hands_over_approvals = True
    settings_model: type[BaseModel] = EveRemoteSettings

    def __init__(self, read: Reader = in_database) -> None:
        self._read = read

    def check_settings(self, settings: dict[str, Any]) -> list[Finding]:
        checked = EveRemoteSettings.model_validate(settings)
        return check_server(checked.base_url, checked.key_variable)

    def show_prompt(self, turn: Turn) -> str:
        return sent_prompt(turn, str(turn.agent.settings.get("input") or ""))

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, EveRemoteSettings)
        except TurnEnded as over:
            yield over.ended
            return
        known = await self._read(snapshot_of, turn.session_id, turn.run_id)
        async with httpx.AsyncClient(trust_env=False) as client:
            server = EveClient(settings, client)
            conversation = EveConversation(turn, settings, known, server)
            longest = settings.wall_clock_seconds
            async with aclosing(
                with_deadline(longest, conversation.events(), conversation.took_too_long)
            ) as events:
                async for event in events:
                    yield event
