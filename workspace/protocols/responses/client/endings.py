"""Translate the end of a turn with a remote agent into the workspace's terms. No input is lost.

A connection failure is retried. Work that the agent did or may have done is repeated only if the
owner decides so: the owner is asked, and the request is kept until then.
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
    """Build the ends of a turn with a Responses server."""

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
        self.lapsed: set[str] = set()

    @property
    def drafts(self) -> list[AskDraft]:
        """The pending questions that are not asked here yet, whichever worker received them.

        A question whose approval has ended is asked again.
        """
        pending, asked = self.memory.pending.items(), self.known.asked
        return [
            question.draft() for key, question in pending if key not in asked or key in self.lapsed
        ]

    def failed(self, send: Send, status: str, error: str) -> Ended:
        """Fail without a retry, because the agent's work before the failure must not be repeated."""
        reason = f"The agent's response {status}: {error or 'no reason given'}"
        if send.calls:
            reason += f" It followed {send.what}; only a person can retry it."
        return self.broke(reason, for_good=True)

    def not_taken(self, send: Send, trouble: Exception) -> Ended:
        """End a turn whose request got no response to follow."""
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
            reason = f"{refused} It was answered elsewhere, and its result is not visible here."
            return self.end(Outcome.BLOCKED, error=reason)
        if refused.forgot:
            return self.lost(send, str(refused))
        if not send.calls:
            return self.broke(str(refused), for_good=True)
        draft = owner_asks.draft_rejected(self.memory.sends, str(refused), answer=send.said)
        return self._ask_owner(send, draft, str(refused))

    def unsure(self, send: Send, reason: str) -> Ended:
        """Ask the owner about a request that may have been accepted."""
        draft = owner_asks.draft_unsure(self.memory.sends, reason, what=send.what)
        return self._ask_owner(send, draft, reason)

    def lost(self, send: Send, reason: str) -> Ended:
        """Ask the owner about a response that the server no longer knows."""
        draft = owner_asks.draft_lost(self.memory.sends, reason, answer=send.said)
        return self._ask_owner(send, draft, reason)

    def _ask_owner(self, send: Send, draft: AskDraft, reason: str) -> Ended:
        """Ask, and keep the request: the turn completes, so its input will not be given again."""
        self.memory.unsent = UnsentInput(body=send.body, calls=list(send.calls), said=send.said)
        self.memory.under_way = None
        self.memory.sends += 1
        return self.end(Outcome.BLOCKED, error=reason, ask=draft)

    def broke(self, error: str, *, for_good: bool = False) -> Ended:
        """Fail the turn, or ask the questions that arrived before it broke."""
        if self.drafts:
            return self.end(Outcome.BLOCKED, error=error)
        return super().broke(error, for_good=for_good)

    def forget_done(self) -> None:
        self.memory.done = []
