"""Proves the ledger: its links, its anchors, and the rows it tells of."""

from asks.proving.broken import BrokenLedger
from asks.proving.single import prove
from asks.proving.whole import Proved, verify, verify_chain

__all__ = ["BrokenLedger", "Proved", "prove", "verify", "verify_chain"]
