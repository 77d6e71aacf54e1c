"""What has to hold after a refused request, outside any transaction of the test's own."""

from __future__ import annotations

from asks.ledger import verify
from asks.models import LedgerRecord, Refusal


def check_refusals_are_on_record(count: int) -> None:
    """So many refusals are kept, each with its record, and the whole ledger proves."""
    assert Refusal.objects.count() == count
    assert LedgerRecord.objects.filter(kind="refusal").count() == count
    verify.verify_ledger()
