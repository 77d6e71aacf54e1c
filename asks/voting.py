"""Votes, for asks that several people decide. A person has one vote per name; one verdict results."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents import actors
from agents.events.log import record_event
from asks.actions import binding
from asks.ledger import chain, credential
from asks.lifecycle import Meaning
from asks.models import Ask, Vote
from asks.policies import terms
from asks.queue import hints
from asks.refusals import Case


@dataclass(frozen=True)
class Tally:
    """The count of votes. ``deciding`` is the vote that decides, if there is one."""

    votes: tuple[Vote, ...]
    needed: int
    deciding: Vote | None = None

    @property
    def approvals(self) -> int:
        return sum(vote.meaning != Meaning.DENY for vote in self.votes)


def vote_of(ask: Ask, person_id: int | None) -> Vote | None:
    """Return the vote of a person, if they have voted."""
    return Vote.objects.select_related("option").filter(ask=ask, voter=person_id).first()


def cast_vote(case: Case) -> Vote:
    """Store a vote that has passed all checks, and record it in the ledger."""
    option, answer = case.option, case.answer
    if option is None:
        raise ValueError("A vote names an option.")
    vote = Vote.objects.create(
        ask=case.ask,
        voter_id=answer.by.pk,
        principal_id=case.principal,
        round=case.ask.retracted,
        option=option,
        option_label=option.label,
        text=answer.text.strip(),
        meaning=option.meaning,
        echo=binding.shown_binding(case.gate).as_echo() if case.gate else None,
        via=answer.via[:16],
        credential=credential.current_credential(),
        cast_at=case.session.locked_at,
    )
    chain.append_vote(vote, answer)
    return vote


def count_votes(ask: Ask) -> Tally:
    """Count the votes by the terms of the ask.

    The first rejection decides, unless all must vote. Otherwise an option decides once it has enough
    votes. If all must vote and too few agree, the first rejection decides.
    """
    quorum = terms.terms_of(ask).quorum
    votes = tuple(
        Vote.objects.filter(ask=ask).select_related("voter", "principal", "option").order_by("pk")
    )
    denial = next((vote for vote in votes if vote.meaning == Meaning.DENY), None)
    agreed = _agreed(votes, quorum.approvals)
    if quorum.rejection == "first_decides":
        return Tally(votes, quorum.approvals, denial or agreed)
    all_voted = len(votes) >= (quorum.of or quorum.approvals)
    deciding = (agreed or denial or votes[-1]) if all_voted and votes else None
    return Tally(votes, quorum.approvals, deciding)


def _agreed(votes: tuple[Vote, ...], needed: int) -> Vote | None:
    """Return the vote with which an option reached the number needed."""
    counts: dict[int, int] = {}
    for vote in votes:
        if vote.meaning == Meaning.DENY:
            continue
        counts[vote.option_id] = counts.get(vote.option_id, 0) + 1
        if counts[vote.option_id] == needed:
            return vote
    return None


def report_vote(case: Case, vote: Vote, tally: Tally) -> None:
    """Record in the thread that somebody voted and that the ask is still open."""
    case.ask.card_version += 1
    case.ask.save(update_fields=["card_version"])
    text = _("Voted “{option}”: {approvals} of {needed} approvals. It is not decided yet.")
    if case.ask.confidential:
        text = _("A vote was cast: {approvals} of {needed} approvals. It is not decided yet.")
    counts = {"approvals": tally.approvals, "needed": tally.needed}
    record_event(
        case.session,
        "voted",
        actor=actors.human(case.answer.by),
        run=case.ask.run,
        text=text.format(option=vote.option_label, **counts),
        data={"ask_id": case.ask.pk, **counts},
    )
    hints.notify_queues(case.ask)
