"""Asks, the options and actions they offer, and what came of them."""

from asks.models.ask import Ask, Gate, Option
from asks.models.decision import Refusal, Verdict
from asks.models.ledger import Anchor, LedgerRecord
from asks.models.signed import SignedFile

__all__ = ["Anchor", "Ask", "Gate", "LedgerRecord", "Option", "Refusal", "SignedFile", "Verdict"]
