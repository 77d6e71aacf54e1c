"""How a turn with a remote agent ends, in the workspace's terms. Nothing that was given is lost.

A failure of the connection is tried again; what the agent did or may have done is not, unless its
owner says so. What its owner must decide is asked, and the request kept until then.
"""

from __future__ import annotations

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Turn
from asks.drafts import AskDraft
from workspace.protocols.common import turn_endings
from workspace.protocols.common.http_client import ServerAway
from workspace.protocols.responses.client import owner_asks
from workspace.protocols.responses.client.http import ResponsesRefused, UnsureReply
from workspace.protocols.responses.client.memory import PLACE, ResponsesMemory, UnsentInput
from workspace.protocols.responses.client.sending import Send
from workspace.protocols.responses.client.settings import RemoteSettings
from workspace.protocols.responses.client.snapshot import ResponsesSnapshot


class ResponsesEndings(turn_endings.TurnEndings):
    """The ends that a turn with a Responses server may have."""

    place = PLACE

    def __init__(
        self,
        turn: Turn,
        settings: RemoteSettings,
        known: ResponsesSnapshot,
        memory: ResponsesMemory,
    ) -> None:
        super().__init__(turn, settings, memory)
        self.settings, self.known, self.memory = settings, known, memory

    @property
    def drafts(self) -> list[AskDraft]:
        """The questions that wait here and are not asked yet, whichever worker heard them."""
        pending = self.memory.pending.items()
        return [question.draft() for key, question in pending if key not in self.known.asked]

    def failed(self, send: Send, status: str, error: str) -> Ended:
        """Not tried again by itself: what the agent did until it failed may not be done twice."""
        words = f"The agent's response {status}: {error or 'no reason given'}"
        if send.calls:
            words += f" This came of {send.what}; a person tries it again."
        return self.broke(words, for_good=True)

    def not_taken(self, send: Send, trouble: Exception) -> Ended:
        """There is no response to follow, for the reason given."""
        if isinstance(trouble, UnsureReply) and self.settings.idempotent:
            return self.broke(str(trouble))
        if isinstance(trouble, UnsureReply):
            return self.unsure(send, str(trouble))
        self.memory.under_way = None
        if isinstance(trouble, ServerAway):
            return self.away(trouble)
        if isinstance(trouble, ResponsesRefused):
            return self._refused(send, trouble)
        return self.broke(str(trouble), for_good=True)

    def _refused(self, send: Send, refused: ResponsesRefused) -> Ended:
        if refused.code == "already_answered":
            self.memory.taken(send.calls)
            words = f"{refused} It was answered elsewhere, and what came of it is not seen here."
            return self.end(Outcome.BLOCKED, error=words)
        if refused.forgot:
            return self.lost(send, str(refused))
        if not send.calls:
            return self.broke(str(refused), for_good=True)
        draft = owner_asks.draft_rejected(self.memory.sends, str(refused), answer=send.said)
        return self._ask_owner(send, draft, str(refused))

    def unsure(self, send: Send, words: str) -> Ended:
        draft = owner_asks.draft_unsure(self.memory.sends, words, what=send.what)
        return self._ask_owner(send, draft, words)

    def lost(self, send: Send, words: str) -> Ended:
        draft = owner_asks.draft_lost(self.memory.sends, words, answer=send.said)
        return self._ask_owner(send, draft, words)

    def _ask_owner(self, send: Send, draft: AskDraft, words: str) -> Ended:
        """The turn completes, so what it was given is not owed any more: the request is kept."""
        self.memory.unsent = UnsentInput(body=send.body, calls=list(send.calls), said=send.said)
        self.memory.under_way = None
        self.memory.sends += 1
        return self.end(Outcome.BLOCKED, error=words, ask=draft)

    def broke(self, words: str, *, for_good: bool = False) -> Ended:
        """Questions that were asked before it broke are not lost with it."""
        if self.drafts:
            return self.end(Outcome.BLOCKED, error=words)
        return super().broke(words, for_good=for_good)

    def forget_done(self) -> None:
        self.memory.done = []
