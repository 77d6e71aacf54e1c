"""Each public function of ``statements`` does the same as plain Django."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import F, JSONField, QuerySet, Value
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from agents.db.expressions import ClockNow, database_now
from agents.db.statements import Prepared, insert, update
from agents.lifecycle import Outcome
from agents.models import Agent, Event, Session
from agents.registration import open_session
from asks import access, delegation
from asks.queue import places, queries
from tests.factories import AgentFactory, AskFactory, home_of, turn_of
from tests.policies.world import asked, group_of, in_force, refund

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def everybody(agent: Agent, owner: User, colleague: User, stranger: User) -> list[User]:
    """An owner, a second owner of a team, a group member and a delegate, each with an ask."""
    agent.owners.set([owner, colleague])
    group_of("treasury", stranger)
    delegate = User.objects.create(username="dora")
    delegation.create_delegation(
        by=colleague, to=delegate, ends_at=database_now() + DAY, reason="Away."
    )
    in_force(agent, refund(answered_by="group:treasury"))
    for _ in range(2):
        AskFactory(session=open_session(agent))
        turn_of(open_session(agent), Outcome.BLOCKED)
        turn_of(home_of(AgentFactory(owners=[owner])), Outcome.NO_WORK)
    asked(open_session(agent))
    return [owner, colleague, stranger, delegate]


def test_each_sees_what_the_querysets_find(everybody: list[User]) -> None:
    for person in everybody:
        first = queries.open_asks(person)[: places.PAGE_SIZE]
        assert places.first_places(person) == places.places_of(first)
        assert places.blocked_places(person) == list(queries.blocked_sessions(person))
        quiet = {*queries.fine_sessions(person), *queries.working_sessions(person)}
        quiet |= {*queries.others_wait(person)}
        assert set(places.others(person)) == quiet
        assert (
            queries.count_badge(person) == first.count() + queries.blocked_sessions(person).count()
        )
    assert [queries.count_badge(person) for person in everybody] == [4, 4, 1, 2]


def test_a_delegate_is_told_in_whose_name(everybody: list[User]) -> None:
    *_, delegate = everybody
    (given,) = access.delegations_to(delegate)
    assert {place.by_delegation for place in places.first_places(delegate)} == {given.pk}
    assert {place.by_delegation for place in places.first_places(everybody[0])} == {None}


def test_the_sql_is_made_once(
    owner: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    made = []

    def make(pk: int) -> object:
        made.append(pk)
        return User.objects.filter(pk=pk).values_list("username")

    prepared: Prepared[User] = Prepared(make)  # type: ignore[arg-type]
    with django_assert_num_queries(3):
        assert prepared.rows(owner.pk) == prepared.rows(owner.pk) == [("olga",)]
        assert prepared.rows(owner.pk + 100_000) == []
    assert len(made) == 1


def test_a_query_that_is_about_nobody_is_refused() -> None:
    everyone = Prepared(lambda _: User.objects.values_list("username"))
    with pytest.raises(ValueError, match="does not depend on all its keys"):
        everyone.rows(1)


def test_objects_are_those_that_the_queryset_makes(session: Session) -> None:
    """Including related objects, annotations, and columns that Django converts."""

    def of(pk: int) -> QuerySet[Session]:
        found = Session.objects.filter(pk=pk).select_related("agent", "requested_by")
        return found.annotate(read_at=ClockNow(), is_home_too=F("is_home"))

    session.data = {"seen": [1, None, "“ä”"]}
    session.save(update_fields=["data"])
    theirs, ours = of(session.pk).get(), Prepared(of).first(session.pk)
    assert ours is not None
    known = {name for name in vars(theirs) if name not in ("_state", "read_at")}
    for name in known:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert vars(ours).keys() == vars(theirs).keys()
    assert ours._state.fields_cache.keys() == theirs._state.fields_cache.keys()
    assert ours.agent.settings == theirs.agent.settings
    assert ours.data == {"seen": [1, None, "“ä”"]}
    assert (ours._state.adding, ours._state.db) == (False, "default")
    assert Prepared(of).all(session.pk + 100_000) == []


def test_a_key_may_be_a_text_and_there_may_be_several(owner: User, session: Session) -> None:
    by_name = Prepared(lambda name: User.objects.filter(username=name), of=(str,))
    assert by_name.all("olga") == [owner]
    assert by_name.first("%s' OR true --") is None

    def make(state: str, pk: int) -> QuerySet[Session]:
        return Session.objects.filter(pk=pk, state=state, title__contains="100%").order_by("pk")

    both = Prepared(make, of=(str, int))
    assert both.all("active", session.pk) == []
    Session.objects.filter(pk=session.pk).update(title="100% done")
    assert both.all("active", session.pk) == [session]
    assert both.all("paused", session.pk) == []


@pytest.mark.django_db(transaction=True)
def test_what_locks_does_so_in_a_transaction_only(session: Session) -> None:
    locked = Prepared(lambda pk: Session.objects.filter(pk=pk).select_for_update())
    with transaction.atomic():
        assert locked.first(session.pk) == session
    with pytest.raises(TransactionManagementError):
        locked.first(session.pk)


def test_a_statement_is_shown_as_it_was_sent(session: Session) -> None:
    with CaptureQueriesContext(connection) as sent:
        Prepared(lambda pk: Session.objects.filter(pk=pk)).first(session.pk)
    assert sent.captured_queries[0]["sql"].startswith("SELECT")
    assert f'WHERE "agents_session"."id" = {session.pk} ' in sent.captured_queries[0]["sql"]


def test_a_row_is_stored_as_django_would(
    session: Session, owner: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    session.data, session.title = {"a": [None, "x"]}, "not written"
    session.wake_at, session.wake_cause = database_now(), "human"
    session.requested_by = owner
    with django_assert_num_queries(1):
        update(session, ["data", "wake_at", "wake_cause", "requested_by"])
    found = Session.objects.get(pk=session.pk)
    assert (found.data, found.wake_at, found.requested_by_id) == (
        session.data,
        session.wake_at,
        owner.pk,
    )
    assert found.title != "not written"
    with pytest.raises(DatabaseError, match=r"There is no agents\.Session"):
        update(Session(pk=session.pk + 100_000, title="nobody"), ["title"])


def test_a_row_is_added_as_django_would(session: Session) -> None:
    """Database defaults are returned, and JSON's null is distinct from SQL's NULL."""
    ours = insert(Event(session=session, seq=900, kind="output", actor="a", data={"n": [1, None]}))
    theirs = Event(session=session, seq=901, kind="output", actor="a", data={"n": [1, None]})
    theirs.save(force_insert=True)
    assert vars(ours).keys() == vars(theirs).keys()
    assert (ours._state.adding, ours._state.db) == (False, "default")
    found = Event.objects.get(pk=ours.pk)
    assert (found.data, found.created_at, found.run_id) == (ours.data, ours.created_at, None)
    nothing = Value(None, JSONField())
    added = insert(Event(session=session, seq=902, kind="output", actor="a", data=nothing))
    assert Event.objects.get(pk=added.pk).data is None
    with pytest.raises(IntegrityError, match="events_are_numbered"):
        insert(Event(session=session, seq=900, kind="output", actor="a"))


def test_several_rows_are_added_in_one_statement(
    session: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    def rows(first: int, **more: Any) -> list[Event]:
        told = range(first, first + 3)
        return [Event(session=session, seq=n, kind="output", actor="a", **more) for n in told]

    ours = rows(900)
    with django_assert_num_queries(1):
        insert(*ours)
    assert [Event.objects.get(pk=row.pk).seq for row in ours] == [900, 901, 902]
    assert not any(row._state.adding for row in ours)
    odd = [*rows(910), *rows(920, data=Value(None, JSONField())), *rows(930, pk=2**40)[:1]]
    insert(*odd)  # rows with different columns are inserted one by one
    assert [Event.objects.get(pk=row.pk).seq for row in odd] == [row.seq for row in odd]
