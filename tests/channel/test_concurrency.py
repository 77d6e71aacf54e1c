"""Several workers read the same folder, and people act meanwhile."""

from __future__ import annotations

import pytest

from agents.models import Event
from asks import withdrawing
from asks.ledger import verify
from asks.lifecycle import AskStatus
from asks.models import Ask, Refusal, SignedFile, Verdict
from asks.signed_channel import decision_files
from tests.channel.signing import Channel
from tests.ledger.conftest import database
from tests.ledger.test_concurrency import at_once
from tests.ledger.world import Draft, agent_of, ask_of, home, person

__all__ = ["database"]
pytestmark = pytest.mark.usefixtures("database")


def gated() -> Ask:
    owner = person("mia")
    (ask,) = ask_of(home(agent_of(owner)), owner, Draft(money_critical=True))
    return ask


def test_workers_that_scan_at_once_judge_each_file_once(channel: Channel) -> None:
    ask = gated()
    channel.decide(ask)
    channel.put("junk.json", b"{}")
    took = at_once(*(decision_files.scan_for_worker for _ in range(4)))
    assert sum(took) == Verdict.objects.count() == 1
    assert Refusal.objects.count() == 1
    assert SignedFile.objects.count() == 2
    assert Event.objects.filter(kind="verdict").count() == 1
    verify.verify_ledger()


def test_a_signature_and_a_withdrawal_at_once_are_one_of_the_two(channel: Channel) -> None:
    ask = gated()
    channel.decide(ask)
    owner = ask.agent.owners.get()
    at_once(decision_files.scan_folder, lambda: withdrawing.withdraw_ask(ask_id=ask.pk, by=owner))
    answered = Ask.objects.get(pk=ask.pk).status == AskStatus.ANSWERED
    assert Verdict.objects.filter(ask=ask).exists() is answered
    assert Refusal.objects.count() == 1
    verify.verify_ledger()
