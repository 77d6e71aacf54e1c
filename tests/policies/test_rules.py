"""What a policy may say, and what it may not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction

from agents.models import Agent
from asks.models import LedgerRecord, Policy
from asks.policies import conditions, versions
from asks.policies.conditions import BadCondition
from asks.policies.working_hours import WorkingHours, add_working_time
from tests.policies.world import in_force, refund

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)

BAD: list[tuple[Any, str]] = [
    ({"terms": {"on_expire": "approve"}}, "time never approves"),
    ({"rules": [refund(on_expire="approve")]}, "time never approves"),
    ({"terms": {"on_expire": None, "auto_approve": True}}, "auto_approve"),
    ({"rule": []}, "rule"),
    ({"rules": [{"approval": "never"}]}, "operation"),
    ({"rules": [refund(approval="sometimes")]}, "approval"),
    ({"rules": [refund(approval="when")]}, "needs a condition"),
    ({"rules": [refund(when="params.amount > 1")]}, "needs a condition"),
    ({"rules": [refund(approval="when", when="__import__('os')")]}, "There is no “__import__”"),
    ({"rules": [refund(money_critical=True, approval="never")]}, "always needs an approval"),
    ({"rules": [refund(quorum=0)]}, "greater than or equal to 1"),
    ({"rules": [refund(quorum={"approvals": 3, "of": 2})]}, "can never approve"),
    ({"rules": [refund(quorum={"approvals": 2, "rejection": "all_vote"})]}, "the number of voters"),
    ({"terms": {"answered_by": "everybody"}}, "group:<name>"),
    ({"terms": {"answered_by": "group:"}}, "name a group"),
    ({"terms": {"answered_by": "group:nobody-made-it"}}, "There is no group nobody-made-it"),
    ({"terms": {"expires_after": 0}}, "at least one second"),
    ({"terms": {"expires_after": "soon"}}, "expires_after"),
    ({"terms": {"reauthenticate_within": 0}}, "greater than or equal to 1"),
    ({"terms": {"confidential": "yes"}}, "confidential"),
    ({"working_hours": {"zone": "Mars/Olympus"}}, "no time zone"),
    (
        {"working_hours": {"zone": "UTC", "opens": "17:00", "closes": "09:00"}},
        "open before they close",
    ),
    ([], "dictionary"),
    ({"rules": [refund()] * 201}, "200"),
    ({"terms": {"answered_by": "group:" + "x" * 70_000}}, "at most 65536 bytes"),
]


@pytest.mark.case("C66")
@pytest.mark.parametrize(("rules", "why"), BAD)
def test_what_a_policy_may_not_say(agent: Agent, owner: User, rules: Any, why: str) -> None:
    with pytest.raises(ValidationError) as refused:
        versions.add_version(agent_id=agent.pk, rules=rules, why="x", by=owner)
    assert why in " ".join(refused.value.messages)
    assert not Policy.objects.exists()
    assert versions.version_in_force(agent.pk) == 0


@pytest.mark.parametrize("why", ["", " \u200b", "x" * 1001, "\0"])
def test_a_version_says_why(agent: Agent, owner: User, why: str) -> None:
    with pytest.raises(ValidationError):
        versions.add_version(agent_id=agent.pk, rules={}, why=why, by=owner)


def test_versions_are_numbered_written_down_and_never_changed(agent: Agent, owner: User) -> None:
    first = in_force(agent, refund(approval="never"))
    second = in_force(agent, refund(quorum=2))
    assert (first.version, second.version) == (1, 2)
    assert versions.policy_in_force(agent.pk).version == 2
    record = LedgerRecord.objects.get(subject=f"policy:{second.pk}")
    assert (record.kind, record.actor, record.chain) == (
        "policy_changed",
        "human:olga",
        "workspace:policy",
    )
    assert '"quorum":{"approvals":2}' in record.body
    for change in (
        lambda: Policy.objects.filter(pk=first.pk).update(why="another"),
        lambda: Policy.objects.filter(pk=first.pk).delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    with pytest.raises(IntegrityError), transaction.atomic():
        Policy.objects.create(agent=agent, version=2, rules={}, why="x", made_by=owner)


def test_another_agent_is_not_concerned(agent: Agent) -> None:
    from tests.factories import AgentFactory

    other = AgentFactory()
    in_force(agent, refund(approval="never"))
    assert versions.version_in_force(other.pk) == 0


HOLDS = [
    ("params.amount > 1000", {"amount": 1001}, True),
    ("params.amount > 1000", {"amount": 1000.0}, False),
    ("params.to.country in ['DE', 'FR']", {"to": {"country": "FR"}}, True),
    ("params['to']['country'] != 'DE'", {"to": {"country": "DE"}}, False),
    (
        "starts(params.path, '/etc/') or not ends(lower(params.path), '.txt')",
        {"path": "/x/A.TXT"},
        False,
    ),
    ("'force' in params and params.force", {"force": True}, True),
    ("'force' in params and params.force", {}, False),
    ("params.amount * params.count - 1 >= 99", {"amount": 10, "count": 10}, True),
    ("length(params.files) > 2", {"files": [1, 2, 3]}, True),
    ("operation == 'refund'", {}, True),
    ("params.note == None", {"note": None}, True),
]


@pytest.mark.parametrize(("rule", "params", "expected"), HOLDS)
def test_a_condition_is_read(rule: str, params: Any, expected: bool) -> None:
    assert conditions.condition_holds(rule, operation="refund", params=params) is expected


UNDECIDED = [
    ("params.amount > 1000", {}),
    ("params.amount > 1000", {"amount": "1001"}),
    ("params.amount > 1000", {"amount": True}),
    ("params.amount > 1000", []),
    ("params.force == True", {"force": "true"}),
    ("params.amount", {"amount": 5}),
    ("params.keys == 1", {"a": 1}),
    ("params.items == 1", {"a": 1}),
    ("1 in params.text", {"text": "1"}),
    ("params[0] == 1", {"a": 1}),
    ("params.text + 'x' == 'ax'", {"text": "a"}),
    ("length(params) > 0", 7),
]


@pytest.mark.parametrize(("rule", "params"), UNDECIDED)
def test_a_condition_that_does_not_fit_the_arguments_is_not_decided(rule: str, params: Any) -> None:
    with pytest.raises(BadCondition):
        conditions.condition_holds(rule, operation="refund", params=params)


@pytest.mark.parametrize(
    "rule",
    [
        "", "x" * 501, "params.__class__.__mro__()", "().__class__", "2 ** 9999 > 1", "1 << 99999 > 1",
        "[a for a in params]", "lambda: 1", "params; operation", "import os", "f'{params}'", "open('x')",
        "params.get('x')", "lower(params.x, key=1)", "b'x' == params.x", "(1, 2)", "{}", "x := 1", "not",
        "(" * 300 + ")" * 300, "1j == params.x", "params.x if 1 else 2", "... == 1",
    ],
)  # fmt: skip
def test_nothing_else_is_read(rule: str) -> None:
    with pytest.raises(BadCondition):
        conditions.condition_holds(rule, operation="x", params={"x": 1})


BERLIN = WorkingHours(zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("start", "hours", "end"),
    [
        ("2026-11-27 10:00", 2, "2026-11-27 12:00"),  # Friday, 11:00 there
        ("2026-11-27 15:00", 2, "2026-11-30 09:00"),  # an hour is left; the next on Monday at 9
        ("2026-11-28 10:00", 8, "2026-11-30 16:00"),  # Saturday does not count
        ("2026-11-27 04:00", 1, "2026-11-27 09:00"),  # before they come
        ("2026-11-27 22:00", 1, "2026-11-30 09:00"),  # after they went
        (
            "2026-03-27 15:00",
            2,
            "2026-03-30 08:00",
        ),  # the clocks went forward on the Sunday between
        ("2026-11-27 10:00", 40, "2026-12-04 10:00"),  # five working days
    ],
)
def test_time_is_counted_while_somebody_is_there(start: str, hours: int, end: str) -> None:
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert add_working_time(begin, hours * HOUR, BERLIN) == datetime.fromisoformat(end).replace(
        tzinfo=UTC
    )


def test_without_working_hours_time_is_time() -> None:
    begin = datetime(2026, 11, 28, tzinfo=UTC)
    assert add_working_time(begin, 40 * HOUR) == begin + 40 * HOUR
