"""Events of a turn are numbered without gaps, fenced by the claim, and stored once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.db.models.functions import Now

from agents import claims, settlement
from agents.claims import ClaimLost
from agents.db.retrying import in_database, once_in_database
from agents.events.log import NewEvent
from agents.lifecycle import Outcome
from agents.models import Event, Run, Session
from agents.running import transcript
from agents.running.runtime import Ended, Fence, Noted, Noticed, Reported, Said, Step, Turn, Usage
from agents.running.transcript import Transcript
from tests.dispatch.world import DONE, eventually, said, seqs, session_of, start


@pytest.fixture
def turn(owner: User) -> Turn:
    run = start(session_of(owner, "greeter", DONE), owner)
    claimed = claims.claim_run(run_id=run.pk, worker="here")
    assert claimed is not None
    return claimed


@pytest.fixture
def session(turn: Turn) -> Session:
    return Session.objects.get(pk=turn.session_id)


def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write before the end only what must be written at once."""
    monkeypatch.setattr(transcript, "EVERY", 3600)


def tell(turn: Turn, *happened: Any, write: Callable[..., Any] = in_database) -> None:
    async def add_all() -> None:
        async with Transcript(turn, write=write) as written:
            for event in happened:
                await written.add(event)

    asyncio.run(add_all())


def kinds(session: Session) -> list[str]:
    return list(session.events.order_by("seq").values_list("kind", flat=True))


def test_words_and_what_happens_between_them_keep_their_order(turn: Turn, session: Session) -> None:
    tell(turn, Said("a"), Said("b"), Step("1", "look"), Said("c"), Reported("x"), Noticed("y"))
    assert kinds(session)[-5:] == ["output", "step", "output", "report", "notice"]
    assert said(session) == "abc"
    assert seqs(session) == list(range(1, len(seqs(session)) + 1))


def test_what_a_protocol_notes_keeps_its_place_and_lands_every_time(
    turn: Turn, session: Session
) -> None:
    note = Noted("eve", {"type": "step.started", "data": {"stepIndex": 0}})
    tell(turn, note, Said("a"), note)
    events = list(session.events.order_by("seq"))[-3:]
    assert [event.kind for event in events] == ["noted", "output", "noted"]
    assert (
        events[0].data
        == events[2].data
        == {
            "kind": "eve",
            "type": "step.started",
            "data": {"stepIndex": 0},
        }
    )


def test_the_first_words_are_written_at_once(
    turn: Turn, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    unhurried(monkeypatch)

    async def talk() -> str:
        async with Transcript(turn, write=in_database) as written:
            await written.add(Said("hello"))
            first = await once_in_database(eventually, lambda: said(session), "it is written")
            for word in ("b", "c", "d"):
                await written.add(Said(word))
            return first

    assert asyncio.run(talk()) == "hello"
    assert kinds(session).count("output") == 2
    assert said(session) == "hellobcd"


@pytest.mark.parametrize(
    "flood",
    [[Said("x" * transcript.ENOUGH)], [Step(str(n), "step") for n in range(transcript.MANY)]],
    ids=["words", "events"],
)
def test_much_is_written_before_its_time_and_holds_up_who_brings_it(
    turn: Turn, session: Session, monkeypatch: pytest.MonkeyPatch, flood: Sequence[Any]
) -> None:
    unhurried(monkeypatch)

    async def talk() -> int:
        async with Transcript(turn, write=in_database) as written:
            await written.add(Said("first"))
            await once_in_database(eventually, lambda: said(session), "it is written")
            for event in flood:
                await written.add(event)
            return await once_in_database(Event.objects.filter(session=session).count)

    before = len(seqs(session))
    assert asyncio.run(talk()) == before + 1 + len(flood)


def test_a_write_whose_answer_was_lost_is_not_done_twice(turn: Turn, session: Session) -> None:
    """The commit succeeds, but the connection breaks: ``in_database`` repeats the work."""
    lost: list[Fence] = []

    def append(fence: Fence, new: list[NewEvent]) -> bool:
        written = claims.append_events(fence, new)
        if not lost:
            lost.append(fence)
            raise OperationalError("server closed the connection unexpectedly")
        return written

    async def write(work: object, fence: Fence, new: list[NewEvent]) -> bool:
        assert work is claims.append_events
        return await in_database(append, fence, new)

    happened = (Said("once"), Usage({"tokens": 7}), Step("1", "look"), Reported("half"))
    tell(turn, *happened, write=write)
    assert lost
    assert kinds(session)[-4:] == ["output", "usage", "step", "report"]
    assert said(session) == "once"
    assert seqs(session) == list(range(1, len(seqs(session)) + 1))
    assert Run.objects.get(pk=turn.run_id).usage == {"tokens": 7}


def test_a_claim_says_that_its_turn_has_started(turn: Turn, session: Session) -> None:
    """Before any output, once for each claim. Asking for the same claim again records nothing."""
    assert kinds(session)[-1] == "started"
    assert claims.claim_run(run_id=turn.run_id, worker="here", again=True) is not None
    tell(turn, Said("a"))
    Run.objects.filter(pk=turn.run_id).update(lease_until=Now() - claims.lease_duration() * 2)
    assert claims.claim_run(run_id=turn.run_id, worker="there") is not None
    assert kinds(session)[-3:] == ["started", "output", "started"]
    facts = [event.data for event in session.events.filter(kind="started").order_by("seq")]
    assert [(one["epoch"], one["worker"], one["again"]) for one in facts] == [
        (1, "here", False),
        (2, "there", True),
    ]


def test_what_is_not_written_yet_is_handed_over(
    turn: Turn, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, and nothing twice: a write that is running is awaited first."""
    unhurried(monkeypatch)

    async def talk() -> list[NewEvent]:
        async with Transcript(turn, write=in_database) as written:
            await written.add(Said("first"))
            await once_in_database(eventually, lambda: said(session), "it is written")
            for event in (Said("a"), Said("b"), Step("1", "look"), Said("c")):
                await written.add(event)
            return await written.hand_over()

    rest = asyncio.run(talk())
    assert said(session) == "first"
    assert [(one.kind, one.text) for one in rest] == [
        ("output", "ab"),
        ("step", "look"),
        ("output", "c"),
    ]
    assert settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE), rest)
    assert kinds(session)[-5:] == ["output", "output", "step", "output", "ended"]
    assert said(session) == "firstabc"


def test_a_short_turn_is_written_with_its_end(turn: Turn, session: Session) -> None:
    async def talk() -> list[NewEvent]:
        async with Transcript(turn, write=in_database) as written:
            await written.add(Said("all there is"))
            await written.add(Usage({"tokens": 3}))
            return await written.hand_over()

    before = kinds(session)
    rest = asyncio.run(talk())
    assert kinds(session) == before
    assert settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE), rest)
    assert kinds(session) == [*before, "output", "usage", "ended"]
    assert Run.objects.get(pk=turn.run_id).usage == {"tokens": 3}


def test_words_that_repeat_are_written_each_time(turn: Turn, session: Session) -> None:
    tell(turn, Said("tick"), Step("1", "x"), Said("tick"), Step("2", "x"), Said("tick"))
    assert said(session) == "tickticktick"


def test_a_marker_lands_once_per_run(turn: Turn, session: Session) -> None:
    """Also when another worker repeats the turn from the start."""
    tell(turn, Reported("half"), Noticed("psst"), Reported("half"))
    later = claims.lease_duration() * 2
    Run.objects.filter(pk=turn.run_id).update(lease_until=Now() - later)
    again = claims.claim_run(run_id=turn.run_id, worker="there")
    assert again is not None
    tell(again, Reported("half"), Said("new"), Noticed("psst"))
    assert kinds(session).count("report") == 1
    assert kinds(session).count("notice") == 1
    assert said(session) == "new"


def test_whoever_lost_the_claim_writes_nothing(turn: Turn, session: Session) -> None:
    Run.objects.filter(pk=turn.run_id).update(epoch=turn.epoch + 1)
    written = seqs(session)
    with pytest.raises(ClaimLost):
        tell(turn, Said("I am still here"))
    assert seqs(session) == written
    assert not claims.renew_claim(turn.fence)
    assert not claims.return_run(turn.fence)


def test_a_writer_that_fails_is_heard_of(turn: Turn) -> None:
    """Events that cannot be written end the turn; they are not silently skipped."""

    async def write(*_: object) -> bool:
        raise OperationalError("the database is away")

    with pytest.raises(OperationalError):
        tell(turn, Said("hello"), write=write)


def test_what_a_database_cannot_hold_is_written_all_the_same(turn: Turn, session: Session) -> None:
    tell(turn, Said("a\0b\ud800c"), Step("1", "x\0", detail="\udfff"), Usage({"n\0": "\0"}))
    assert said(session) == "a\ufffdb\ufffdc"
    assert kinds(session)[-3:] == ["output", "step", "usage"]
