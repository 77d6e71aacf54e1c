"""The JSON format of a policy: which actions need approval, by whom, by how many, by when.

    {"terms": {"expires_after": "P2D"},
     "rules": [{"operation": "fs.read*", "approval": "never"},
               {"operation": "refund", "approval": "when", "when": "params.amount > 1000", "quorum": 2},
               {"operation": "pay*", "money_critical": true}]}

The first rule whose pattern matches an operation applies. An operation without a rule always needs a
person. The terms of a rule override those of the policy. Durations are ISO 8601 or seconds.
"""

from __future__ import annotations

from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from django.utils.translation import gettext as _
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from agents.text.storable import is_storable
from asks.policies import conditions
from asks.policies.wording import Wording
from asks.policies.working_hours import WorkingHours

MAX_RULES = 200
MAX_WAIT = timedelta(days=3660)
GROUP = "group:"

Approval = Literal["never", "once", "always", "when"]
FourEyes = Literal["off", "required", "unless_alone"]
Rejection = Literal["first_decides", "all_vote"]


def _some_time(wait: timedelta) -> timedelta:
    if not timedelta(seconds=1) <= wait <= MAX_WAIT:
        raise ValueError(_("it must be at least one second and at most ten years"))
    return wait


def _only_pauses(action: object) -> object:
    if action != "pause":
        raise ValueError(_("time never approves: an expiry can only pause"))
    return action


def _who(name: str) -> str:
    if name != "owners" and not name.removeprefix(GROUP).strip():
        raise ValueError(_("name a group, as in group:finance"))
    if name != "owners" and not name.startswith(GROUP):
        raise ValueError(_("it must be owners or group:<name>"))
    return name


def _plain(text: str) -> str:
    if not is_storable(text):
        raise ValueError(_("it contains a character that cannot be stored"))
    return text


def _counted(quorum: object) -> object:
    """Expand ``2``, which is short for two approvals."""
    is_number = isinstance(quorum, int) and not isinstance(quorum, bool)
    return {"approvals": quorum} if is_number else quorum


Wait = Annotated[timedelta, AfterValidator(_some_time)]
Who = Annotated[str, Field(max_length=156), AfterValidator(_plain), AfterValidator(_who)]
Text = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Quorum(_Shape):
    """How many people must approve. ``of`` is the number of voters, if all of them must vote."""

    approvals: Annotated[int, Field(ge=1, le=50, strict=True)]
    of: Annotated[int, Field(ge=1, le=50, strict=True)] | None = None
    rejection: Rejection = "first_decides"

    @property
    def many_decide(self) -> bool:
        return self.approvals > 1 or self.rejection == "all_vote"

    @model_validator(mode="after")
    def _possible(self) -> Quorum:
        if self.rejection == "all_vote" and self.of is None:
            raise ValueError(_("if all must vote, “of” must be the number of voters"))
        if self.of is not None and self.approvals > self.of:
            why = _("{approvals} of {voters} can never approve")
            raise ValueError(why.format(approvals=self.approvals, voters=self.of))
        return self


class Terms(_Shape):
    """How an ask is handled. For a term that is None, the outer terms or the default apply."""

    answered_by: Who | None = None
    four_eyes: FourEyes | None = None
    quorum: Annotated[Quorum, BeforeValidator(_counted)] | None = None
    reason_for: tuple[Literal["danger", "deny"], ...] | None = None
    expires_after: Wait | None = None
    on_expire: Annotated[Literal["pause"], BeforeValidator(_only_pauses)] | None = None
    warn_before: Wait | None = None
    remind_after: Wait | None = None
    escalate_after: Wait | None = None
    escalate_to: Who | None = None
    escalated_may_answer: Annotated[bool, Field(strict=True)] | None = None
    extensions: Annotated[int, Field(ge=0, le=100, strict=True)] | None = None
    confidential: Annotated[bool, Field(strict=True)] | None = None
    reauthenticate_within: Annotated[int, Field(ge=1, le=1440, strict=True)] | None = Field(
        default=None, description="Minutes since the person last proved who they are."
    )

    @model_validator(mode="after")
    def _somebody_to_admit(self) -> Self:
        if self.escalated_may_answer and not (self.escalate_to or "").startswith(GROUP):
            raise ValueError(_("“escalated_may_answer” needs a group in “escalate_to”"))
        return self

    def over(self, around: Terms) -> Terms:
        """Return these terms, with the missing ones taken from ``around``."""
        own = self.model_dump(exclude_none=True)
        return Terms(**{**around.model_dump(exclude_none=True), **_terms_of(own)})


def _terms_of(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in Terms.model_fields}


class Rule(Terms, Wording):
    """A rule for the operations that match its pattern, with the wildcards ``*`` and ``?``.

    Its wording is how cards describe such an action.
    """

    operation: Text
    approval: Approval = "always"
    when: Annotated[str, Field(max_length=conditions.MAX_LENGTH)] | None = None
    money_critical: Annotated[bool, Field(strict=True)] = False
    bind_files: tuple[Text, ...] = Field(
        default=(), max_length=20, description="Params whose values name files or hold a command."
    )
    may_edit: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="Whether an owner may change the call before approving it."
    )

    @field_validator("when")
    @classmethod
    def _readable(cls, rule: str | None) -> str | None:
        if rule is not None:
            conditions.check_condition(rule)
        return rule

    @model_validator(mode="after")
    def _consistent(self) -> Rule:
        if (self.approval == "when") != (self.when is not None):
            raise ValueError(
                _("approval “when” needs a condition in “when”, and only that approval has one")
            )
        if self.money_critical and self.approval != "always":
            raise ValueError(_("a money-critical action always needs an approval"))
        if self.may_edit and self.money_critical:
            raise ValueError(
                _("a money-critical action is signed unchanged: “may_edit” is not allowed")
            )
        if self.may_edit and self.quorum is not None and self.quorum.many_decide:
            raise ValueError(_("if several people decide, nobody may edit the call alone"))
        return self

    @property
    def wording(self) -> Wording:
        return Wording(**self.model_dump(include=set(Wording.model_fields)))

    def fits(self, operation: str) -> bool:
        return fnmatchcase(operation, self.operation)


class Document(_Shape):
    """A whole policy. An empty one equals the built-in version 0: always ask, any owner answers."""

    terms: Terms = Terms()
    rules: Annotated[tuple[Rule, ...], Field(max_length=MAX_RULES)] = ()
    working_hours: WorkingHours | None = None

    def rule_for(self, operation: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.fits(operation)), None)

    @property
    def groups(self) -> set[str]:
        """The names of the groups that the policy refers to."""
        named = [who for terms in (self.terms, *self.rules) for who in _named(terms)]
        return {who.removeprefix(GROUP) for who in named if who and who.startswith(GROUP)}


def _named(terms: Terms) -> tuple[str | None, str | None]:
    return terms.answered_by, terms.escalate_to
