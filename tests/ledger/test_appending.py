"""What every decision leaves in the ledger, written in the transaction of the decision."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.text.canonical_json import as_plain_json, canonical_json
from asks import answering
from asks.ledger import verify
from asks.models import Ask, LedgerRecord
from asks.policies import versions
from tests.ledger.world import Draft, agent_of, ask_of, decide, echo_of, home, person
from workspace.accounts import api_keys

pytestmark = pytest.mark.django_db
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


def test_a_verdict_leaves_all_that_proves_it() -> None:
    owner = person("olga")
    (ask,) = ask_of(home(agent_of(owner)), owner, Draft(context={"big": 2**60 + 1}))
    verdict = decide(ask, owner, "no")
    record = LedgerRecord.objects.get()
    assert record.chain == f"session:{ask.session_id}"
    assert (record.seq, record.kind, record.subject) == (1, "verdict", f"verdict:{verdict.pk}")
    assert record.hash == hashlib.sha256(record.body.encode()).hexdigest()
    facts = json.loads(record.body)["facts"]
    assert facts["ask"]["prompt"] == "May I refund order 1182?"
    assert [option["key"] for option in facts["ask"]["options"]] == ["yes", "no"]
    assert facts["gate"]["params"] == {"order": 1182, "amount": "420.00"}
    assert facts["verdict"]["option"] == "no"
    assert facts["verdict"]["echo"]["action_hash"] == facts["gate"]["action_hash"]
    assert facts["names"] == {"agent": ask.agent.slug, "by": "olga"}


def test_a_refusal_says_what_was_submitted_and_by_whom() -> None:
    owner = person("olga")
    (ask,) = ask_of(home(agent_of(owner)), owner)
    answering.answer_ask(ask_id=ask.pk, by=owner, option="maybe", text="Hm", echo=echo_of(ask))
    record = LedgerRecord.objects.get()
    told = json.loads(record.body)["facts"]["refusal"]
    assert (record.kind, record.actor, told["reason"]) == (
        "refusal",
        "human:olga",
        "unknown_option",
    )
    assert told["submitted"]["option"] == "maybe"
    assert told["submitted"]["text"] == "Hm"


def test_whatever_an_agent_shows_with_a_question_can_be_recorded() -> None:
    """Numbers and depths that canonical JSON refuses must not stop a person's answer."""
    deep: object = 0
    for _ in range(50):
        deep = [deep]
    odd = {
        "big": 2**60 + 1,
        "float": 1e21,
        "tiny": 5e-324,
        "minus": -0.0,
        "deep": deep,
        "ü": "\u202e",
    }
    owner = person()
    (ask,) = ask_of(home(agent_of(owner)), owner, Draft(context=odd))
    decide(ask, owner)
    told = json.loads(LedgerRecord.objects.get().body)["facts"]["ask"]["context"]
    assert told["big"] == str(2**60 + 1)
    assert told["float"] == 1e21
    verify.verify_ledger()


@given(st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_a_value_and_its_way_through_the_database_are_the_same(value: object) -> None:
    """JSON in, JSON out: what was plain stays plain, and what is plain has one canonical form."""
    once = as_plain_json(value)
    assert canonical_json(once) == canonical_json(value)
    assert as_plain_json(json.loads(json.dumps(once))) == once


def test_the_waiting_and_the_names_of_that_day_are_kept() -> None:
    owner = person("olga")
    (ask,) = ask_of(home(agent_of(owner)), owner)
    Ask.objects.filter(pk=ask.pk).update(opened_at=ask.opened_at - timedelta(hours=2))
    decide(ask, owner)
    owner.username = "olga-renamed"
    owner.save()
    facts = json.loads(LedgerRecord.objects.get().body)["facts"]
    assert facts["names"]["by"] == "olga"
    assert 7200 <= facts["waited_seconds"] < 7300
    verify.verify_ledger()


def test_other_verbs_write_into_the_workspaces_own_chains() -> None:
    owner = person("olga")
    agent = agent_of(owner)
    key, _ = api_keys.create_key(name="ci", scopes=["run:read"], agent=agent, created_by=owner)
    versions.add_version(agent_id=agent.pk, rules={}, why="For a test.", by=owner)
    api_keys.revoke_key("ci", by=owner)
    first, third = LedgerRecord.objects.filter(subject=f"key:{key.pk}").order_by("seq")
    second = LedgerRecord.objects.get(kind="policy_changed")
    assert (first.chain, first.seq, second.chain, second.seq) == (
        "workspace:key",
        1,
        "workspace:policy",
        1,
    )
    assert (third.chain, third.seq, json.loads(third.body)["prev"]) == (
        "workspace:key",
        2,
        first.hash,
    )
    assert verify.verify_ledger().chains == 2
