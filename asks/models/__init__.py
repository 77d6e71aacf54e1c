"""Models of asks, their options and actions, and their outcomes."""

from asks.models.ask import Ask, Gate, Option
from asks.models.deadlines import Dropped, Nudge, NudgeKind
from asks.models.decision import Refusal, Verdict
from asks.models.delegation import Delegation
from asks.models.grant import Effect, EffectEnd, Grant, GrantEnd, GrantState, Redemption
from asks.models.hours import PersonalHours
from asks.models.ledger import Anchor, LedgerRecord
from asks.models.policy import Policy
from asks.models.signed import SignedFile
from asks.models.undo import Retraction, UndoWindow
from asks.models.voting import Vote

__all__ = [
    "Anchor",
    "Ask",
    "Delegation",
    "Dropped",
    "Effect",
    "EffectEnd",
    "Gate",
    "Grant",
    "GrantEnd",
    "GrantState",
    "LedgerRecord",
    "Nudge",
    "NudgeKind",
    "Option",
    "PersonalHours",
    "Policy",
    "Redemption",
    "Refusal",
    "Retraction",
    "SignedFile",
    "UndoWindow",
    "Verdict",
    "Vote",
]
