"""Several people decide: votes are rows, one per person and per name, and the verdict stays one."""

from __future__ import annotations

from dataclasses import dataclass

from agents import actors
from agents.events.log import record_event
from asks.actions import binding
from asks.ledger import chain
from asks.lifecycle import Meaning
from asks.models import Ask, Vote
from asks.policies import terms
from asks.queue import hints
from asks.refusals import Case


@dataclass(frozen=True)
class Tally:
    """How the votes stand. ``deciding`` is the vote that decides, if one does."""

    votes: tuple[Vote, ...]
    needed: int
    deciding: Vote | None = None

    @property
    def approvals(self) -> int:
        return sum(vote.meaning != Meaning.DENY for vote in self.votes)


def vote_of(ask: Ask, person_id: int | None) -> Vote | None:
    """What a person has voted already."""
    return Vote.objects.select_related("option").filter(ask=ask, voter=person_id).first()


def cast_vote(case: Case) -> Vote:
    """Write down a vote that nothing speaks against, on a locked session."""
    option, answer = case.option, case.answer
    if option is None:
        raise ValueError("A vote names an option.")
    vote = Vote.objects.create(
        ask=case.ask,
        voter_id=answer.by.pk,
        principal_id=case.principal,
        option=option,
        option_label=option.label,
        text=answer.text.strip(),
        meaning=option.meaning,
        echo=binding.shown_binding(case.gate).as_echo() if case.gate else None,
        via=answer.via[:16],
        cast_at=case.session.locked_at,
    )
    chain.append_vote(vote, answer)
    return vote


def count_votes(ask: Ask) -> Tally:
    """Counts the votes by the ask's own terms.

    The first rejection decides, unless all must vote. Otherwise an option decides once it has as
    many votes as are needed; where all must vote and too few agree, the first rejection does.
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
    """The vote that brought an option to the number that is needed."""
    counts: dict[int, int] = {}
    for vote in votes:
        if vote.meaning == Meaning.DENY:
            continue
        counts[vote.option_id] = counts.get(vote.option_id, 0) + 1
        if counts[vote.option_id] == needed:
            return vote
    return None


def report_vote(case: Case, vote: Vote, standing: Tally) -> None:
    """Show in the thread that somebody voted, and that it is not decided yet."""
    case.ask.card_version += 1
    case.ask.save(update_fields=["card_version"])
    count = f"{standing.approvals} of {standing.needed} approvals"
    said = "A vote was cast" if case.ask.confidential else f"Voted “{vote.option_label}”"
    record_event(
        case.session,
        "voted",
        actor=actors.human(case.answer.by),
        run=case.ask.run,
        text=f"{said}: {count}. It is not decided yet.",
        data={"ask_id": case.ask.pk, "approvals": standing.approvals, "needed": standing.needed},
    )
    hints.notify_queues(case.ask)
