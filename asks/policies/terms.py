"""Apply a policy's terms to an ask. They are fixed when it is raised, and stored with it.

An ask that is bound to an action is asked again when the policy changes. Any other ask keeps its
terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from django.contrib.auth.models import Group, User
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict

from agents import actors
from agents.lifecycle import InboxKind
from agents.locking import LockedSession
from agents.models import Run, Session
from asks.access import people_who_answer
from asks.drafts import AskDraft
from asks.drafts.validation import BadDraft
from asks.lifecycle import Meaning, Style
from asks.models import Ask, Nudge, NudgeKind, Option
from asks.policies import personal_hours, working_hours
from asks.policies.rules import GROUP, Quorum
from asks.policies.versions import Ruling
from asks.policies.wording import UNSAID, Wording
from asks.policies.working_hours import WorkingHours

DEFAULT_EXTENSIONS = 3


class AskTerms(BaseModel):
    """The terms stored with an ask. Missing terms have defaults: one answer, no other conditions."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    policy: int = 0
    rule: str = ""
    quorum: Quorum = Quorum(approvals=1)
    voters: int = 0
    four_eyes: Literal["off", "kept", "waived"] = "off"
    started_for: tuple[str, ...] = ()
    reason_for: tuple[str, ...] = ()
    reauthenticate_within: int | None = None
    may_edit: bool = False
    extend_by: timedelta | None = None
    extensions: int = 0
    warn_before: timedelta | None = None
    hours: WorkingHours | None = None
    people_hours: tuple[WorkingHours, ...] = ()
    escalate_to: str = ""
    escalate_at: datetime | None = None
    wording: Wording = UNSAID
    tool_wording: Wording = UNSAID

    @property
    def words(self) -> Wording:
        """How the card describes the action: as the policy says, otherwise as its tool says."""
        return self.wording.filled_from(self.tool_wording)

    @property
    def calendars(self) -> tuple[WorkingHours, ...]:
        """The hours that count: the policy's, or those of the people who answer."""
        return (self.hours,) if self.hours else self.people_hours

    @property
    def many_decide(self) -> bool:
        return self.quorum.many_decide


def style_of(option: Option, kept: AskTerms) -> str:
    """Return the style of an option: to approve a dangerous action is dangerous."""
    if option.meaning == Meaning.APPROVE and kept.words.danger:
        return Style.DANGER
    return option.style


@lru_cache(maxsize=1)
def _default() -> AskTerms:
    return AskTerms()


def terms_of(ask: Ask) -> AskTerms:
    """Return the terms of an ask."""
    return AskTerms.model_validate(ask.terms) if ask.terms else _default()


@dataclass
class AppliedTerms:
    """The columns of an ask that its terms fill, and its future nudges."""

    terms: dict[str, Any] = field(default_factory=dict)
    answered_by: Group | None = None
    barred: list[int] = field(default_factory=list)
    confidential: bool = False
    expires_at: datetime | None = None
    nudges: list[Nudge] = field(default_factory=list)

    def columns(self) -> dict[str, Any]:
        """Return the keyword arguments for a new Ask."""
        return {
            "terms": self.terms,
            "answered_by": self.answered_by,
            "barred": self.barred,
            "confidential": self.confidential,
        }


def apply_terms(
    session: LockedSession,
    run: Run,
    draft: AskDraft,
    ruling: Ruling,
    expires_at: datetime | None = None,
) -> AppliedTerms:
    """Apply a ruling to a draft on a locked session. Raises BadDraft if a term cannot be met.

    ``expires_at`` is an existing deadline, which is kept.
    """
    applied = AppliedTerms(confidential=bool(ruling.terms.confidential), expires_at=expires_at)
    applied.answered_by = _group(ruling.terms.answered_by)
    stored: dict[str, Any] = {}
    _several(draft, ruling, stored)
    _four_eyes(session, run, ruling, applied, stored)
    _deadlines(session, draft, ruling, applied, stored)
    _wording(draft, ruling, stored)
    for name in ("reason_for", "reauthenticate_within"):
        if (value := getattr(ruling.terms, name)) is not None:
            stored[name] = value
    if ruling.rule is not None and ruling.rule.may_edit and draft.action is not None:
        stored["may_edit"] = True
    if stored or applied.answered_by or applied.confidential:
        _count_voters(session, applied, stored)
        stored["policy"] = ruling.version
        stored["rule"] = ruling.rule.operation if ruling.rule else ""
    applied.terms = AskTerms.model_validate(stored).model_dump(mode="json", exclude_defaults=True)
    return applied


def _group(who: str | None) -> Group | None:
    if who is None or not who.startswith(GROUP):
        return None
    group = Group.objects.filter(name=who.removeprefix(GROUP)).first()
    if group is None:
        why = _("The policy assigns this to {who}, but there is no such group.")
        raise BadDraft(why.format(who=who))
    return group


def _several(draft: AskDraft, ruling: Ruling, stored: dict[str, Any]) -> None:
    """Apply the quorum. Votes name options, so the draft must offer some."""
    quorum = ruling.terms.quorum
    if quorum is None or draft.action is None:
        return
    if not draft.options:
        raise BadDraft(_("The policy requires several votes, so the question must offer options."))
    stored["quorum"] = quorum


def _wording(draft: AskDraft, ruling: Ruling, stored: dict[str, Any]) -> None:
    """Keep the policy's words and the tool's apart: the policy may change before it is asked again."""
    if draft.action is None:
        return
    said = {"tool_wording": draft.action.wording}
    if ruling.rule is not None:
        said["wording"] = ruling.rule.wording
    stored.update({name: wording for name, wording in said.items() if wording != UNSAID})


def _count_voters(session: Session, applied: AppliedTerms, stored: dict[str, Any]) -> None:
    """Record how many people can vote when the ask is raised, for the card."""
    if "quorum" in stored:
        asked = Ask(agent_id=session.agent_id, answered_by=applied.answered_by)
        stored["voters"] = (
            people_who_answer(asked).exclude(pk__in=applied.barred).distinct().count()
        )


def _four_eyes(
    session: Session, run: Run, ruling: Ruling, applied: AppliedTerms, stored: dict[str, Any]
) -> None:
    """Bar the people who started the run. ``unless_alone`` waives that if nobody else can answer."""
    four_eyes = ruling.terms.four_eyes
    if four_eyes in (None, "off"):
        return
    started_for = list(_started_for(run))
    if not started_for:
        return
    stored["started_for"] = tuple(person.get_username() for person in started_for)
    ids = [person.pk for person in started_for]
    asked = Ask(agent_id=session.agent_id, answered_by=applied.answered_by)
    others = people_who_answer(asked).exclude(pk__in=ids)
    if four_eyes == "unless_alone" and not others.exists():
        stored["four_eyes"] = "waived"
    else:
        applied.barred, stored["four_eyes"] = ids, "kept"


def _started_for(run: Run) -> list[User]:
    """Return who started the run and who wrote the messages given to it."""
    authors = run.given.filter(kind=InboxKind.MESSAGE).values_list("author", flat=True)
    names = [actors.name_of(author) for author in authors if actors.is_human(author)]
    people = User.objects.filter(pk=run.requested_by_id or 0) | User.objects.filter(
        username__in=names
    )
    return list(people.order_by("username"))


def _deadlines(
    session: LockedSession,
    draft: AskDraft,
    ruling: Ruling,
    applied: AppliedTerms,
    stored: dict[str, Any],
) -> None:
    """Set the deadline and the nudges before it, counted in working hours if any are set."""
    terms, now = ruling.terms, session.locked_at
    hours = _calendars(session, ruling, applied, stored)
    if draft.expires_in is not None:
        applied.expires_at = now + draft.expires_in
    elif terms.expires_after is not None:
        at = working_hours.add_working_time(now, terms.expires_after, *hours)
        applied.expires_at = applied.expires_at or at
    if terms.expires_after is not None and applied.expires_at is not None:
        stored["extend_by"] = terms.expires_after
        stored["extensions"] = DEFAULT_EXTENSIONS if terms.extensions is None else terms.extensions
    for kind, wait, to in (
        (NudgeKind.REMINDER, terms.remind_after, ""),
        (NudgeKind.ESCALATION, terms.escalate_after, terms.escalate_to or ""),
    ):
        if wait is not None:
            due = working_hours.add_working_time(now, wait, *hours)
            applied.nudges.append(Nudge(kind=kind, due_at=due, to=to))
            if kind == NudgeKind.ESCALATION and terms.escalated_may_answer:
                stored["escalate_to"], stored["escalate_at"] = to.removeprefix(GROUP), due
    if applied.expires_at is not None and terms.warn_before is not None:
        stored["warn_before"] = terms.warn_before
        applied.nudges.append(warning_nudge(applied.expires_at, terms.warn_before))


def _calendars(
    session: Session, ruling: Ruling, applied: AppliedTerms, stored: dict[str, Any]
) -> tuple[WorkingHours, ...]:
    """Return the policy's hours, or those of the people who answer. Empty if no duration counts."""
    if ruling.document.working_hours is not None:
        stored["hours"] = ruling.document.working_hours
        return (ruling.document.working_hours,)
    terms = ruling.terms
    if not (terms.expires_after or terms.remind_after or terms.escalate_after):
        return ()
    asked = Ask(agent_id=session.agent_id, answered_by=applied.answered_by)
    people_hours = personal_hours.hours_of_all(
        people_who_answer(asked).exclude(pk__in=applied.barred)
    )
    if people_hours:
        stored["people_hours"] = people_hours
    return people_hours


def warning_nudge(expires_at: datetime, before: timedelta, number: int = 0) -> Nudge:
    """Return an unsaved warning nudge for a deadline."""
    return Nudge(kind=NudgeKind.WARNING, due_at=expires_at - before, round=number)
