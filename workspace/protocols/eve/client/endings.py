"""Translate the end of a turn with a remote eve agent into the workspace's terms.

No verdict is lost. A connection failure is retried with the turn's full input. Work that the agent
did or may have done is repeated only if the owner decides so.
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
    """Build the ends of a turn with an eve server.

    ``not_taken`` are requests whose answer the agent did not accept, with what it said.
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
        """The pending requests that are not asked here yet, or must be asked again."""
        return [
            request.draft(self.settings.base_url, self.not_taken.get(key, ""))
            for key, request in self.memory.pending.items()
            if key not in self.known.asked or key in self.not_taken
        ]

    def failed(self, error: str) -> Ended:
        """Fail without a retry, because the agent's work before the failure must not be repeated."""
        return self.broke(error, for_good=True)

    def lost(self, reason: str, said: str = "") -> Ended:
        """Ask the owner about a session that the server no longer knows."""
        self.memory.forget()
        self.memory.asked_owner += 1
        draft = owner_asks.draft_lost(self.memory.asked_owner, reason, said=said)
        return self.end(Outcome.BLOCKED, error=reason, ask=draft)

    def unsure(self, body: Json, reason: str, said: str) -> Ended:
        """Ask the owner about a message that may have arrived, and keep it.

        The turn completes, so its input will not be given again.
        """
        self.memory.unsent, self.memory.sending = UnsentToEve(body=body, said=said), ""
        self.memory.asked_owner += 1
        draft = owner_asks.draft_unsure(self.memory.asked_owner, reason, said=said)
        return self.end(Outcome.BLOCKED, error=reason, ask=draft)

    def forget_done(self) -> None:
        self.memory.done = []

    def end(self, outcome: Outcome, report: str = "", **more: Any) -> Ended:
        """End the turn. After a failure with nothing left to send, ask instead of retrying."""
        asks = self.drafts or more.get("ask")
        if asks and outcome in FAILED and not self.has_unsent:
            outcome = Outcome.BLOCKED
            more = {name: more[name] for name in ("error", "ask") if name in more}
        return super().end(outcome, report, **more)

    @property
    def has_unsent(self) -> bool:
        """Whether inputs of the turn have not reached the agent yet."""
        return bool(self.turn.given) and not self.memory.done
