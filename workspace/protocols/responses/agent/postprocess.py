"""Check a finished turn: the mandatory gate, and the agent's own command."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from agents.running.processes import Command, CouldNotStartError, Exited, minimal_env, run_command
from workspace.protocols.responses.agent.failures import with_detail
from workspace.protocols.responses.settings import ResponsesSettings
from workspace.protocols.responses.wire import Json, compact_json

SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class PostprocessFacts:
    """How a turn ended. ``published``: the brain left the file that marks a publication."""

    first_turn: bool
    hitl_paused: bool
    published: bool
    request: Json


def gate_draft(facts: PostprocessFacts, settings: ResponsesSettings) -> str:
    """Return why a turn that skipped its mandatory gate fails, or "". Later turns may skip it."""
    if not settings.mandatory_gate or not facts.first_turn or facts.hitl_paused:
        return ""
    if facts.published:
        return "It published without asking, and its first turn must ask."
    return "Its first turn must ask, and it asked nothing; nothing was published."


def alert_event(facts: PostprocessFacts, settings: ResponsesSettings) -> str:
    """Return the notice that the owner must see immediately, or ""."""
    skipped = bool(gate_draft(facts, settings)) and facts.published
    return (
        "The agent published without passing its mandatory gate. Nobody approved it."
        if skipped
        else ""
    )


async def run_postprocess(
    facts: PostprocessFacts, settings: ResponsesSettings, directory: Path
) -> str:
    """Run the agent's own check, if it has one. Return why the turn fails, or ""."""
    if not settings.postprocess:
        return ""
    check = Command(
        argv=tuple(settings.postprocess),
        cwd=str(directory),
        env=minimal_env(settings.env_allow, {**settings.env, "RUN_DIR": str(directory)}),
        stdin=compact_json(asdict(facts)) + "\n",
        wall_clock_seconds=SECONDS,
    )
    ended: Exited | None = None
    try:
        async with aclosing(run_command(check)) as events:
            async for event in events:
                ended = event if isinstance(event, Exited) else ended
    except CouldNotStartError as error:
        return with_detail("The check after the turn could not be run.", str(error))
    if ended is not None and ended.cause == "exit" and ended.code == 0:
        return ""
    stderr = "" if settings.confidential or ended is None else ended.stderr.strip()[-500:]
    return with_detail("The check after the turn did not pass.", stderr)
