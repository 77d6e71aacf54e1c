"""The database itself enforces which events and inbox items are valid."""

from __future__ import annotations

import pytest

from agents import inbox, messages
from agents.events.log import record_event
from agents.lifecycle import InboxKind, InboxState
from agents.locking import lock_session
from agents.models import Event, InboxItem, Session
from tests.factories import RunFactory, owner_of
from tests.invariants.refusing import copy_row, refused, run_sql

pytestmark = pytest.mark.django_db


@pytest.fixture
def event(session: Session) -> Event:
    return session.events.earliest("seq")


@pytest.fixture
def message(session: Session) -> InboxItem:
    messages.post_message(session_id=session.pk, by=owner_of(session), text="Hello.")
    return session.inbox.get()


@pytest.fixture
def mail(session: Session) -> InboxItem:
    locked = lock_session(session.pk)
    return inbox.enqueue_item(
        locked, InboxKind.MAIL, author="agent:other", body="Hi.", source_key="mail:1:0"
    )


@pytest.mark.case("aoa-27")
def test_a_number_is_used_once_in_a_session(event: Event) -> None:
    with refused("events_are_numbered"):
        copy_row("agents_event", event.pk)


def test_a_marker_lands_once_per_run(session: Session) -> None:
    run = RunFactory(session=session)
    event = record_event(lock_session(session.pk), "report", actor="a", text="x", run=run)
    assert event is not None
    copy_row("agents_event", event.pk, seq=event.seq + 100, once_key="k")
    with refused("a_marker_lands_once_per_run"):
        copy_row("agents_event", event.pk, seq=event.seq + 101, once_key="k")
    copy_row("agents_event", event.pk, seq=event.seq + 102, once_key="")
    copy_row("agents_event", event.pk, seq=event.seq + 103, once_key="")


def test_an_event_belongs_to_a_session_that_exists(event: Event) -> None:
    with refused("violates foreign key"):
        copy_row("agents_event", event.pk, session_id=10**9)


def test_a_thing_is_owed_once(mail: InboxItem) -> None:
    with refused("a_thing_is_owed_once"):
        copy_row("agents_inboxitem", mail.pk)
    copy_row("agents_inboxitem", mail.pk, source_key="")
    copy_row("agents_inboxitem", mail.pk, source_key="")


def test_a_lease_names_its_run(message: InboxItem) -> None:
    with refused("a_lease_names_its_run"):
        run_sql("UPDATE agents_inboxitem SET state = 'leased' WHERE id = %s", [message.pk])


@pytest.mark.case("aoa-37")
def test_a_persons_message_is_never_given_up(message: InboxItem) -> None:
    with refused("only_mail_is_given_up"):
        run_sql("UPDATE agents_inboxitem SET state = 'dead' WHERE id = %s", [message.pk])


def test_a_verdict_is_never_given_up(mail: InboxItem) -> None:
    with refused("only_mail_is_given_up"):
        run_sql(
            "UPDATE agents_inboxitem SET state = 'dead', kind = 'verdict' WHERE id = %s", [mail.pk]
        )


def test_mail_may_be_given_up(mail: InboxItem) -> None:
    run_sql("UPDATE agents_inboxitem SET state = 'dead' WHERE id = %s", [mail.pk])
    mail.refresh_from_db()
    assert mail.state == InboxState.DEAD
