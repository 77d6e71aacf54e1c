"""Why a reader does not answer an ask: whom it waits for, and what they voted."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from asks import access
from asks.lifecycle import AskStatus, Meaning
from asks.models import Ask, Vote
from asks.policies import terms
from asks.queue import waits
from workspace.text.visible import visible_line

LONGEST_OPTION = 80


def why_not(person: AbstractBaseUser, ask: Ask, rights: access.Rights) -> str:
    """Return why the reader cannot answer an open ask here; empty if they can."""
    mine = _vote_of(person, ask)
    if mine is not None:
        return _still_needed(ask, mine)
    if rights.names:
        return ""
    (people,) = waits.whom([ask])
    waiting = _("It waits for {people}.").format(people=visible_line(people))
    return f"{rights.bar} {waiting}" if rights.bar else waiting


def what_is_missing(person: AbstractBaseUser, ask: Ask) -> str:
    """Return whom an ask still waits for; empty if it is closed or the reader may answer."""
    if ask.status != AskStatus.OPEN:
        return ""
    return why_not(person, ask, access.rights_of(person, ask))


def _vote_of(person: AbstractBaseUser, ask: Ask) -> Vote | None:
    if not terms.terms_of(ask).many_decide:
        return None
    return next((vote for vote in ask.votes.all() if vote.voter_id == person.pk), None)


def _still_needed(ask: Ask, mine: Vote) -> str:
    """Say what the reader voted, how many have approved, and who can still vote."""
    votes = list(ask.votes.all())
    voted = {vote.voter_id for vote in votes} | {vote.principal_id for vote in votes}
    others = access.people_who_answer(ask).exclude(pk__in=voted | set(ask.barred))
    names = list(others.order_by("username").values_list("username", flat=True))
    facts = {
        "option": visible_line(mine.option_label)[:LONGEST_OPTION],
        "approvals": sum(vote.meaning != Meaning.DENY for vote in votes),
        "needed": terms.terms_of(ask).quorum.approvals,
        "people": visible_line(waits.in_words(names)),
    }
    if not names:
        return _("You voted {option}. {approvals} of {needed}.").format(**facts)
    sentence = _("You voted {option}. {approvals} of {needed}. Still needed: {people}.")
    return sentence.format(**facts)
