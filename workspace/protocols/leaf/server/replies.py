"""Replies to clients: the words of their dialect, and extra fields where those would mislead."""

from __future__ import annotations

from typing import Any

from asks.actions import binding
from asks.models import Gate
from workspace.protocols.leaf.server.decisions import Turned
from workspace.protocols.leaf.server.facts import LeafFacts
from workspace.protocols.leaf.server.state import LeafState
from workspace.protocols.leaf.wire import Envelope

Reply = dict[str, Any]


def gate_reply(gate: Gate) -> Reply:
    return {"summary": gate.params["summary"], "proposed_action": gate.params["proposed_action"]}


def posted(facts: LeafFacts, found: LeafState, turned: Turned | None = None) -> Reply:
    """Return the answer to a synchronous call."""
    said: Reply = {"status": found.word, "sessionId": facts.session_id}
    if found.gate is not None:
        said |= {"gateId": found.gate.number}
        if facts.refs:
            said["gateRef"] = facts.refs.gate
        else:
            said["gate"] = gate_reply(found.gate)
        said["binding"] = binding.shown_binding(found.gate).as_echo()
    if found.word == "done":
        said |= {"resultRef": facts.refs.result_ref} if facts.refs else {"verdict": found.verdict}
    if found.word == "retrying":
        said |= {"status": "failed", "retrying": True}
    return said | _why(found) | _refused(turned)


def status(found: LeafState) -> Reply:
    """Return the status of an inline session."""
    said: Reply = {"status": found.word}
    if found.gate is not None:
        number = {"gateId": found.gate.number}
        shown = binding.shown_binding(found.gate).as_echo()
        said |= {**number, "gate": number | gate_reply(found.gate), "binding": shown}
    if found.word == "done":
        said["verdict"] = found.verdict
    return said | _why(found)


def unknown() -> Reply:
    """Return the status of an unknown session. The protocol wants ``queued``; ``known`` is ours."""
    return {"status": "queued", "known": False}


def accepted(envelope: Envelope, turned: Turned | None = None) -> Reply:
    said: Reply = {"status": "accepted", "sessionId": envelope.session_id}
    if envelope.refs:
        said |= {"resultRef": envelope.refs.result_ref, "doneMarker": envelope.refs.done}
    return said | _refused(turned)


def _why(found: LeafState) -> Reply:
    said: Reply = {}
    if found.reason:
        said["reason"] = found.reason
    if found.message:
        said["message"] = found.message
    if found.attempts:
        said["attempts"] = found.attempts
    return said


def _refused(turned: Turned | None) -> Reply:
    return {"refused": {"reason": turned.reason, "detail": turned.detail}} if turned else {}
