"""Prove the ledger: its links, its anchors, and the rows that it describes."""

from asks.ledger.verify.broken import BrokenLedger
from asks.ledger.verify.single import prove_record
from asks.ledger.verify.whole import Proved, verify_chain, verify_ledger

__all__ = ["BrokenLedger", "Proved", "prove_record", "verify_chain", "verify_ledger"]
