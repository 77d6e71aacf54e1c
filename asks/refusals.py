"""Check an answer in a fixed order, and record why it is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property

from django.utils.translation import gettext as _

from agents import actors
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.locking import LockedSession
from agents.text.storable import is_blank, make_storable
from asks import access
from asks.actions import binding, editing, schema
from asks.actions.schema import Flaw
from asks.answers import Answer
from asks.ledger import chain
from asks.lifecycle import HTTP_STATUS, AskStatus, Meaning, Reason
from asks.models import Ask, Gate, Option, Refusal
from asks.policies import terms
from asks.policies.terms import AskTerms

MAX_ID = 2**63 - 1


@dataclass(frozen=True)
class Refused:
    """A refused answer. An open ask stays open, or ``replaced_by`` names its successor.

    ``flaws`` are the errors of an edited call, each with its path.
    """

    reason: Reason
    detail: str
    ask: Ask | None = None
    replaced_by: Ask | None = None
    flaws: tuple[Flaw, ...] = ()

    @property
    def http_status(self) -> int:
        return HTTP_STATUS[self.reason]


@dataclass
class Case:
    """An answer to an ask, with everything that the checks read, each read once."""

    session: LockedSession
    ask: Ask
    answer: Answer

    @cached_property
    def gate(self) -> Gate | None:
        return binding.gate_of(self.ask)

    @cached_property
    def present(self) -> binding.Binding | None:
        """The binding of the gate under the present files, policy and run."""
        return binding.present_binding(self.session, self.ask, self.gate) if self.gate else None

    @property
    def has_drifted(self) -> bool:
        """Whether the binding has changed since the question was asked."""
        return self.gate is not None and self.present != binding.shown_binding(self.gate)

    @cached_property
    def standing(self) -> access.Rights:
        return access.rights_of(self.answer.by, self.ask)

    @cached_property
    def terms(self) -> AskTerms:
        return terms.terms_of(self.ask)

    @cached_property
    def principal(self) -> int:
        """The id of the person in whose name this is answered; among voters, one without a vote."""
        names = self.standing.names
        if len(names) > 1 and self.terms.many_decide:
            used = self.ask.votes.values_list("principal_id", flat=True)
            names = tuple(name for name in names if name not in set(used)) or names
        return names[0]

    @cached_property
    def is_edited(self) -> bool:
        """Whether the answer approves other params than the ones shown."""
        if self.answer.edited is None:
            return False
        return self.gate is None or editing.is_edited(self.gate, self.answer.edited)

    @cached_property
    def option(self) -> Option | None:
        if not self.answer.option:
            return None
        return _OPTION.first(self.ask.pk, self.answer.option)


_OPTION = Prepared(
    lambda ask, key: Option.objects.filter(ask=ask, key=key).order_by("pk")[:1], of=(int, str)
)


def number_of(ask_id: object) -> int | None:
    """Return an id from a client as a number; None if it cannot be an id."""
    if isinstance(ask_id, str):
        ask_id = int(ask_id) if ask_id.isascii() and ask_id.isdigit() and len(ask_id) < 20 else None
    if isinstance(ask_id, bool) or not isinstance(ask_id, int) or not 0 < ask_id <= MAX_ID:
        return None
    return ask_id


def first_refusal(case: Case) -> Refused | None:
    """Return the first reason to refuse an answer, or None. The order is part of the contract."""
    for check in CHECKS:
        refused = check(case)
        if refused is not None:
            return refused
    return None


def not_found() -> Refused:
    return Refused(Reason.NOT_FOUND, str(Reason.NOT_FOUND.label))


def refuse(reason: Reason, ask: Ask, detail: str = "") -> Refused:
    return Refused(reason, detail or str(reason.label), ask)


def replaced(reason: Reason, ask: Ask) -> Refused:
    """Refuse because the ask was replaced, or may be. Name its latest successor, if there is one."""
    last = ask
    while (later := getattr(last, "repeated_by", None)) is not None:
        last = later
    return Refused(reason, str(reason.label), ask, None if last is ask else last)


def _access(case: Case) -> Refused | None:
    if not case.standing.sees:
        return not_found()
    if case.standing.bar:
        return refuse(Reason.FOUR_EYES, case.ask, case.standing.bar)
    return None if case.standing.names else refuse(Reason.NOT_ALLOWED, case.ask)


def _closed(case: Case) -> Refused | None:
    return None if case.ask.status == AskStatus.OPEN else already_closed(case.ask)


def already_closed(ask: Ask) -> Refused:
    """Return the refusal for an ask that is no longer open."""
    if ask.status == AskStatus.EXPIRED:
        return replaced(Reason.EXPIRED, ask)
    if ask.status == AskStatus.SUPERSEDED:
        return replaced(Reason.STALE, ask)
    text = _("This question was already {status}.")
    if ask.closed_by:
        text = _("This question was already {status} by {name}.")
    name = ask.closed_by.get_username() if ask.closed_by else ""
    status = AskStatus(ask.status).label.lower()
    return refuse(Reason.CLOSED, ask, text.format(status=status, name=name))


def _expired(case: Case) -> Refused | None:
    expires_at = case.ask.expires_at
    if expires_at is not None and expires_at <= case.session.locked_at:
        return refuse(Reason.EXPIRED, case.ask)
    return None


def _gated(case: Case) -> Refused | None:
    if case.ask.money_critical and case.answer.proof is None:
        return refuse(Reason.GATED, case.ask)
    return None


def _binding(case: Case) -> Refused | None:
    if case.gate is None:
        return None
    if not binding.is_complete_echo(case.answer.echo):
        return refuse(Reason.UNBINDABLE, case.ask)
    shown = binding.shown_binding(case.gate)
    if case.has_drifted or not binding.echo_matches(case.answer.echo, shown):
        return refuse(Reason.STALE, case.ask)
    return None


def _waiver(case: Case) -> Refused | None:
    """Refuse if four eyes were waived for lack of a second person, and there is one now."""
    if (
        case.terms.four_eyes != "waived"
        or case.answer.by.get_username() not in case.terms.started_for
    ):
        return None
    others = access.people_who_answer(case.ask).exclude(username__in=case.terms.started_for)
    return refuse(Reason.FOUR_EYES, case.ask, _(access.YOU_STARTED_IT)) if others.exists() else None


def _claimed(case: Case) -> Refused | None:
    holder = case.ask.claimed_by
    if holder is None or holder.pk == case.answer.by.pk:
        return None
    why = _("This question is claimed by {name}.").format(name=holder.get_username())
    return refuse(Reason.CLAIMED, case.ask, why)


def _proved_lately(case: Case) -> Refused | None:
    """A signature counts as re-authentication; an API key does not."""
    minutes, proved = case.terms.reauthenticate_within, case.answer.authenticated_at
    if minutes is None or case.answer.proof is not None:
        return None
    if proved is not None and case.session.locked_at - proved <= timedelta(minutes=minutes):
        return None
    why = _(
        "This answer needs you to have signed in within the last {minutes} minutes. "
        "Nothing was approved."
    )
    return refuse(Reason.REAUTHENTICATE, case.ask, why.format(minutes=minutes))


def _invalid(case: Case) -> Refused | None:
    return refuse(Reason.INVALID, case.ask, case.answer.flaw) if case.answer.flaw else None


def _empty(case: Case) -> Refused | None:
    if case.answer.option:
        return None
    if not case.ask.free_text or case.terms.many_decide:
        return refuse(Reason.EMPTY, case.ask, _("Pick one of the options."))
    return refuse(Reason.EMPTY, case.ask) if is_blank(case.answer.text) else None


def _unknown_option(case: Case) -> Refused | None:
    if case.answer.option and case.option is None:
        return refuse(Reason.UNKNOWN_OPTION, case.ask)
    return None


def _reason(case: Case) -> Refused | None:
    """Refuse an answer without a reason where the policy requires one, unless it is signed."""
    option = case.option
    if option is None or case.answer.proof is not None or not is_blank(case.answer.text):
        return None
    style = terms.style_of(option, case.terms)
    if not {style, option.meaning} & set(case.terms.reason_for):
        return None
    why = _("Say why you choose “{option}”.").format(option=option.label)
    return refuse(Reason.REASON_REQUIRED, case.ask, why)


def _voted(case: Case) -> Refused | None:
    if not case.terms.many_decide:
        return None
    mine = case.ask.votes.filter(voter_id=case.answer.by.pk).first()
    if mine is not None:
        why = _("You have already voted “{option}”. Votes are final.")
        why = why.format(option=mine.option_label)
        return refuse(Reason.VOTED, case.ask, why)
    if case.ask.votes.filter(principal_id=case.principal).exists():
        why = _("A vote has already been cast in the name in which you would vote.")
        return refuse(Reason.VOTED, case.ask, why)
    return None


def _editable(case: Case) -> Refused | None:
    if not case.is_edited:
        return None
    if case.gate is None:
        why = _("There is no action here to edit.")
    elif case.terms.many_decide:
        why = _("Several people decide this, so nobody edits it alone. Nothing was approved.")
    elif case.terms.may_edit and case.gate.schema is schema.UNUSABLE:
        why = _(
            "The agent takes no other call, so this one cannot be edited. Nothing was approved."
        )
    else:
        why = ""
    return refuse(Reason.NOT_EDITABLE, case.ask, why) if why or not case.terms.may_edit else None


def _edit(case: Case) -> Refused | None:
    if not case.is_edited or case.gate is None:
        return None
    if case.option is None or case.option.meaning != Meaning.APPROVE:
        return refuse(Reason.BAD_EDIT, case.ask, _("Only an approval can contain an edit."))
    flaws = tuple(editing.find_edit_flaws(case.ask, case.gate, case.answer.edited))
    if not flaws:
        return None
    text = " ".join(f"{flaw.path}: {flaw.why}" if flaw.path else flaw.why for flaw in flaws[:5])
    return replace(refuse(Reason.BAD_EDIT, case.ask, make_storable(text[:900])), flaws=flaws)


#: The order in which reasons to refuse are looked for. It is part of the contract.
CHECKS = (
    _access,
    _closed,
    _expired,
    _gated,
    _binding,
    _waiver,
    _claimed,
    _proved_lately,
    _invalid,
    _empty,
    _unknown_option,
    _editable,
    _edit,
    _reason,
    _voted,
)


def record_refusal(
    refused: Refused, answer: Answer, *, ask: Ask | None, ask_ref: object
) -> Refused:
    """Store a refusal with the submitted answer, cut to a harmless size. Return the refusal."""
    echo = answer.echo if isinstance(answer.echo, dict) else {"": answer.echo}
    row = Refusal.objects.create(
        ask=ask,
        ask_ref=_brief(ask_ref, 64),
        by_id=answer.by.pk,
        reason=refused.reason,
        detail=refused.detail[:1000],
        submitted={
            "option": _brief(answer.option, 200),
            "text": _brief(answer.text, 2000),
            "echo": {
                _brief(key, 40): _brief(value, 100)
                for key, value in list(echo.items())[:10]
                if value is not None
            },
            **_submitted_edit(answer),
        },
        via=answer.via[:16],
    )
    chain.append_refusal(row)
    return refused


def _submitted_edit(answer: Answer) -> dict[str, str]:
    if answer.edited is None:
        return {}
    return {"edited": _brief(json.dumps(make_storable(answer.edited), ensure_ascii=False), 4000)}


def report_refusal(session: LockedSession, ask: Ask, refused: Refused, answer: Answer) -> None:
    """Show an owner's refused answer in the thread; a stranger's attempt is in the audit only."""
    if refused.reason == Reason.NOT_FOUND:
        return
    record_event(
        session,
        "refused",
        actor=actors.human(answer.by),
        text=refused.detail,
        data={"ask_id": ask.pk, "reason": refused.reason},
    )


def _brief(value: object, limit: int) -> str:
    """Return the beginning of any value as text that can be stored."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a number of more than 300 digits"
    return make_storable(str(value)[:limit])
