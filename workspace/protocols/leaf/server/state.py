"""A leaf session derived from its rows: its gates, the decisions on them, and its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agents.db.statements import Prepared
from agents.lifecycle import RunStatus, SessionState
from agents.models import Run, Session
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, AskStatus, Meaning, Style
from asks.models import Ask, Gate, Grant, GrantState, Verdict
from workspace.protocols.leaf.agent.gates import GateRequest, GateState, state_of
from workspace.protocols.leaf.server.facts import LeafFacts
from workspace.protocols.leaf.wire import ABORT, APPROVE, REJECT, GateDecision, validate_decision

OPERATION = "leaf.proceed"
REQUEST_KEY = "gate"
OPTIONS = (
    OptionDraft(APPROVE, "Approve", style=Style.PRIMARY, meaning=Meaning.APPROVE),
    OptionDraft(REJECT, "Reject", meaning=Meaning.DENY),
    OptionDraft(ABORT, "Abort", "Ends the session without a verdict.", Style.DANGER, Meaning.DENY),
)

Word = Literal[
    "queued", "running", "resuming", "paused", "done", "aborted", "failed", "retrying", "expired"
]
#: Nothing more happens until somebody sends something.
SETTLED = frozenset({"paused", "done", "aborted", "failed", "expired"})


def gate_draft(facts: LeafFacts, summary: str, proposed_action: str) -> AskDraft:
    """Return the ask for a gate. The answer is bound to everything that the person reads."""
    item = facts.item
    params = {
        "proposed_action": proposed_action,
        "summary": summary,
        "item": item.item_id,
        "file": item.file,
        "pattern": item.pattern,
    }
    return AskDraft(
        request_key=REQUEST_KEY,
        prompt=summary,
        kind=AskKind.APPROVAL,
        options=OPTIONS,
        action=ActionDraft(OPERATION, params, always_asks=True, schema=False),
    )


@dataclass(frozen=True)
class SessionLog:
    """A session's gates, oldest first, and the decisions on them in the same order."""

    gates: tuple[Gate, ...]

    @property
    def requests(self) -> list[GateRequest]:
        return [request for gate in self.gates if (request := request_of(gate))]

    @property
    def decisions(self) -> list[GateDecision]:
        return [decision for gate in self.gates if (decision := decision_of(gate))]

    @property
    def state(self) -> GateState:
        return state_of(self.requests, self.decisions)

    @property
    def is_withheld(self) -> bool:
        """Tell whether the last gate was closed without a decision: nothing was approved."""
        if not self.gates:
            return False
        last = self.gates[-1].ask
        return last.status in (AskStatus.WITHDRAWN, AskStatus.EXPIRED) or _has_lapsed(last)

    @property
    def pending(self) -> Gate | None:
        waiting = self.state.pending
        return next((one for one in self.gates if waiting and one.number == waiting.gate_id), None)


def read_log(session_id: int) -> SessionLog:
    """Load a session's gates and verdicts in one query."""
    return SessionLog(tuple(_GATES.all(session_id)))


_GATES = Prepared(
    lambda pk: (
        Gate.objects.filter(session=pk, operation=OPERATION)
        .select_related("ask__verdict__option", "ask__verdict__window", "ask__grant")
        .order_by("number")
    )
)


def request_of(gate: Gate) -> GateRequest | None:
    """Return the protocol's request; None for a gate of another protocol or with other params."""
    params = gate.params if isinstance(gate.params, dict) else {}
    summary, proposed = params.get("summary"), params.get("proposed_action")
    if gate.operation != OPERATION or not isinstance(summary, str) or not isinstance(proposed, str):
        return None
    over = gate.ask.status != AskStatus.OPEN and not (gate.ask.verdict and gate.ask.verdict.is_held)
    return GateRequest(gate.number, summary, proposed, over=over)


def decision_of(gate: Gate) -> GateDecision | None:
    """Return the decision on a gate; None if there is none, or the answer is not a decision.

    An approval that ended before a turn carried it is none.
    """
    verdict: Verdict | None = getattr(gate.ask, "verdict", None)
    if verdict is None or verdict.option is None or verdict.is_held or _has_lapsed(gate.ask):
        return None
    sent = {"gateId": gate.number, "action": verdict.option.key, "feedback": verdict.text or None}
    return validate_decision(sent) if verdict.option.key in (APPROVE, REJECT, ABORT) else None


def _has_lapsed(ask: Ask) -> bool:
    grant: Grant | None = getattr(ask, "grant", None)
    return grant is not None and grant.state in (GrantState.LAPSED, GrantState.WITHDRAWN)


@dataclass(frozen=True, kw_only=True)
class LeafState:
    """A session's state in the protocol's words, or in ours where those would be wrong."""

    word: Word
    gate: Gate | None = None
    verdict: dict[str, Any] | None = None
    reason: str = ""
    message: str = ""
    attempts: int = 0

    @property
    def is_settled(self) -> bool:
        return self.word in SETTLED


def current_state(session: Session) -> LeafState:
    """Return a session's state, in two queries. Gates come before verdicts; an abort is final."""
    return _standing(session, _NEWEST.first(session.pk))


def glance(session: Session) -> LeafState:
    """Return a session's state from a fresh row. While a turn is running, one query is enough."""
    run = _NEWEST.first(session.pk)
    if run is not None and run.status in _UNDER_WAY:
        return LeafState(word=_word_of_live(run, resumes=False))
    return _standing(run.session if run else session, run)


_UNDER_WAY = (RunStatus.QUEUED, RunStatus.RUNNING)
_NEWEST = Prepared(
    lambda pk: Run.objects.filter(session=pk).select_related("session").order_by("-number")[:1]
)


def _standing(session: Session, run: Run | None) -> LeafState:
    log = read_log(session.pk)
    is_live = run is not None and run.status in _UNDER_WAY
    last = log.state.last_decision
    if log.pending is not None and not is_live:
        return LeafState(word="paused", gate=log.pending)
    if last is not None and last.action == ABORT:
        return LeafState(word="aborted")
    if verdict := session.data.get("result"):
        return LeafState(word="done", verdict=verdict)
    if is_live or run is None:
        return LeafState(word=_word_of_live(run, resumes=last is not None))
    return _at_rest(session, run, log)


def _word_of_live(run: Run | None, *, resumes: bool) -> Word:
    if resumes:
        return "resuming"
    return "queued" if run is None or run.status == RunStatus.QUEUED else "running"


def _at_rest(session: Session, run: Run, log: SessionLog) -> LeafState:
    """Return the state of a session without a live run and without an open gate."""
    if run.status == RunStatus.FAILED:
        gave_up = session.state == SessionState.PAUSED
        return LeafState(
            word="failed" if gave_up else "retrying",
            reason="error",
            message=run.error,
            attempts=session.error_streak,
        )
    if failed := session.data.get("failed"):
        return LeafState(word="failed", reason=failed["reason"], message=failed["message"])
    if log.is_withheld:
        return LeafState(word="expired", reason="expired", message="Nobody decided in time.")
    return LeafState(word="queued")
