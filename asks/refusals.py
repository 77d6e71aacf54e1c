"""Why an answer is turned down, in the one order, and the record of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property

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
    """An answer that was turned down. The ask, if open, is still open or names what replaced it.

    ``flaws`` are what is wrong with a changed call, each by its place.
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
    """An answer to an ask of a locked session, and what is looked up once to judge it."""

    session: LockedSession
    ask: Ask
    answer: Answer

    @cached_property
    def gate(self) -> Gate | None:
        return binding.gate_of(self.ask)

    @cached_property
    def present(self) -> binding.Binding | None:
        """What an answer to the gate is bound to as the world is now."""
        return binding.present_binding(self.session, self.ask, self.gate) if self.gate else None

    @property
    def has_drifted(self) -> bool:
        """Whether what is asked is not any more what it was when it was asked."""
        return self.gate is not None and self.present != binding.shown_binding(self.gate)

    @cached_property
    def standing(self) -> access.Rights:
        return access.rights_of(self.answer.by, self.ask)

    @cached_property
    def terms(self) -> AskTerms:
        return terms.terms_of(self.ask)

    @cached_property
    def principal(self) -> int:
        """In whose name this is answered; where several vote, a name that does not count yet."""
        names = self.standing.names
        if len(names) > 1 and self.terms.many_decide:
            used = self.ask.votes.values_list("principal_id", flat=True)
            names = tuple(name for name in names if name not in set(used)) or names
        return names[0]

    @cached_property
    def is_edited(self) -> bool:
        """Whether other params are to be approved than those that were shown."""
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
    """The id as one that the database may know, of whatever came in; None if it cannot be one."""
    if isinstance(ask_id, str):
        ask_id = int(ask_id) if ask_id.isascii() and ask_id.isdigit() and len(ask_id) < 20 else None
    if isinstance(ask_id, bool) or not isinstance(ask_id, int) or not 0 < ask_id <= MAX_ID:
        return None
    return ask_id


def first_refusal(case: Case) -> Refused | None:
    """The first reason to turn an answer down, or none. The order is part of the contract."""
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
    """Refused because another ask stands in this one's place, or may: the last of them is named."""
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
    """What to say of an ask that is not open any more."""
    if ask.status == AskStatus.EXPIRED:
        return replaced(Reason.EXPIRED, ask)
    if ask.status == AskStatus.SUPERSEDED:
        return replaced(Reason.STALE, ask)
    who = f" by {ask.closed_by.get_username()}" if ask.closed_by else ""
    return refuse(Reason.CLOSED, ask, f"This question was already {ask.status}{who}.")


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
    """Four eyes were waived because nobody else was there. Somebody else may have come since."""
    if (
        case.terms.four_eyes != "waived"
        or case.answer.by.get_username() not in case.terms.started_for
    ):
        return None
    others = access.people_who_answer(case.ask).exclude(username__in=case.terms.started_for)
    return refuse(Reason.FOUR_EYES, case.ask, access.YOU_STARTED_IT) if others.exists() else None


def _claimed(case: Case) -> Refused | None:
    holder = case.ask.claimed_by
    if holder is None or holder.pk == case.answer.by.pk:
        return None
    return refuse(Reason.CLAIMED, case.ask, f"This question is claimed by {holder.get_username()}.")


def _proved_lately(case: Case) -> Refused | None:
    """A signature is such a proof itself. A key is none: whoever holds it is let in."""
    minutes, proved = case.terms.reauthenticate_within, case.answer.authenticated_at
    if minutes is None or case.answer.proof is not None:
        return None
    if proved is not None and case.session.locked_at - proved <= timedelta(minutes=minutes):
        return None
    why = f"This answer needs you to have signed in within the last {minutes} minutes."
    return refuse(Reason.REAUTHENTICATE, case.ask, f"{why} Nothing was approved.")


def _invalid(case: Case) -> Refused | None:
    return refuse(Reason.INVALID, case.ask, case.answer.flaw) if case.answer.flaw else None


def _empty(case: Case) -> Refused | None:
    if case.answer.option:
        return None
    if not case.ask.free_text or case.terms.many_decide:
        return refuse(Reason.EMPTY, case.ask, "Pick one of the options.")
    return refuse(Reason.EMPTY, case.ask) if is_blank(case.answer.text) else None


def _unknown_option(case: Case) -> Refused | None:
    if case.answer.option and case.option is None:
        return refuse(Reason.UNKNOWN_OPTION, case.ask)
    return None


def _reason(case: Case) -> Refused | None:
    """A destructive answer says why, where the policy wants that. What is signed is deliberate."""
    option = case.option
    if option is None or case.answer.proof is not None or not is_blank(case.answer.text):
        return None
    if not {option.style, option.meaning} & set(case.terms.reason_for):
        return None
    return refuse(Reason.REASON_REQUIRED, case.ask, f"Say why you choose “{option.label}”.")


def _voted(case: Case) -> Refused | None:
    if not case.terms.many_decide:
        return None
    mine = case.ask.votes.filter(voter_id=case.answer.by.pk).first()
    if mine is not None:
        why = f"You voted “{mine.option_label}” already, and a vote stays as it is."
        return refuse(Reason.VOTED, case.ask, why)
    if case.ask.votes.filter(principal_id=case.principal).exists():
        why = "A vote was cast already in the name in which you would vote."
        return refuse(Reason.VOTED, case.ask, why)
    return None


def _editable(case: Case) -> Refused | None:
    if not case.is_edited:
        return None
    if case.gate is None:
        why = "There is no action here that could be changed."
    elif case.terms.many_decide:
        why = "Several people decide about this, so nobody changes it alone. Nothing was approved."
    elif case.terms.may_edit and case.gate.schema is schema.UNUSABLE:
        why = "Whoever carries this out takes no other call, so it stays as it is. Nothing was approved."
    else:
        why = ""
    return refuse(Reason.NOT_EDITABLE, case.ask, why) if why or not case.terms.may_edit else None


def _edit(case: Case) -> Refused | None:
    if not case.is_edited or case.gate is None:
        return None
    if case.option is None or case.option.meaning != Meaning.APPROVE:
        return refuse(Reason.BAD_EDIT, case.ask, "Only an approval can carry a change.")
    flaws = tuple(editing.find_edit_flaws(case.ask, case.gate, case.answer.edited))
    if not flaws:
        return None
    said = " ".join(f"{flaw.path}: {flaw.why}" if flaw.path else flaw.why for flaw in flaws[:5])
    return replace(refuse(Reason.BAD_EDIT, case.ask, make_storable(said[:900])), flaws=flaws)


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
    """Keep a refusal, and return it. What was submitted is kept too, cut to a harmless size."""
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
    """The beginning of whatever came in, as text that can be kept."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a number of more than 300 digits"
    return make_storable(str(value)[:limit])
