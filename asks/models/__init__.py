"""Asks, the options and actions they offer, and what came of them."""

from asks.models.ask import Ask, Gate, Option
from asks.models.decision import Refusal, Verdict

__all__ = ["Ask", "Gate", "Option", "Refusal", "Verdict"]
