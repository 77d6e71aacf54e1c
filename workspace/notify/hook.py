"""The command hook: one command, started for each event with one JSON object on its standard input.

It runs as a process group of its own, in the state folder, with a minimal environment, for ten
seconds at most. Exit code 0 means taken.
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
    """{"id", "kind", "at", "actor", "subject", "payload"}: what the command reads."""
    return {
        "id": parcel.uid,
        "kind": parcel.kind,
        "at": parcel.at,
        "actor": parcel.actor,
        "subject": parcel.subject,
        "payload": parcel.payload,
    }


async def run_hook(parcel: Parcel) -> None:
    """Tell the command. Raises Undelivered; however this ends, nothing of the command runs on."""
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
        raise Undelivered(f"The command ran longer than {SECONDS:g} seconds and was ended.")
    if exited.cause == "output_limit":
        raise Undelivered(f"The command said more than {OUTPUT_LIMIT} bytes and was ended.")
    if exited.code != 0:
        said = f" It said: {exited.stderr.strip()[-300:]}" if exited.stderr.strip() else ""
        raise Undelivered(f"The command ended with {exited.code}.{said}")
