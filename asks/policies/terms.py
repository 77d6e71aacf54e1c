"""What a policy means for one ask, fixed when it is raised and kept with it.

An ask that is bound to an action is asked again when the policy changes; one that is not keeps the
terms that it was raised with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from django.contrib.auth.models import Group, User
from pydantic import BaseModel, ConfigDict

from agents import actors
from agents.lifecycle import InboxKind
from agents.locking import LockedSession
from agents.models import Run, Session
from asks.access import people_who_answer
from asks.drafts import AskDraft
from asks.drafts.validation import BadDraft
from asks.models import Ask, Nudge, NudgeKind
from asks.policies import personal_hours, working_hours
from asks.policies.rules import GROUP, Quorum
from asks.policies.versions import Ruling
from asks.policies.working_hours import WorkingHours

DEFAULT_EXTENSIONS = 3


class AskTerms(BaseModel):
    """The terms as they stand with an ask. What is missing is the default: one answer, no more rules."""

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

    @property
    def calendars(self) -> tuple[WorkingHours, ...]:
        """Whose hours count: the policy's, or those of the people who answer."""
        return (self.hours,) if self.hours else self.people_hours

    @property
    def many_decide(self) -> bool:
        return self.quorum.many_decide


@lru_cache(maxsize=1)
def _default() -> AskTerms:
    return AskTerms()


def terms_of(ask: Ask) -> AskTerms:
    """The terms of an ask."""
    return AskTerms.model_validate(ask.terms) if ask.terms else _default()


@dataclass
class AppliedTerms:
    """The columns of an ask that its terms fill, and what is to be said about it later."""

    terms: dict[str, Any] = field(default_factory=dict)
    answered_by: Group | None = None
    barred: list[int] = field(default_factory=list)
    confidential: bool = False
    expires_at: datetime | None = None
    nudges: list[Nudge] = field(default_factory=list)

    def columns(self) -> dict[str, Any]:
        """As keywords of an ask that is being made."""
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
    """What a ruling means for a draft on a locked session. Raises BadDraft if it cannot be kept.

    ``expires_at`` is a deadline that stands already.
    """
    settled = AppliedTerms(confidential=bool(ruling.terms.confidential), expires_at=expires_at)
    settled.answered_by = _group(ruling.terms.answered_by)
    said: dict[str, Any] = {}
    _several(draft, ruling, said)
    _four_eyes(session, run, ruling, settled, said)
    _deadlines(session, draft, ruling, settled, said)
    for name in ("reason_for", "reauthenticate_within"):
        if (value := getattr(ruling.terms, name)) is not None:
            said[name] = value
    if ruling.rule is not None and ruling.rule.may_edit and draft.action is not None:
        said["may_edit"] = True
    if said or settled.answered_by or settled.confidential:
        _count_voters(session, settled, said)
        said["policy"] = ruling.version
        said["rule"] = ruling.rule.operation if ruling.rule else ""
    settled.terms = AskTerms.model_validate(said).model_dump(mode="json", exclude_defaults=True)
    return settled


def _group(who: str | None) -> Group | None:
    if who is None or not who.startswith(GROUP):
        return None
    group = Group.objects.filter(name=who.removeprefix(GROUP)).first()
    if group is None:
        raise BadDraft(f"The policy leaves this to {who}, and there is no such group.")
    return group


def _several(draft: AskDraft, ruling: Ruling, said: dict[str, Any]) -> None:
    """Votes name options, so where several decide there must be some."""
    quorum = ruling.terms.quorum
    if quorum is None or draft.action is None:
        return
    if not draft.options:
        raise BadDraft("The policy wants several votes on this, so it must offer options.")
    said["quorum"] = quorum


def _count_voters(session: Session, settled: AppliedTerms, said: dict[str, Any]) -> None:
    """How many people could vote when it was asked, for the card."""
    if "quorum" in said:
        asked = Ask(agent_id=session.agent_id, answered_by=settled.answered_by)
        said["voters"] = people_who_answer(asked).exclude(pk__in=settled.barred).distinct().count()


def _four_eyes(
    session: Session, run: Run, ruling: Ruling, settled: AppliedTerms, said: dict[str, Any]
) -> None:
    """Bars whom the run was started for; where the policy says so, not the only one who can answer."""
    wanted = ruling.terms.four_eyes
    if wanted in (None, "off"):
        return
    started_for = list(_started_for(run))
    if not started_for:
        return
    said["started_for"] = tuple(person.get_username() for person in started_for)
    ids = [person.pk for person in started_for]
    asked = Ask(agent_id=session.agent_id, answered_by=settled.answered_by)
    others = people_who_answer(asked).exclude(pk__in=ids)
    if wanted == "unless_alone" and not others.exists():
        said["four_eyes"] = "waived"
    else:
        settled.barred, said["four_eyes"] = ids, "kept"


def _started_for(run: Run) -> list[User]:
    """Who started the run, and who wrote what it was given."""
    authors = run.given.filter(kind=InboxKind.MESSAGE).values_list("author", flat=True)
    names = [actors.name_of(author) for author in authors if actors.is_human(author)]
    found = User.objects.filter(pk=run.requested_by_id or 0) | User.objects.filter(
        username__in=names
    )
    return list(found.order_by("username"))


def _deadlines(
    session: LockedSession,
    draft: AskDraft,
    ruling: Ruling,
    settled: AppliedTerms,
    said: dict[str, Any],
) -> None:
    """When it expires, and what is said before that; in the owners' working hours, if they have some."""
    terms, now = ruling.terms, session.locked_at
    hours = _calendars(session, ruling, settled, said)
    if draft.expires_in is not None:
        settled.expires_at = now + draft.expires_in
    elif terms.expires_after is not None:
        at = working_hours.add_working_time(now, terms.expires_after, *hours)
        settled.expires_at = settled.expires_at or at
    if terms.expires_after is not None and settled.expires_at is not None:
        said["extend_by"] = terms.expires_after
        said["extensions"] = DEFAULT_EXTENSIONS if terms.extensions is None else terms.extensions
    for kind, wait, to in (
        (NudgeKind.REMINDER, terms.remind_after, ""),
        (NudgeKind.ESCALATION, terms.escalate_after, terms.escalate_to or ""),
    ):
        if wait is not None:
            due = working_hours.add_working_time(now, wait, *hours)
            settled.nudges.append(Nudge(kind=kind, due_at=due, to=to))
            if kind == NudgeKind.ESCALATION and terms.escalated_may_answer:
                said["escalate_to"], said["escalate_at"] = to.removeprefix(GROUP), due
    if settled.expires_at is not None and terms.warn_before is not None:
        said["warn_before"] = terms.warn_before
        settled.nudges.append(warning_nudge(settled.expires_at, terms.warn_before))


def _calendars(
    session: Session, ruling: Ruling, settled: AppliedTerms, said: dict[str, Any]
) -> tuple[WorkingHours, ...]:
    """The policy's hours, or else those of the people who answer, where any time is counted."""
    if ruling.document.working_hours is not None:
        said["hours"] = ruling.document.working_hours
        return (ruling.document.working_hours,)
    terms = ruling.terms
    if not (terms.expires_after or terms.remind_after or terms.escalate_after):
        return ()
    asked = Ask(agent_id=session.agent_id, answered_by=settled.answered_by)
    found = personal_hours.hours_of_all(people_who_answer(asked).exclude(pk__in=settled.barred))
    if found:
        said["people_hours"] = found
    return found


def warning_nudge(expires_at: datetime, before: timedelta, number: int = 0) -> Nudge:
    """The warning that goes with a deadline."""
    return Nudge(kind=NudgeKind.WARNING, due_at=expires_at - before, round=number)
