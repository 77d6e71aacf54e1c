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


def posted(facts: LeafFacts, current: LeafState, turned: Turned | None = None) -> Reply:
    """Return the answer to a synchronous call."""
    reply: Reply = {"status": current.word, "sessionId": facts.session_id}
    if current.gate is not None:
        reply |= {"gateId": current.gate.number}
        if facts.refs:
            reply["gateRef"] = facts.refs.gate
        else:
            reply["gate"] = gate_reply(current.gate)
        reply["binding"] = binding.shown_binding(current.gate).as_echo()
    if current.word == "done":
        reply |= (
            {"resultRef": facts.refs.result_ref} if facts.refs else {"verdict": current.verdict}
        )
    if current.word == "retrying":
        reply |= {"status": "failed", "retrying": True}
    return reply | _why(current) | _refused(turned)


def status(current: LeafState) -> Reply:
    """Return the status of an inline session."""
    reply: Reply = {"status": current.word}
    if current.gate is not None:
        number = {"gateId": current.gate.number}
        shown = binding.shown_binding(current.gate).as_echo()
        reply |= {**number, "gate": number | gate_reply(current.gate), "binding": shown}
    if current.word == "done":
        reply["verdict"] = current.verdict
    return reply | _why(current)


def unknown() -> Reply:
    """Return the status of an unknown session. The protocol wants ``queued``; ``known`` is ours."""
    return {"status": "queued", "known": False}


def accepted(envelope: Envelope, turned: Turned | None = None) -> Reply:
    reply: Reply = {"status": "accepted", "sessionId": envelope.session_id}
    if envelope.refs:
        reply |= {"resultRef": envelope.refs.result_ref, "doneMarker": envelope.refs.done}
    return reply | _refused(turned)


def _why(current: LeafState) -> Reply:
    reply: Reply = {}
    if current.reason:
        reply["reason"] = current.reason
    if current.message:
        reply["message"] = current.message
    if current.attempts:
        reply["attempts"] = current.attempts
    return reply


def _refused(turned: Turned | None) -> Reply:
    return {"refused": {"reason": turned.reason, "detail": turned.detail}} if turned else {}
