"""How a turn with a remote eve agent ends, in the workspace's terms. No verdict is ever lost.

A failure of the connection is tried again with all that the turn was given; what the agent did or
may have done is not repeated unless its owner says so.
"""

from __future__ import annotations

from typing import Any

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Turn
from asks.drafts import AskDraft
from workspace.protocols.common import turn_endings
from workspace.protocols.common.http_client import Json
from workspace.protocols.common.turn_endings import FAILED
from workspace.protocols.eve.client import owner_asks
from workspace.protocols.eve.client.memory import PLACE, EveMemory, UnsentToEve
from workspace.protocols.eve.client.settings import EveRemoteSettings
from workspace.protocols.eve.client.snapshot import EveSnapshot


class EveEndings(turn_endings.TurnEndings):
    """The ends that a turn with an eve server may have.

    ``not_taken`` are requests whose answer the agent did not take, with what it said of that.
    """

    place = PLACE

    def __init__(
        self, turn: Turn, settings: EveRemoteSettings, known: EveSnapshot, memory: EveMemory
    ) -> None:
        super().__init__(turn, settings, memory)
        self.settings, self.known, self.memory = settings, known, memory
        self.not_taken: dict[str, str] = {}

    @property
    def drafts(self) -> list[AskDraft]:
        """The requests that wait there and are not asked here yet, or must be asked again."""
        return [
            request.draft(self.settings.base_url, self.not_taken.get(key, ""))
            for key, request in self.memory.pending.items()
            if key not in self.known.asked or key in self.not_taken
        ]

    def failed(self, words: str) -> Ended:
        """Not tried again by itself: what the agent did until it failed may not be done twice."""
        return self.broke(words, for_good=True)

    def lost(self, words: str, said: str = "") -> Ended:
        self.memory.forget()
        self.memory.asked_owner += 1
        draft = owner_asks.draft_lost(self.memory.asked_owner, words, said=said)
        return self.end(Outcome.BLOCKED, error=words, ask=draft)

    def unsure(self, body: Json, words: str, said: str) -> Ended:
        """The turn completes, so what it was given is not owed any more: it is kept."""
        self.memory.unsent, self.memory.sending = UnsentToEve(body=body, said=said), ""
        self.memory.asked_owner += 1
        draft = owner_asks.draft_unsure(self.memory.asked_owner, words, said=said)
        return self.end(Outcome.BLOCKED, error=words, ask=draft)

    def forget_done(self) -> None:
        self.memory.done = []

    def end(self, outcome: Outcome, report: str = "", **more: Any) -> Ended:
        """A failure that owes nothing asks what waits, instead of being tried again."""
        asks = self.drafts or more.get("ask")
        if asks and outcome in FAILED and not self.owes:
            outcome = Outcome.BLOCKED
            more = {name: more[name] for name in ("error", "ask") if name in more}
        return super().end(outcome, report, **more)

    @property
    def owes(self) -> bool:
        """Whether something that the turn was given is not with the agent yet."""
        return bool(self.turn.given) and not self.memory.done
