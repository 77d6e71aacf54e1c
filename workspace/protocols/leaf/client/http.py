"""Talk to a remote leaf harness in its dialect: send envelopes, and read a session's status.

A session is resumed by sending its whole envelope again, so all of the envelope is kept.
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
    """The harness rejects the request, and a retry cannot help."""


class NotThere(Misused):
    """The harness has no such session."""


@dataclass(frozen=True)
class HarnessReply:
    """A harness's reply about a session. ``known`` is false if it does not know the session.

    ``word`` is the status on the wire.
    """

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
    """One session at one harness. ``name`` is the session's id there."""

    settings: RemoteLeafSettings
    facts: LeafFacts
    name: str
    client: httpx.AsyncClient
    _volume: Volume = field(init=False)

    def __post_init__(self) -> None:
        self._volume = Volume(self.settings.volume, self.settings.volume_known_as)

    async def send(self, decision: Mapping[str, Any] | None) -> HarnessReply:
        """Send the envelope, with a decision if there is one.

        Raises ServerAway and PermanentError.
        """
        limit = None if not self.settings.asynchronous else STATUS_SECONDS
        envelope = self._envelope(decision)
        if refs := self._refs():
            self._leave_files(refs, decision)
        return self._complete(await self._call("POST", "/runs", limit, json=envelope))

    async def status(self) -> HarnessReply:
        """Return the session's status there. Raises ServerAway and PermanentError."""
        if refs := self._refs():
            reply = self._reply_by_files(refs)
            if reply is not None:
                return reply
            query = {"doneMarker": refs.done, "gateMarker": refs.gate}
        else:
            query = {"sessionId": self.name}
            if self.facts.tenant:
                query["tenant"] = self.facts.tenant
        return self._complete(await self._call("GET", "/runs/status", STATUS_SECONDS, params=query))

    async def status_of_parked(self) -> HarnessReply:
        """Return the status of a parked session. If it is not found, the harness lost it."""
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
        """Return this session's files by the paths that the harness uses; None without files."""
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

    def _complete(self, body: dict[str, Any]) -> HarnessReply:
        """Read a reply, completed by the files that it points to."""
        refs = self._refs()
        gate = body.get("gate") if isinstance(body.get("gate"), dict) else None
        verdict = body.get("verdict")
        if refs and body.get("status") in PAUSED:
            marker = self._marker(refs.gate)
            gate = marker.get("gate") if marker else None
            body = {**body, "binding": (marker or {}).get("binding")}
        if refs and body.get("status") == "done":
            verdict = self._result(refs)
        return _as_reply(body, gate or {}, verdict)

    def _reply_by_files(self, refs: Refs) -> HarnessReply | None:
        """Return what the markers on the volume say; None if they say nothing.

        With the files dialect they are read before the server is called.
        """
        if (ended := self._marker(refs.done)) and isinstance(ended.get("status"), str):
            return self._complete(ended)
        marker = self._marker(refs.gate)
        return self._complete(marker) if marker and is_gate_marker(marker) else None

    def _marker(self, path: str) -> dict[str, Any] | None:
        try:
            marker = self._volume.read(path)
        except (UnreadableItem, Outside):
            return None
        return marker if isinstance(marker, dict) else None

    def _result(self, refs: Refs) -> object:
        try:
            return self._volume.read(refs.result_ref)
        except (UnreadableItem, Outside):
            return None


def is_gate_marker(marker: Mapping[str, Any]) -> bool:
    """Whether a marker names a gate by its number, with a summary and a proposed action."""
    gate, number = marker.get("gate"), marker.get("gateId")
    if marker.get("status") != "awaiting_approval" or not isinstance(gate, dict):
        return False
    texts = gate.get("summary"), gate.get("proposed_action")
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return is_number and all(isinstance(text, str) for text in texts)


def _as_reply(body: dict[str, Any], gate: dict[str, Any], verdict: object) -> HarnessReply:
    number = body.get("gateId")
    if not isinstance(number, int) or isinstance(number, bool):
        number = gate.get("gateId")
    refused, shown = body.get("refused"), body.get("binding")
    return HarnessReply(
        word=str(body.get("status", "")),
        gate_id=number if isinstance(number, int) and not isinstance(number, bool) else None,
        summary=_text(gate.get("summary")),
        proposed_action=_text(gate.get("proposed_action")),
        binding=shown if isinstance(shown, dict) else None,
        verdict=dict(verdict) if isinstance(verdict, dict) and is_verdict(verdict) else None,
        reason=": ".join(filter(None, (_text(body.get("reason")), _text(body.get("message"))))),
        refused=_text(refused.get("detail")) if isinstance(refused, dict) else "",
        known=body.get("known") is not False and body.get("status") != UNKNOWN,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _read(reply: httpx.Response) -> dict[str, Any]:
    try:
        body = json_input.read_json(reply.content) if len(reply.content) <= MAX_REPLY else None
    except ValueError:
        body = None
    if reply.status_code in {429, 503}:
        after = http_client.retry_after(reply.headers.get("retry-after", ""))
        raise ServerAway("The harness has no capacity now.", after)
    if reply.status_code >= 500:
        raise ServerAway(f"The harness failed with HTTP {reply.status_code}.")
    if reply.status_code >= 400:
        error = body.get("error") if isinstance(body, dict) else ""
        rejection = f"The harness rejected this with HTTP {reply.status_code} {error}".strip() + "."
        raise NotThere(rejection) if reply.status_code == 404 else Misused(rejection)
    if not isinstance(body, dict) or not isinstance(body.get("status"), str):
        raise ServerAway("The harness's reply is not a leaf reply.")
    return body
