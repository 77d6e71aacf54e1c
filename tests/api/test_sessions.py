"""Sessions over the API: how one stands, and what happened in it."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from tests.api import world
from tests.api.calling import Caller
from tests.api.world import Cast

pytestmark = pytest.mark.django_db


def test_an_owner_reads_how_a_session_stands(cast: Cast, as_owner: Caller) -> None:
    world.asked(cast.agent)
    session = cast.session
    said = as_owner.get(f"/api/sessions/{session.pk}").json
    assert (said["status"], said["status_reason"]) == ("WAITING_HUMAN", session.status_reason)
    assert (said["needs_you"], said["open_asks"]) == (True, 1)
    assert said["live_run"]["status"] == "waiting_human"
    assert said["last_seq"] == session.last_seq


def test_events_are_read_from_a_cursor_to_the_end(cast: Cast, as_owner: Caller) -> None:
    world.asked(cast.agent)
    path = f"/api/sessions/{cast.session.pk}/events"
    seqs: list[int] = []
    while True:
        said = as_owner.get(f"{path}?after={seqs[-1] if seqs else 0}&limit=2").json
        if not said["events"]:
            break
        seqs += [event["seq"] for event in said["events"]]
    assert seqs == list(range(1, said["last_seq"] + 1))
    asked = next(e for e in as_owner.get(path).json["events"] if e["kind"] == "asked")
    assert asked["actor"] == f"agent:{cast.agent.slug}"
    assert asked["run"] == 1


def test_a_cursor_ahead_of_everything_is_said_so(cast: Cast, as_owner: Caller) -> None:
    said = as_owner.get(f"/api/sessions/{cast.session.pk}/events?after=999999")
    assert (said.status, said.json["reason"]) == (409, "cursor_ahead")


@pytest.mark.parametrize("tail", ["", "/events"])
def test_who_may_read_a_session(
    cast: Cast,
    as_owner: Caller,
    as_colleague: Caller,
    as_stranger: Caller,
    as_agent: Caller,
    tail: str,
) -> None:
    path = f"/api/sessions/{cast.session.pk}{tail}"
    assert [c.get(path).status for c in (as_owner, as_colleague, as_agent)] == [200, 200, 200]
    assert as_stranger.get(path).status == 404
    assert as_stranger.get(path).json == as_stranger.get(f"/api/sessions/999999999{tail}").json
    other = world.home(cast.other)
    assert as_agent.get(f"/api/sessions/{other.pk}{tail}").status == 404


def test_a_session_needs_the_reading_scope(cast: Cast) -> None:
    caller = Caller(world.key_of(cast.owner, scopes=("ask:answer",)))
    assert caller.get(f"/api/sessions/{cast.session.pk}").status == 403
    assert caller.get("/api/asks").status == 200  # who answers must read what is asked


def test_events_cost_the_same_whatever_their_number(
    cast: Cast, as_owner: Caller, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    world.asked(cast.agent)
    path = f"/api/sessions/{cast.session.pk}/events"
    as_owner.get(path)
    with django_assert_num_queries(3):  # the key, the session, the events with their runs
        as_owner.get(path)
