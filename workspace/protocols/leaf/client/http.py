"""Speaks to somebody else's leaf harness, in its dialect: sends envelopes, asks how a session stands.

A session is resumed by sending its whole envelope again, so everything the envelope said is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from agents.text import json_input
from workspace.protocols.common import http_client
from workspace.protocols.common.http_client import PermanentError, ServerAway
from workspace.protocols.leaf.server.facts import LeafFacts
from workspace.protocols.leaf.server.volume import Outside, UnreadableItem, Volume
from workspace.protocols.leaf.settings import RemoteLeafSettings
from workspace.protocols.leaf.wire import Refs, is_verdict, session_key

MAX_REPLY = 1024 * 1024
STATUS_SECONDS = 30.0
PAUSED = frozenset({"paused", "awaiting_approval"})
UNKNOWN = "unknown"
UNDER_WAY = frozenset({"accepted", "queued", "running", "resuming", "retrying"})


class Misused(PermanentError):
    """The harness will not have this, however often it is sent."""


class NotThere(Misused):
    """It has nothing of that name."""


@dataclass(frozen=True)
class HarnessReply:
    """What a harness says of a session. ``known`` is false when it says it never heard of it."""

    word: str
    gate_id: int | None = None
    summary: str = ""
    proposed_action: str = ""
    binding: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None
    reason: str = ""
    refused: str = ""
    known: bool = True

    @property
    def is_paused(self) -> bool:
        return self.word in PAUSED

    @property
    def is_under_way(self) -> bool:
        return self.word in UNDER_WAY


@dataclass
class HarnessClient:
    """One session at one harness; ``name`` is what it is called there."""

    settings: RemoteLeafSettings
    facts: LeafFacts
    name: str
    client: httpx.AsyncClient
    _volume: Volume = field(init=False)

    def __post_init__(self) -> None:
        self._volume = Volume(self.settings.volume, self.settings.volume_known_as)

    async def send(self, decision: Mapping[str, Any] | None) -> HarnessReply:
        """Send the envelope, with a decision if there is one. Raises Away and ForGood."""
        limit = None if not self.settings.asynchronous else STATUS_SECONDS
        envelope = self._envelope(decision)
        if refs := self._refs():
            self._leave_files(refs, decision)
        said = await self._call("POST", "/runs", limit, json=envelope)
        return self._told(said)

    async def status(self) -> HarnessReply:
        """How the session stands there. Raises Away and ForGood."""
        if refs := self._refs():
            found = self._told_by_files(refs)
            if found is not None:
                return found
            asked = {"doneMarker": refs.done, "gateMarker": refs.gate}
        else:
            asked = {"sessionId": self.name}
            if self.facts.tenant:
                asked["tenant"] = self.facts.tenant
        return self._told(await self._call("GET", "/runs/status", STATUS_SECONDS, params=asked))

    async def status_of_parked(self) -> HarnessReply:
        """The same of a session that it had parked: what it does not find, it does not know."""
        try:
            return await self.status()
        except NotThere:
            return HarnessReply(UNKNOWN, known=False)

    def _envelope(self, decision: Mapping[str, Any] | None) -> dict[str, Any]:
        facts = self.facts
        sent: dict[str, Any] = {
            "sessionId": self.name,
            "tenant": facts.tenant,
            "model": self.settings.model or facts.model,
            "provider": facts.provider,
            "workspaceRef": facts.workspace_ref,
            "maxTurns": facts.max_turns,
            "async": self.settings.asynchronous,
        }
        sent = {name: value for name, value in sent.items() if value}
        if refs := self._refs():
            sent |= {"inputsRef": refs.inputs_ref, "resultRef": refs.result_ref}
            return sent | ({"decisionRef": refs.decision_ref} if decision else {})
        sent["item"] = facts.item.model_dump()
        return sent | ({"decision": dict(decision)} if decision else {})

    def _refs(self) -> Refs | None:
        """The files of this session, by the paths that the harness knows."""
        if self.settings.dialect != "files":
            return None
        root = self.settings.volume_known_as or self.settings.volume
        folder = f"{root}/needs-you/{session_key(self.name, self.facts.tenant)}"
        return Refs(
            inputs_ref=f"{folder}/input.json",
            result_ref=f"{folder}/result.json",
            decision_ref=f"{folder}/decision.json",
        )

    def _leave_files(self, refs: Refs, decision: Mapping[str, Any] | None) -> None:
        try:
            self._volume.write_if_other(refs.inputs_ref, self.facts.item.model_dump())
            if decision is not None:
                self._volume.write_if_other(refs.decision_ref, dict(decision))
        except OSError as error:
            raise ServerAway(f"The shared volume cannot be written: {error.strerror}.") from error
        except Outside as error:
            raise Misused(str(error)) from error

    async def _call(
        self, method: str, path: str, seconds: float | None, **more: object
    ) -> dict[str, Any]:
        url = f"{self.settings.base_url}{path}"
        try:
            reply = await self.client.request(
                method,
                url,
                headers=http_client.bearer(self.settings.key_variable),
                timeout=http_client.timeouts(seconds),
                **more,  # type: ignore[arg-type]
            )
        except httpx.HTTPError as error:
            raise ServerAway(
                f"The harness does not answer: {type(error).__name__} {error}"
            ) from error
        return _read(reply)

    def _told(self, said: dict[str, Any]) -> HarnessReply:
        """A reply, completed by the files it points to."""
        refs = self._refs()
        gate = said.get("gate") if isinstance(said.get("gate"), dict) else None
        verdict = said.get("verdict")
        if refs and said.get("status") in PAUSED:
            marker = self._marker(refs.gate)
            gate = marker.get("gate") if marker else None
            said = {**said, "binding": (marker or {}).get("binding")}
        if refs and said.get("status") == "done":
            verdict = self._result(refs)
        return _as_told(said, gate or {}, verdict)

    def _told_by_files(self, refs: Refs) -> HarnessReply | None:
        """What the markers on the volume say, which is the first to ask in this dialect."""
        if (ended := self._marker(refs.done)) and isinstance(ended.get("status"), str):
            return self._told(ended)
        marker = self._marker(refs.gate)
        if marker and marker.get("status") == "awaiting_approval":
            return self._told(marker)
        return None

    def _marker(self, path: str) -> dict[str, Any] | None:
        try:
            found = self._volume.read(path)
        except (UnreadableItem, Outside):
            return None
        return found if isinstance(found, dict) else None

    def _result(self, refs: Refs) -> object:
        try:
            return self._volume.read(refs.result_ref)
        except (UnreadableItem, Outside):
            return None


def gate_marker(found: object) -> tuple[int, str, str] | None:
    """(gateId, summary, proposed_action) of a gate marker; None for anything that is off its shape."""
    if not isinstance(found, dict) or found.get("status") != "awaiting_approval":
        return None
    gate, number = found.get("gate"), found.get("gateId")
    if not isinstance(gate, dict) or not isinstance(number, int) or isinstance(number, bool):
        return None
    texts = gate.get("summary"), gate.get("proposed_action")
    if not all(isinstance(text, str) for text in texts):
        return None
    return number, str(texts[0]), str(texts[1])


def _as_told(said: dict[str, Any], gate: dict[str, Any], verdict: object) -> HarnessReply:
    number = said.get("gateId")
    if not isinstance(number, int) or isinstance(number, bool):
        number = gate.get("gateId")
    refused, shown = said.get("refused"), said.get("binding")
    return HarnessReply(
        word=str(said.get("status", "")),
        gate_id=number if isinstance(number, int) and not isinstance(number, bool) else None,
        summary=_text(gate.get("summary")),
        proposed_action=_text(gate.get("proposed_action")),
        binding=shown if isinstance(shown, dict) else None,
        verdict=dict(verdict) if isinstance(verdict, dict) and is_verdict(verdict) else None,
        reason=": ".join(filter(None, (_text(said.get("reason")), _text(said.get("message"))))),
        refused=_text(refused.get("detail")) if isinstance(refused, dict) else "",
        known=said.get("known") is not False and said.get("status") != UNKNOWN,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _read(reply: httpx.Response) -> dict[str, Any]:
    try:
        said = json_input.read_json(reply.content) if len(reply.content) <= MAX_REPLY else None
    except ValueError:
        said = None
    if reply.status_code in {429, 503}:
        after = http_client.retry_after(reply.headers.get("retry-after", ""))
        raise ServerAway("The harness has no room now.", after)
    if reply.status_code >= 500:
        raise ServerAway(f"The harness failed with HTTP {reply.status_code}.")
    if reply.status_code >= 400:
        error = said.get("error") if isinstance(said, dict) else ""
        words = f"The harness refuses this with HTTP {reply.status_code} {error}".strip() + "."
        raise NotThere(words) if reply.status_code == 404 else Misused(words)
    if not isinstance(said, dict) or not isinstance(said.get("status"), str):
        raise ServerAway("The harness answered with something that is no leaf reply.")
    return said
