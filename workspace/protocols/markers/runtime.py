"""The runtime ``markers``: each turn runs a local command.

The command reads its capsule from standard input and writes the marker protocol to standard output.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents.lifecycle import Outcome
from agents.mending.checks import Finding, check_command
from agents.running.capsule import write_capsule
from agents.running.processes import (
    Command,
    CouldNotStartError,
    Exited,
    Spawned,
    minimal_env,
    run_command,
)
from agents.running.runtime import Ended, Remembered, Started, Turn, TurnEvent
from asks.remembering import remember_asks
from workspace.protocols.common.turn_settings import TurnEnded, settings_of
from workspace.protocols.markers import turn_file
from workspace.protocols.markers.instructions import closing_text
from workspace.protocols.markers.output import OutputReader, output_reader_for
from workspace.protocols.markers.permissions.approved_tools import VARIABLE as GRANTS
from workspace.protocols.markers.permissions.grant_socket import Books, GrantsOfTurn, socket_for
from workspace.protocols.markers.settings import MarkersSettings
from workspace.protocols.markers.turn_file import VARIABLE as TURN


class MarkersRuntime:
    """Run any command-line agent. Closing the generator of a turn (aclosing) kills the command."""

    key = "markers"
    settings_model = MarkersSettings

    def __init__(self, books: Books = GrantsOfTurn) -> None:
        """``books`` creates the record of grants for a turn."""
        self._books = books

    def check_settings(self, settings: dict[str, Any]) -> list[Finding]:
        checked = MarkersSettings.model_validate(settings)
        return check_command(
            checked.command, cwd=checked.cwd, env=checked.env, env_allow=checked.env_allow
        )

    def show_prompt(self, turn: Turn) -> str:
        """Return the prompt that the turn's command would read."""
        return _prompt(replace(turn, read=self.read_ahead(turn)))

    def read_ahead(self, turn: Turn) -> Remembered:
        """Read what was decided before, and what is still open."""
        told = [given.data.get("ask_id") for given in turn.given if given.kind == "verdict"]
        return remember_asks(turn.session_id, told=[one for one in told if isinstance(one, int)])

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, MarkersSettings)
        except TurnEnded as over:
            yield over.ended
            return
        with tempfile.TemporaryDirectory(prefix="needs-you-") as folder:
            async with socket_for(self._books(turn), Path(folder)) as grants:
                command = _command(turn, settings, Path(folder), grants)
                async with aclosing(_run(command, output_reader_for(turn, settings))) as events:
                    async for event in events:
                        yield event


async def _run(command: Command, reader: OutputReader) -> AsyncGenerator[TurnEvent, None]:
    try:
        async with aclosing(run_command(command)) as events:
            async for event in events:
                if isinstance(event, Spawned):
                    yield Started(event.identity)
                elif isinstance(event, Exited):
                    for turn_event in reader.end(event):
                        yield turn_event
                else:
                    for turn_event in reader.hear(event.text):
                        yield turn_event
    except CouldNotStartError as error:
        yield Ended(outcome=Outcome.RETRYABLE_ERROR, error=str(error), cannot_start=True)


def _command(turn: Turn, settings: MarkersSettings, folder: Path, grants: str) -> Command:
    work = folder / "work"
    work.mkdir()
    told = folder / "turn.json"
    told.write_text(turn_file.turn_as_json(turn, _remembered(turn)), encoding="utf-8")
    return Command(
        argv=tuple(settings.command),
        cwd=settings.cwd or str(work),
        env=minimal_env(settings.env_allow, {**settings.env, GRANTS: grants, TURN: str(told)}),
        stdin=_prompt(turn),
        wall_clock_seconds=settings.wall_clock_seconds,
        output_limit_bytes=settings.output_limit_bytes,
    )


def _prompt(turn: Turn) -> str:
    closing = closing_text(turn.agent.slug)
    return write_capsule(turn, closing=closing, remembered=_remembered(turn))


def _remembered(turn: Turn) -> Remembered | None:
    """Return what ``read_ahead`` read. Without it, the history tells of decisions."""
    return turn.read if isinstance(turn.read, Remembered) else None
