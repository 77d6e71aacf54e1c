"""How a turn with a remote eve agent ends, in the workspace's terms. No verdict is ever lost.

A failure of the connection is tried again with all that the turn was given; what the agent did or
may have done is not repeated unless its owner says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.lifecycle import Outcome
from agents.runtime import Ended, Turn
from asks.drafts import AskDraft
from workspace.protocols.eve.remote import owner_asks
from workspace.protocols.eve.remote.known import Known
from workspace.protocols.eve.remote.memory import PLACE, Memory, Unsent
from workspace.protocols.eve.remote.server import Away, Json
from workspace.protocols.eve.remote.settings import EveRemoteSettings

NO_ROOM = timedelta(seconds=30)


class Over(Exception):
    """The turn ends here, with this."""

    def __init__(self, ended: Ended) -> None:
        super().__init__()
        self.ended = ended


@dataclass
class Endings:
    """What the turn has come to so far, and the ends it may have.

    ``not_taken`` are requests whose answer the agent did not take, with what it said of that.
    """

    turn: Turn
    settings: EveRemoteSettings
    known: Known
    memory: Memory
    reports: list[str] = field(default_factory=list)
    not_taken: dict[str, str] = field(default_factory=dict)

    @property
    def drafts(self) -> list[AskDraft]:
        """The requests that wait there and are not asked here yet, or must be asked again."""
        return [
            request.draft(self.settings.base_url, self.not_taken.get(key, ""))
            for key, request in self.memory.pending.items()
            if key not in self.known.asked or key in self.not_taken
        ]

    def well(self) -> Ended:
        """All was sent and followed to where the agent rests."""
        return self._end(Outcome.BLOCKED if self.drafts else Outcome.WORK_DONE)

    def failed(self, words: str) -> Ended:
        """Not tried again by itself: what the agent did until it failed may not be done twice."""
        return self.broke(words, for_good=True)

    def lost(self, words: str, said: str = "") -> Ended:
        self.memory.forget()
        self.memory.asked_owner += 1
        draft = owner_asks.lost(self.memory.asked_owner, words, said=said)
        return self._end(Outcome.BLOCKED, error=words, ask=draft)

    def unsure(self, body: Json, words: str, said: str) -> Ended:
        """The turn completes, so what it was given is not owed any more: it is kept."""
        self.memory.unsent, self.memory.sending = Unsent(body=body, said=said), ""
        self.memory.asked_owner += 1
        draft = owner_asks.unsure(self.memory.asked_owner, words, said=said)
        return self._end(Outcome.BLOCKED, error=words, ask=draft)

    def away(self, away: Away) -> Ended:
        """Somebody who says when to come again is believed; else it is tried a few times."""
        if away.retry_after is None or self.drafts:
            return self.broke(str(away))
        wait = max(timedelta(seconds=away.retry_after), NO_ROOM)
        return self._end(Outcome.RATE_LIMITED, error=str(away), retry_at=datetime.now(UTC) + wait)

    def broke(self, words: str, *, for_good: bool = False) -> Ended:
        """A turn that is tried again with all it was given, until it has failed too often."""
        last = self.known.failures + 1 >= self.settings.max_attempts
        return self._end(Outcome.RETRYABLE_ERROR, error=words, give_up=for_good or last)

    def over(self, words: str, outcome: Outcome = Outcome.NO_WORK) -> Ended:
        """Nothing was sent, and nothing is to be."""
        return self._end(Outcome.BLOCKED if self.drafts else outcome, words)

    def _end(
        self,
        outcome: Outcome,
        report: str = "",
        *,
        error: str = "",
        ask: AskDraft | None = None,
        **more: Any,
    ) -> Ended:
        asks = (*self.drafts, ask) if ask else tuple(self.drafts)
        if asks and outcome in (Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED) and not self.owes:
            outcome, more = Outcome.BLOCKED, {}
        if outcome not in (Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED):
            self.memory.done = []
        return Ended(
            outcome=outcome,
            report="\n\n".join([*self.reports, report]).strip(),
            error=error,
            asks=asks,
            session_data={**self.turn.session_data, PLACE: self.memory.model_dump(mode="json")},
            **more,
        )

    @property
    def owes(self) -> bool:
        """Whether something that the turn was given is not with the agent yet."""
        return bool(self.turn.given) and not self.memory.done
