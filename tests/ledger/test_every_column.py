"""Any column of any row that a decision consists of is held by the ledger, triggers or not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import DataError, IntegrityError, models

from agents import messages
from agents.db.expressions import database_now
from agents.models import Agent
from asks import answering, backlog, delegation, withdrawing
from asks.actions import taking_back
from asks.deadlines import expiry
from asks.deadlines.extension import extend_deadline
from asks.deadlines.nudges import send_due_nudges
from asks.ledger import verify
from asks.ledger.chain import Head
from asks.ledger.verify.broken import BrokenLedger
from asks.ledger.verify.links import checked_link
from asks.models import (
    Ask,
    Delegation,
    Dropped,
    Gate,
    Grant,
    GrantState,
    LedgerRecord,
    Nudge,
    Option,
    Policy,
    Refusal,
    Verdict,
    Vote,
)
from asks.policies import versions
from tests.ledger.tampering import execute, found_broken, other, overwrite, undone_plainly
from tests.ledger.world import Draft, agent_of, ask_of, decide, echo_of, home, person
from workspace.accounts import api_keys
from workspace.models import ApiKey

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)

#: Columns that no record tells of, and why that is harmless.
UNTOLD: dict[type[models.Model], set[str]] = {
    # Who held it and how often its card was drawn say nothing of what was decided; what repeats an
    # expired ask comes later, and tells of it itself.
    # The order of names is for the eye, and the likeness is a digest of what is told.
    Ask: {
        *("claimed_by_id", "claimed_at", "card_version", "superseded_by_id"),
        *("context_order", "likeness"),
    },
    Gate: {"params_order"},
    ApiKey: {"last_used_at"},
}
KINDS: tuple[type[models.Model], ...] = (
    Verdict,
    Vote,
    Refusal,
    Ask,
    Option,
    Gate,
    Grant,
    Dropped,
    Policy,
    Delegation,
    ApiKey,
)


@pytest.fixture
def owner() -> User:
    return person("olga")


@pytest.fixture
def agent(owner: User) -> Agent:
    return agent_of(owner, person("carl"))


@pytest.fixture
def world(owner: User, agent: Agent) -> None:
    """One of everything that is decided, and a second row of each for references to point at."""
    colleague = User.objects.get(username="carl")
    for name in ("finance", "board"):
        Group.objects.create(name=name)
    session = home(agent)
    terms = {"expires_after": 3600, "escalate_after": 60, "escalate_to": "group:finance"}
    votes = {
        "rules": [{"operation": "refund", "quorum": 2}],
        "terms": {**terms, "escalated_may_answer": True},
    }
    for why in ("Two decide.", "Still two."):
        versions.add_version(agent_id=agent.pk, rules=votes, why=why, by=owner)
    voted, refused, late, gone = ask_of(session, owner, *(Draft() for _ in range(4)))
    answering.answer_ask(ask_id=voted.pk, by=owner, option="yes", echo=echo_of(voted))
    answering.answer_ask(
        ask_id=voted.pk, by=colleague, option="yes", text="Fine.", echo=echo_of(voted)
    )
    answering.answer_ask(ask_id=refused.pk, by=owner, option="never offered", echo=echo_of(refused))
    answering.answer_ask(ask_id=refused.pk, by=owner, option="", echo=echo_of(refused))
    withdrawing.withdraw_ask(ask_id=refused.pk, by=owner, reason="No need")
    extend_deadline(ask_id=late.pk, by=owner)
    Nudge.objects.filter(ask=late, kind="escalation").update(due_at=database_now())
    assert send_due_nudges() == 1
    _let_expire(late, gone)
    backlog.dismiss_ask(ask_id=late.pk, by=owner, reason="The customer left.")
    other = home(agent_of(owner))
    decide(ask_of(other, owner, Draft(bound=False))[0], owner, "no", "Not today")
    _end_grants(owner, agent)
    _delegate(owner, colleague, agent)
    _make_keys(owner, agent)
    verify.verify_ledger()


def _let_expire(*asks: Ask) -> None:
    Ask.objects.filter(pk__in=[ask.pk for ask in asks]).update(expires_at=database_now())
    assert expiry.expire_due_asks() == len(asks)


def _end_grants(owner: User, agent: Agent) -> None:
    """One that lapsed, and one that was taken back."""
    lapsing, withdrawn = (home(agent_of(owner)) for _ in range(2))
    for session in (lapsing, withdrawn):
        asked = ask_of(session, owner, Draft())[0]
        answering.answer_ask(ask_id=asked.pk, by=owner, option="yes", echo=echo_of(asked))
    messages.post_message(session_id=lapsing.pk, by=owner, text="Wait.")
    grant = Grant.objects.get(session=withdrawn)
    assert isinstance(taking_back.take_back(grant_id=grant.pk, by=owner), Grant)


def _delegate(owner: User, colleague: User, agent: Agent) -> None:
    ends_at = database_now() + DAY
    delegation.create_delegation(by=owner, to=colleague, ends_at=ends_at, reason="Holidays")
    made = delegation.create_delegation(
        by=owner, to=colleague, ends_at=ends_at, reason="Ill", agent=agent
    )
    delegation.revoke_delegation(delegation_id=made.pk, by=colleague)


def _make_keys(owner: User, agent: Agent) -> None:
    api_keys.create_key(
        name="ci", scopes=["ask:answer", "run:read"], person=owner, created_by=owner
    )
    api_keys.create_key(name="bot", scopes=["run:read"], agent=agent)
    api_keys.revoke_key("bot")


def _columns(row: models.Model) -> Iterator[str]:
    for field in row._meta.concrete_fields:
        if field.attname not in UNTOLD.get(type(row), set()) and not field.primary_key:
            yield field.attname


def _others(row: models.Model, column: str) -> list[Any]:
    """Other values for a column: a letter in a text, another row that is there, nothing."""
    field = row._meta.get_field(column.removesuffix("_id"))
    value = getattr(row, column)
    if isinstance(field, models.ForeignKey):
        rest = field.related_model._default_manager.exclude(pk=value)
        found = list(rest.values_list("pk", flat=True)[:1])
        return found if value is None else [*found, *([None] if field.null else [])]
    if value is None and isinstance(field, models.DateTimeField):
        return [database_now()]
    place = len(value) // 2 if isinstance(value, str) else 0
    return [other(value, place, 1)] + [None] * field.null


@pytest.mark.usefixtures("world")
def test_another_value_in_any_column_of_any_kind_of_row_is_found() -> None:
    for kind in KINDS:
        rows = _told(kind)
        assert rows, kind
        for row in rows:
            for column in _columns(row):
                for value in _others(row, column):
                    if value != getattr(row, column):
                        _must_be_found(row, column, value)
    verify.verify_ledger()


def _told(kind: type[models.Model]) -> list[models.Model]:
    """Rows that records tell of: an ask of each status, two of what there is many of."""
    closed = Ask.objects.exclude(status="open")
    if kind is Ask:
        return list(closed.order_by("status", "pk").distinct("status"))
    if kind is Grant:
        return list(Grant.objects.exclude(state=GrantState.MINTED))
    if kind in (Option, Gate):
        return list(kind._default_manager.filter(ask__in=closed)[:2])
    return list(kind._default_manager.order_by("pk")[:3])


def _must_be_found(row: models.Model, column: str, value: Any) -> None:
    """What a constraint refuses, triggers or not, need not be found."""
    found = False
    with contextlib.suppress(IntegrityError, DataError), undone_plainly():
        overwrite(row, column, value)
        try:
            verify.verify_ledger()
        except BrokenLedger:
            found = True
        assert found, f"{row!r}: {column} = {value!r} was not found"


@pytest.mark.usefixtures("world")
def test_a_deleted_row_is_found() -> None:
    for kind in (Verdict, Vote, Refusal, Dropped, Policy, Delegation, ApiKey, Grant):
        rows = _told(kind) if kind is Grant else list(kind._default_manager.all())
        for row in rows:
            with undone_plainly():
                execute(kind, "DELETE FROM {table} WHERE id = %s", row.pk)
                with found_broken():
                    verify.verify_ledger()


WRITTEN_PAST: list[tuple[str, str]] = [
    ("vote", "vote"),
    ("policy_changed", "policy"),
    ("delegated", "delegation"),
    ("delegation_revoked", "revoked delegation"),
    ("key_created", "key"),
    ("key_revoked", "revoked key"),
    ("dropped", "dropped ask"),
    ("extended", "extended ask"),
    ("escalated", "escalated ask"),
    ("refusal", "refusal"),
    ("verdict", "verdict"),
    ("expired", "closed ask"),
    ("withdrawn", "closed ask"),
    ("grant_lapsed", "ended grant"),
    ("grant_withdrawn", "ended grant"),
]


@pytest.mark.usefixtures("world")
def test_a_row_whose_record_was_never_written_is_named() -> None:
    from asks.ledger.verify import rows

    for kind, named in WRITTEN_PAST:
        record = LedgerRecord.objects.filter(kind=kind).first()
        assert record is not None, kind
        with undone_plainly():
            execute(LedgerRecord, "DELETE FROM {table} WHERE hash = %s", record.pk)
            with found_broken() as found:
                rows.find_unrecorded()
            assert found.value.where.startswith(f"{named} ")


@pytest.mark.usefixtures("world")
def test_every_byte_of_every_record_counts() -> None:
    """The hash, the columns and the links, by themselves: nothing but the records is read."""
    for chain in LedgerRecord.objects.order_by().values_list("chain", flat=True).distinct():
        head = Head(chain)
        for record in LedgerRecord.objects.filter(chain=chain).order_by("seq"):
            for place in range(len(record.body)):
                body = record.body
                record.body = other(body, place, 1)
                with pytest.raises(BrokenLedger):
                    checked_link(record, head)
                record.body = body
            line = checked_link(record, head)
            head = Head(line.chain, line.seq, line.hash)


@pytest.mark.usefixtures("world")
def test_every_column_of_a_record_counts() -> None:
    """Of a first, a middle and a last record of chains; the bytes of all are looked at above."""
    found = list(LedgerRecord.objects.order_by("chain", "seq"))
    for record in (found[0], found[len(found) // 2], found[-1]):
        for field in LedgerRecord._meta.fields:
            value = getattr(record, field.attname)
            for place in {0, len(value) - 1} if isinstance(value, str) else {0}:
                _must_be_found(record, field.attname, other(value, place, 1))
