"""Proves the ledger: its links, its anchors, and the rows it tells of."""

from asks.ledger.verify.broken import BrokenLedger
from asks.ledger.verify.single import prove
from asks.ledger.verify.whole import Proved, verify, verify_chain

__all__ = ["BrokenLedger", "Proved", "prove", "verify", "verify_chain"]
