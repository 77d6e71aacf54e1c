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
        """Forget which inputs this turn has sent; it completes."""

    def well(self) -> Ended:
        """End a turn that sent its input and followed the agent until it came to rest."""
        return self.end(Outcome.BLOCKED if self.drafts else Outcome.WORK_DONE)

    def over(self, words: str, outcome: Outcome = Outcome.NO_WORK) -> Ended:
        """End a turn that sent nothing and has nothing to send."""
        return self.end(Outcome.BLOCKED if self.drafts else outcome, words)

    def away(self, away: ServerAway) -> Ended:
        """Honour Retry-After; without it, retry a few times."""
        if away.retry_after is None or self.drafts:
            return self.broke(str(away))
        wait = max(timedelta(seconds=away.retry_after), NO_ROOM)
        return self.end(Outcome.RATE_LIMITED, error=str(away), retry_at=datetime.now(UTC) + wait)

    def broke(self, words: str, *, for_good: bool = False) -> Ended:
        """Retry the turn with its full input, until it has failed ``max_attempts`` times."""
        last = self.turn.failures + 1 >= self._settings.max_attempts
        return self.end(Outcome.RETRYABLE_ERROR, error=words, give_up=for_good or last)

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
