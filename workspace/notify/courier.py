"""Deliver the items of the outbox, in the worker, until it stops.

At most four commands and four webhooks run at once, each for a bounded time, so that a slow receiver
delays only its own queue. Answering a question never waits for a delivery.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable

from django.conf import settings

from agents.db.retrying import LOST, in_database, in_database_within
from workspace.models import OutboxKind
from workspace.notify import deliveries, hook, webhook
from workspace.notify.deliveries import Parcel, Sink
from workspace.notify.errors import Undelivered

log = logging.getLogger(__name__)

AT_ONCE = 4
LOOK_EVERY = 0.5
PRUNE_EVERY = 3600.0
PUT_BACK_PATIENCE = 1.5

_SENDERS: dict[Sink, Callable[[Parcel], Awaitable[None]]] = {
    Sink.HOOK: hook.run_hook,
    Sink.WEBHOOK: webhook.send_webhook,
}


class Courier:
    """Delivers items in one process."""

    def __init__(self) -> None:
        self._under_way: dict[Sink, set[asyncio.Task[None]]] = {sink: set() for sink in Sink}
        self._pruned_at = time.monotonic()

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until asked to stop; then cancel the running attempts and return their deliveries."""
        _check_settings()
        try:
            while not stop.is_set():
                try:
                    await self.round()
                    await self._prune()
                except Exception:
                    log.exception("The courier failed and continues.")
                await self._wait(stop)
        finally:
            await self._end()

    async def round(self) -> int:
        """Spread new items and start due deliveries; return the number of started attempts."""
        if not await in_database(deliveries.anything_due):
            return 0
        started = 0
        for sink, tasks in self._under_way.items():
            if free := AT_ONCE - len(tasks):
                for parcel in await in_database(deliveries.claim_deliveries, sink, free):
                    self._start(sink, parcel)
                    started += 1
        return started

    async def _prune(self) -> None:
        if time.monotonic() - self._pruned_at > PRUNE_EVERY:
            self._pruned_at = time.monotonic()
            await in_database(deliveries.prune_deliveries)

    async def finish(self) -> None:
        """Wait for all running attempts."""
        while tasks := set().union(*self._under_way.values()):
            await asyncio.wait(tasks)

    def _start(self, sink: Sink, parcel: Parcel) -> None:
        task = asyncio.create_task(_deliver(sink, parcel), name=f"deliver {parcel.uid}")
        self._under_way[sink].add(task)
        task.add_done_callback(self._under_way[sink].discard)

    async def _wait(self, stop: asyncio.Event) -> None:
        """Wait until it is time to look again, an attempt ended, or the courier stops."""
        stopping = asyncio.create_task(stop.wait())
        tasks = set().union(*self._under_way.values())
        await asyncio.wait(
            {stopping, *tasks}, timeout=LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED
        )
        stopping.cancel()

    async def _end(self) -> None:
        tasks = set().union(*self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_settings() -> None:
    unknown = sorted(set(settings.NEEDS_YOU_EVENT_HOOK_KINDS) - set(OutboxKind.values))
    if unknown:
        names = ", ".join(unknown)
        log.warning("NEEDS_YOU_EVENT_HOOK_KINDS names %s, which is not a kind of event.", names)


async def _deliver(sink: Sink, parcel: Parcel) -> None:
    try:
        if not await in_database(deliveries.still_wanted, parcel):
            raise Undelivered("The owner of the webhook no longer owns the agent.", for_good=True)
        await _SENDERS[sink](parcel)
    except Undelivered as error:
        await in_database(deliveries.mark_failed, parcel, error)
    except asyncio.CancelledError:
        with contextlib.suppress(*LOST):
            await in_database_within(PUT_BACK_PATIENCE, deliveries.return_delivery, parcel)
        raise
    except Exception as error:
        log.exception("Delivery %s failed unexpectedly.", parcel.delivery_id)
        await in_database(
            deliveries.mark_failed, parcel, Undelivered(f"{type(error).__name__}: {error}")
        )
    else:
        await in_database(deliveries.mark_delivered, parcel)
