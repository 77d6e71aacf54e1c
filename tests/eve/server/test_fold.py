"""The fold: pure, append-only, the same every time, whatever a log holds."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workspace.protocols.eve.server import log_events
from workspace.protocols.eve.server.fold import KINDS, fold_events
from workspace.protocols.eve.server.log_events import (
    APPROVAL,
    QUESTION,
    About,
    Decided,
    Happened,
    LoggedRequest,
)

ABOUT = About("wrun_1", "eve:token", "billing")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
EVENT_ID = re.compile(r"evt_[0-9A-HJKMNP-TV-Z]{26}")


def request(ask_id: int, kind: str = APPROVAL) -> LoggedRequest:
    action = {"kind": "tool-call", "callId": f"call_{ask_id}", "toolName": "refund", "input": {}}
    return LoggedRequest(ask_id, {"requestId": f"r{ask_id}", "kind": kind, "action": action})


class Log:
    """Events as they would be read, with keys and times of their own."""

    def __init__(self) -> None:
        self.events: list[Happened] = []

    def add(self, kind: str, **facts: Any) -> Log:
        pk = len(self.events) + 1
        self.events.append(Happened(pk, NOON + timedelta(seconds=pk), kind, **facts))
        return self

    def note(self, what: str, run: int | None = None, **data: Any) -> Log:
        return self.add("noted", run=run, data={"kind": "eve", "type": what, "data": data})

    def told(self) -> list[dict[str, Any]]:
        return fold_events(ABOUT, self.events)

    def types(self) -> list[str]:
        return [event["type"] for event in self.told()]


def parked(*requests: LoggedRequest) -> Log:
    log = Log().add("message", text="hi").add("started", run=1)
    log.note("step.started", 1, stepIndex=0).note("step.completed", 1, stepIndex=0)
    for one in requests:
        log.add("asked", run=1, request=one)
    return log.add("ended", run=1, data={"status": "waiting_human"})


def verdict(log: Log, one: LoggedRequest, *, approves: bool = True, text: str = "") -> Log:
    option = "approve" if approves else "deny"
    return log.add("verdict", request=one, decided=Decided(option, text, approves))


def test_all_that_a_park_asks_is_one_event_with_one_boundary() -> None:
    log = parked(request(1), request(2, QUESTION))
    assert log.types()[-3:] == ["input.requested", "turn.completed", "session.waiting"]
    assert len(log.told()[-3]["data"]["requests"]) == 2


def test_pieces_are_told_whole_whatever_the_runtime_says_of_that() -> None:
    log = Log().add("started", run=1).note("step.started", 1, stepIndex=0)
    log.note("message.appended", 1, messageDelta="a").note("message.appended", 1, messageDelta="b")
    log.note("message.completed", 1, message="ab").note("message.appended", 1, messageDelta="c")
    pieces = [e["data"]["messageSoFar"] for e in log.told() if e["type"] == "message.appended"]
    assert pieces == ["a", "ab", "c"]


def test_what_is_noted_outside_its_turn_is_not_told() -> None:
    log = parked(request(1))
    before = log.types()
    log.note("message.completed", 1, message="late").note("message.completed", 2, message="early")
    assert log.types() == before


def test_what_only_this_door_may_tell_is_not_taken_from_a_runtime() -> None:
    log = Log().add("started", run=1)
    before = log.types()
    for what in ("session.completed", "input.resolved", "approval.settled", "session.waiting"):
        log.note(what, 1, requestId="r1", outcome="approved")
    assert log.types() == before


def test_another_protocols_notes_are_not_told() -> None:
    log = Log().add("started", run=1)
    before = log.types()
    log.add("noted", run=1, data={"kind": "leaf", "type": "step.started", "data": {}})
    assert log.types() == before


def test_a_rejection_is_told_once() -> None:
    one = request(1)
    log = verdict(parked(one), one, approves=False)
    result = {"callId": "call_1", "toolName": "refund"}
    log.add("started", run=2).note("action.result", 2, status="rejected", result=result)
    assert log.types().count("action.result") == 1


def test_a_turn_that_goes_on_at_once_is_no_boundary() -> None:
    """A policy that asks nobody lets the next turn begin in the same breath."""
    log = Log().add("started", run=1).add("ended", run=1, data={"status": "continued"})
    assert log.types()[-1] == "turn.completed"


def test_an_ask_that_is_asked_again_takes_the_place_of_the_old_one() -> None:
    old, new = request(1), request(2)
    log = parked(old)
    log.add("asked", run=1, request=new).add("superseded", request=old)
    assert log.types()[-2:] == ["input.requested", "input.resolved"]
    verdict(log, new)
    assert log.types()[-2:] == ["approval.settled", "input.resolved"]


def test_nothing_is_told_after_the_end() -> None:
    log = parked(request(1)).add("state", is_the_end=True)
    assert log.types()[-1] == "session.completed"
    before = log.types()
    log.add("message", text="x").add("started", run=2).note(log_events.AT_REST)
    assert log.types() == before


NUMBERS = st.integers(1, 4)
NOTED = st.sampled_from(
    [
        "step.started",
        "message.appended",
        "message.completed",
        "action.result",
        "step.completed",
        log_events.TYPED,
        log_events.CANCELLED,
        log_events.CLEARED,
        log_events.AT_REST,
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)
DATA = st.fixed_dictionaries(
    {},
    optional={
        "stepIndex": JSON,
        "messageDelta": JSON,
        "status": st.sampled_from(["rejected", "completed", "failed", "continued"]),
        "result": JSON,
        "message": JSON,
        "deliveryId": JSON,
        "ignored": JSON,
        "eve": JSON,
    },
)


@st.composite
def happenings(draw: st.DrawFn) -> Happened:
    kind, data = draw(st.sampled_from(KINDS)), draw(DATA)
    number = draw(NUMBERS)
    if kind == "noted":
        data = {"kind": "eve", "type": draw(NOTED), "data": data}
    asks = kind in ("asked", "verdict", "withdrawn", "expired", "superseded")
    return Happened(
        pk=draw(st.integers(1, 2**63 - 1)),
        at=NOON,
        kind=kind,
        run=draw(st.none() | NUMBERS),
        text=draw(st.text(max_size=5)),
        data=data,
        request=request(number, draw(st.sampled_from([APPROVAL, QUESTION]))) if asks else None,
        decided=Decided("approve", "", draw(st.booleans())),
        is_the_end=draw(st.integers(0, 20)) == 0,
    )


LOGS = st.lists(happenings(), max_size=25)


@given(LOGS, st.integers(0, 25))
def test_the_fold_of_a_beginning_is_the_beginning_of_the_fold(
    events: list[Happened], cut: int
) -> None:
    whole, beginning = fold_events(ABOUT, events), fold_events(ABOUT, events[:cut])
    assert whole[: len(beginning)] == beginning


@given(LOGS)
def test_every_event_is_whole_and_the_same_every_time(events: list[Happened]) -> None:
    told = fold_events(ABOUT, events)
    assert json.dumps(told) == json.dumps(fold_events(ABOUT, events))
    for event in told:
        assert set(event) == {"type", "data", "meta"}
        assert EVENT_ID.fullmatch(event["meta"]["id"])
        json.dumps(event)
    assert [e["type"] for e in told].count("session.started") <= 1


@given(LOGS)
def test_nothing_is_approved_but_by_a_verdict_that_approves(events: list[Happened]) -> None:
    approved = {e.request.request_id for e in events if e.request and _approves(e)}
    for event in fold_events(ABOUT, events):
        if event["type"] == "approval.settled" and event["data"]["outcome"] == "approved":
            assert event["data"]["requestId"] in approved
        for one in event["data"].get("resolutions", ()):
            assert one["outcome"] != "approved" or one["requestId"] in approved


def _approves(event: Happened) -> bool:
    return event.kind == "verdict" and event.decided is not None and event.decided.approves
