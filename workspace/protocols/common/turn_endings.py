"""How a turn with somebody else's server ends, in the workspace's terms, whatever the server speaks.

A failure of the connection is tried again with all that the turn was given; what the agent did or
may have done is not repeated unless its owner says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from pydantic import BaseModel

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Turn
from asks.drafts import AskDraft
from workspace.protocols.common.http_client import ServerAway
from workspace.protocols.common.remote_settings import ServerSettings

#: The shortest that a server without room is left alone.
NO_ROOM = timedelta(seconds=30)
FAILED = frozenset({Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED})


def retry_time(away: ServerAway) -> datetime | None:
    """Return when a server that gave Retry-After is asked again; None if it gave none."""
    if away.retry_after is None:
        return None
    return datetime.now(UTC) + max(timedelta(seconds=away.retry_after), NO_ROOM)


def is_last_attempt(turn: Turn, max_attempts: int) -> bool:
    """Whether a turn that fails now has failed as often as its settings allow."""
    return turn.failures + 1 >= max_attempts


def end_away(away: ServerAway) -> Ended | None:
    """End a turn until the server's Retry-After; None if it gave none."""
    later = retry_time(away)
    if later is None:
        return None
    return Ended(outcome=Outcome.RATE_LIMITED, error=str(away), retry_at=later)


def end_broken(turn: Turn, max_attempts: int, error: str, *, for_good: bool = False) -> Ended:
    """Fail a turn. It is tried again with the same input until it has failed too often."""
    give_up = for_good or is_last_attempt(turn, max_attempts)
    return Ended(outcome=Outcome.RETRYABLE_ERROR, error=error, give_up=give_up)


class TurnEndings(ABC):
    """What a turn has come to so far, and the ends it may have.

    ``reports`` are what the agent said it did.
    """

    #: Where in its session's data the memory is kept.
    place: ClassVar[str]

    def __init__(self, turn: Turn, settings: ServerSettings, memory: BaseModel) -> None:
        self.turn, self.reports = turn, list[str]()
        self._settings, self._memory = settings, memory

    @property
    @abstractmethod
    def drafts(self) -> list[AskDraft]:
        """The questions that wait there and are to be asked here."""

    @abstractmethod
    def forget_done(self) -> None:
        """The turn completes: what it sent need not be told apart from what comes next."""

    def well(self) -> Ended:
        """All was sent and followed to where the agent rests."""
        return self.end(Outcome.BLOCKED if self.drafts else Outcome.WORK_DONE)

    def over(self, words: str, outcome: Outcome = Outcome.NO_WORK) -> Ended:
        """Nothing was sent, and nothing is to be."""
        return self.end(Outcome.BLOCKED if self.drafts else outcome, words)

    def away(self, away: ServerAway) -> Ended:
        """Honour Retry-After; without it, try a few times."""
        later = None if self.drafts else retry_time(away)
        if later is None:
            return self.broke(str(away))
        return self.end(Outcome.RATE_LIMITED, error=str(away), retry_at=later)

    def broke(self, words: str, *, for_good: bool = False) -> Ended:
        """Fail the turn. It is tried again with the same input until it has failed too often."""
        give_up = for_good or is_last_attempt(self.turn, self._settings.max_attempts)
        return self.end(Outcome.RETRYABLE_ERROR, error=words, give_up=give_up)

    def took_too_long(self) -> Ended:
        """The turn is stopped where it is."""
        return self.broke(
            f"The agent took longer than {self._settings.wall_clock_seconds:g} seconds."
        )

    def end(
        self,
        outcome: Outcome,
        report: str = "",
        *,
        error: str = "",
        ask: AskDraft | None = None,
        **more: Any,
    ) -> Ended:
        """The turn's end, with what is asked and what is remembered."""
        if outcome not in FAILED:
            self.forget_done()
        kept = {self.place: self._memory.model_dump(mode="json")}
        return Ended(
            outcome=outcome,
            report="\n\n".join([*self.reports, report]).strip(),
            error=error,
            asks=(*self.drafts, *([ask] if ask else [])),
            session_data={**self.turn.session_data, **kept},
            **more,
        )
