"""Notice requests that were answered at the agent's side while its session waits here.

No turn reads the stream of a waiting session, so each one is checked from time to time. A request
that was resolved there is withdrawn here with the reason, and the session continues and reads the
result.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from dataclasses import dataclass
from typing import Any

import httpx
from django.db import transaction
from pydantic import ValidationError

from agents.events.log import record_event
from agents.locking import LockedSession, lock_session
from agents.models import Session
from asks import closing
from asks.drafts import request_keys
from asks.lifecycle import AskStatus
from asks.models import Ask
from workspace.protocols.common.http_client import PermanentError, ServerAway
from workspace.protocols.common.memory import load_memory
from workspace.protocols.eve.client.decoder import EveDecoder
from workspace.protocols.eve.client.http import EveClient, EveRefused, SessionGone
from workspace.protocols.eve.client.memory import PLACE, EveMemory
from workspace.protocols.eve.client.runtime import KEY
from workspace.protocols.eve.client.settings import EveRemoteSettings
from workspace.protocols.eve.client.stream import look_at_stream

log = logging.getLogger(__name__)

#: The most sessions to check in a round, and the longest that a round takes, in seconds.
MOST = 50
LONGEST_ROUND = 30.0
_looked: dict[int, float] = {}


@dataclass(frozen=True)
class _Waiting:
    """A session that waits here for an answer to its remote agent."""

    session_id: int
    settings: EveRemoteSettings
    memory: EveMemory


def watch_sessions() -> int:
    """Check the sessions that are due. Return how many asks were answered there."""
    due = _due(time.monotonic())
    if not due:
        return 0
    resolved = asyncio.run(_resolved(due))
    return sum(_withdraw(session_id, how) for session_id, how in resolved.items() if how)


def _due(now: float) -> list[_Waiting]:
    """Return the sessions whose settings make them due, the longest unchecked first."""
    open_asks = Ask.objects.filter(status=AskStatus.OPEN, agent__runtime=KEY)
    waiting = Session.objects.filter(pk__in=open_asks.values("session"))
    every = {pk: _every(settings) for pk, settings in waiting.values_list("pk", "agent__settings")}
    for gone in _looked.keys() - every.keys():
        del _looked[gone]
    last = {pk: _looked.setdefault(pk, now) for pk in every}
    due = sorted((at, pk) for pk, at in last.items() if now - at >= every[pk])[:MOST]
    sessions = Session.objects.select_related("agent").in_bulk([pk for _, pk in due])
    return [one for session in sessions.values() if (one := _read_waiting(session)) is not None]


def _every(settings: object) -> float:
    """Return the seconds between checks of a session; infinite if its agent's settings are invalid."""
    try:
        return EveRemoteSettings.model_validate(settings).watch_seconds
    except ValidationError:
        return math.inf


def _read_waiting(session: Session) -> _Waiting | None:
    settings = EveRemoteSettings.model_validate(session.agent.settings)
    memory = load_memory(EveMemory, PLACE, session.data, {})
    _looked[session.pk] = time.monotonic()
    return _Waiting(session.pk, settings, memory) if memory.session_id else None


async def _resolved(due: list[_Waiting]) -> dict[int, dict[str, str]]:
    """Return how requests ended there, by session and key. Unreachable servers are checked later."""
    tasks = {one.session_id: asyncio.create_task(_check_session(one)) for one in due}
    await asyncio.wait(tasks.values(), timeout=LONGEST_ROUND)
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    done = {pk: task for pk, task in tasks.items() if not task.cancelled()}
    return {pk: task.result() for pk, task in done.items() if task.exception() is None}


async def _check_session(one: _Waiting) -> dict[str, str]:
    memory = one.memory
    hearing = EveDecoder(memory.cursor, memory.version, pending=dict(memory.pending))
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            server = EveClient(one.settings, client)
            async for _ in look_at_stream(server, memory.session_id, hearing):
                pass
    except (ServerAway, SessionGone, EveRefused, PermanentError) as trouble:
        log.info("Session %s cannot be checked: %s", one.session_id, trouble)
    return hearing.resolved


@transaction.atomic
def _withdraw(session_id: int, how: dict[str, str]) -> int:
    """Close the asks that were resolved there, and continue the session if no other is open."""
    session = lock_session(session_id)
    asks = Ask.objects.filter(session=session, status=AskStatus.OPEN).select_related("run")
    over = [ask for ask in asks.order_by("pk") if request_keys.root_of(ask.request_key) in how]
    for ask in over:
        ask.run.refresh_from_db()
        reason = f"Answered at the agent's own side: {how[request_keys.root_of(ask.request_key)]}."
        closing.close_ask(session, ask, AskStatus.WITHDRAWN, reason=reason)
        _record_withdrawal(session, ask, reason)
    if over:
        closing.continue_session(session, over[-1])
    return len(over)


def _record_withdrawal(session: LockedSession, ask: Ask, reason: str) -> None:
    data: dict[str, Any] = {"ask_id": ask.pk, "prompt": ask.prompt[:500], "elsewhere": True}
    record_event(session, "withdrawn", actor="system", run=ask.run, text=reason, data=data)
