"""The command hook: a command that runs for each event with a JSON object on its standard input.

It runs in its own process group, in the state folder, with a minimal environment, for at most ten
seconds. Exit code 0 means that it accepted the event.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from django.conf import settings

from agents.running import processes
from agents.running.processes import Command, CouldNotStartError, Exited
from workspace.notify.deliveries import Parcel
from workspace.notify.errors import Undelivered

SECONDS = 10.0
GRACE_SECONDS = 1.0
OUTPUT_LIMIT = 1024 * 1024


def as_json(parcel: Parcel) -> dict[str, Any]:
    """Return the input of the command: {"id", "kind", "at", "actor", "subject", "payload"}."""
    return {
        "id": parcel.uid,
        "kind": parcel.kind,
        "at": parcel.at,
        "actor": parcel.actor,
        "subject": parcel.subject,
        "payload": parcel.payload,
    }


async def run_hook(parcel: Parcel) -> None:
    """Run the command for an event. Raises Undelivered. No process of it outlives this call."""
    command = Command(
        argv=tuple(settings.NEEDS_YOU_EVENT_HOOK),
        cwd=str(settings.STATE_DIR),
        env=processes.minimal_env(settings.NEEDS_YOU_EVENT_HOOK_ENV),
        stdin=json.dumps(as_json(parcel)) + "\n",
        wall_clock_seconds=SECONDS,
        output_limit_bytes=OUTPUT_LIMIT,
        grace_seconds=GRACE_SECONDS,
    )
    try:
        async with contextlib.aclosing(processes.run_command(command)) as happening:
            async for event in happening:
                if isinstance(event, Exited):
                    _check(event)
    except CouldNotStartError as error:
        raise Undelivered(str(error)) from error


def _check(exited: Exited) -> None:
    if exited.cause == "timeout":
        raise Undelivered(f"The command ran longer than {SECONDS:g} seconds and was stopped.")
    if exited.cause == "output_limit":
        raise Undelivered(f"The command wrote more than {OUTPUT_LIMIT} bytes and was stopped.")
    if exited.code != 0:
        output = f" Its output: {exited.stderr.strip()[-300:]}" if exited.stderr.strip() else ""
        raise Undelivered(f"The command ended with exit code {exited.code}.{output}")
