"""What every decision leaves in the ledger, written in the transaction of the decision."""

from __future__ import annotations

import hashlib
import json

import pytest
from django.db import transaction

from asks.models import LedgerRecord
from tests.ledger.world import Draft, agent_of, ask_of, decide, home, person

pytestmark = pytest.mark.django_db


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


def test_nothing_is_recorded_outside_a_transaction() -> None:
    with transaction.atomic():
        pass
