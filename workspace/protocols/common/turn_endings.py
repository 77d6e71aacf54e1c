"""Translate the end of a turn at a remote server into the workspace's terms, for every protocol.

After a connection failure the turn is retried with its full input. Work that the agent did or may
have done is repeated only if the owner decides so.
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

#: The shortest wait before a server without capacity is called again.
NO_ROOM = timedelta(seconds=30)
FAILED = frozenset({Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED})


def retry_time(away: ServerAway) -> datetime | None:
    """Return when to call a server again that sent Retry-After; None if it sent none."""
    if away.retry_after is None:
        return None
    return datetime.now(UTC) + max(timedelta(seconds=away.retry_after), NO_ROOM)


def is_last_attempt(turn: Turn, max_attempts: int) -> bool:
    """Whether a failure of this turn uses up the attempts that the settings allow."""
    return turn.failures + 1 >= max_attempts


def end_away(away: ServerAway) -> Ended | None:
    """Build an end that waits for the server's Retry-After; None if it sent none."""
    later = retry_time(away)
    if later is None:
        return None
    return Ended(outcome=Outcome.RATE_LIMITED, error=str(away), retry_at=later)


def end_broken(turn: Turn, max_attempts: int, error: str, *, for_good: bool = False) -> Ended:
    """Fail a turn. It is retried with the same input until its attempts are used up."""
    give_up = for_good or is_last_attempt(turn, max_attempts)
    return Ended(outcome=Outcome.RETRYABLE_ERROR, error=error, give_up=give_up)


class TurnEndings(ABC):
    """Collect the results of a turn and build its end. ``reports`` are the agent's reports."""

    #: The key of the memory in the session's data.
    place: ClassVar[str]

    def __init__(self, turn: Turn, settings: ServerSettings, memory: BaseModel) -> None:
        self.turn, self.reports = turn, list[str]()
        self._settings, self._memory = settings, memory

    @property
    @abstractmethod
    def drafts(self) -> list[AskDraft]:
        """The remote agent's pending questions, to be asked here."""

    @abstractmethod
    def forget_done(self) -> None:
        """Forget which inputs this turn has sent, because it completes."""

    def well(self) -> Ended:
        """End a turn that sent its input and followed the agent until it was idle."""
        return self.end(Outcome.BLOCKED if self.drafts else Outcome.WORK_DONE)

    def over(self, report: str, outcome: Outcome = Outcome.NO_WORK) -> Ended:
        """End a turn that sent nothing and has nothing to send."""
        return self.end(Outcome.BLOCKED if self.drafts else outcome, report)

    def away(self, away: ServerAway) -> Ended:
        """Honour Retry-After; without it, retry a few times."""
        later = None if self.drafts else retry_time(away)
        if later is None:
            return self.broke(str(away))
        return self.end(Outcome.RATE_LIMITED, error=str(away), retry_at=later)

    def broke(self, error: str, *, for_good: bool = False) -> Ended:
        """Fail the turn. It is retried with the same input until its attempts are used up."""
        give_up = for_good or is_last_attempt(self.turn, self._settings.max_attempts)
        return self.end(Outcome.RETRYABLE_ERROR, error=error, give_up=give_up)

    def took_too_long(self) -> Ended:
        """End a turn that exceeded its wall-clock limit."""
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
        """Build the end of the turn, with its asks and the session's memory."""
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
