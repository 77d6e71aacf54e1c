"""Read the output of a turn's command, in either format, and determine the end of the turn."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Protocol

from agents.lifecycle import Outcome
from agents.running.processes import Exited
from agents.running.runtime import Ended, Ignored, Said, Turn, TurnEvent
from asks.drafts import AskDraft
from workspace.protocols.markers import limits
from workspace.protocols.markers.lines import drop_nul
from workspace.protocols.markers.permissions.acpx import Frames, Told
from workspace.protocols.markers.permissions.asks import draft_approvals
from workspace.protocols.markers.reader import MAX_ASKS, Reader, Reading
from workspace.protocols.markers.settings import MarkersSettings

MAX_ERROR = 2_000


class OutputReader(Protocol):
    """Reads a turn: chunks of standard output first, then the exit of the command."""

    def hear(self, chunk: str) -> Iterator[TurnEvent]: ...

    def end(self, exited: Exited) -> Iterator[TurnEvent]:
        """Yield the remaining events. The last one is Ended."""
        ...


def output_reader_for(turn: Turn, settings: MarkersSettings) -> OutputReader:
    """Return the reader for the format in the settings."""
    kinds: dict[str, Callable[[str, MarkersSettings], OutputReader]]
    kinds = {"text": PlainText, "acpx": AcpxFrames}
    return kinds[settings.format](f"run {turn.run_id}: ", settings)


class PlainText:
    """Read plain lines. The turn failed if the command was stopped or exited with an error."""

    def __init__(self, prefix: str, settings: MarkersSettings) -> None:
        self._reader = Reader(prefix)
        self._settings = settings

    def hear(self, chunk: str) -> Iterator[TurnEvent]:
        if text := drop_nul(chunk):
            yield Said(text)
        yield from self._reader.feed(chunk)

    def end(self, exited: Exited) -> Iterator[TurnEvent]:
        reading = self._reader.finish()
        yield from reading.landed
        if error := how_it_broke(exited, self._settings):
            yield from not_acted_on(reading)
            yield Ended(outcome=Outcome.RETRYABLE_ERROR, report=reading.report, error=error)
        else:
            yield completed_turn(reading, reading.asks)


class AcpxFrames:
    """Read acpx's JSON frames. The turn is complete when its prompt has a result."""

    def __init__(self, prefix: str, settings: MarkersSettings) -> None:
        self._reader = Reader(prefix)
        self._frames = Frames()
        self._settings = settings

    def hear(self, chunk: str) -> Iterator[TurnEvent]:
        yield from self._read(self._frames.feed(chunk))

    def end(self, exited: Exited) -> Iterator[TurnEvent]:
        yield from self._read(self._frames.finish())
        reading = self._reader.finish()
        yield from reading.landed
        if usage := self._frames.usage:
            yield usage
        if self._frames.complete:
            yield from self._completed(reading)
        else:
            yield from not_acted_on(reading)
            yield self._broken(reading, exited)

    def _read(self, events: Iterable[Told]) -> Iterator[TurnEvent]:
        for event in events:
            yield event
            if isinstance(event, Said):
                yield from self._reader.feed(event.text)

    def _completed(self, reading: Reading) -> Iterator[TurnEvent]:
        approvals = draft_approvals(self._frames.escalations)
        bound = [one for one in approvals if isinstance(one, AskDraft)]
        yield from (one for one in approvals if isinstance(one, Ignored))
        for one in bound[MAX_ASKS:]:
            tool = one.action.operation if one.action else ""
            yield Ignored(
                f"permission for {tool}", f"a turn may request at most {MAX_ASKS} permissions"
            )
        yield completed_turn(reading, (*reading.asks, *bound[:MAX_ASKS]))

    def _broken(self, reading: Reading, exited: Exited) -> Ended:
        """Return the end of a broken turn: rate limited if an error frame says so, else retryable."""
        limit = next((error for error in self._frames.errors if limits.is_limit(error)), "")
        message = how_it_broke(exited, self._settings) if exited.cause != "exit" else ""
        message = message or "\n".join(self._frames.errors) or self._nothing_said(exited)
        return Ended(
            outcome=Outcome.RATE_LIMITED if limit else Outcome.RETRYABLE_ERROR,
            report=reading.report,
            error=(limit or message)[:MAX_ERROR],
            retry_at=limits.free_again(limit, datetime.now(UTC)) if limit else None,
        )

    def _nothing_said(self, exited: Exited) -> str:
        if self._frames.stop_reason:
            return "The turn was cancelled before the agent had finished."
        how = how_it_broke(exited, self._settings)
        return f"The agent ended without answering its prompt. {how}".strip()


def completed_turn(reading: Reading, asks: tuple[AskDraft, ...]) -> Ended:
    """Return the end of a complete turn, with its asks, mails and outcome."""
    limited = reading.outcome is Outcome.RATE_LIMITED
    return Ended(
        outcome=reading.outcome,
        report=reading.report,
        asks=asks,
        mails=reading.mails,
        retry_at=limits.free_again(reading.outcome_words, datetime.now(UTC)) if limited else None,
    )


def not_acted_on(reading: Reading) -> Iterator[Ignored]:
    """Report the asks and mails of a broken turn as ignored: a retry may act differently."""
    why = "the turn broke, so it was not acted on"
    for ask in reading.asks:
        yield Ignored(f"ASK: {ask.prompt.partition(chr(10))[0][:200]}", why)
    for mail in reading.mails:
        yield Ignored(f"SEND: @{mail.to_slug} {mail.text[:200]}", why)


def how_it_broke(exited: Exited, settings: MarkersSettings) -> str:
    """Return what went wrong, with the end of standard error; "" for a clean exit."""
    if exited.cause == "timeout":
        how = (
            f"The command ran longer than {settings.wall_clock_seconds:g} seconds and was stopped."
        )
    elif exited.cause == "output_limit":
        how = f"The command wrote more than {settings.output_limit_bytes} bytes and was stopped."
    elif exited.code < 0:
        how = f"The command was killed by {_signal_name(-exited.code)}."
    elif exited.code:
        how = f"The command ended with exit code {exited.code}."
    else:
        return ""
    return f"{how}\n{exited.stderr.strip()[-MAX_ERROR:]}".strip()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
