"""Lock an ask by locking its session. Read everything that judges or changes it after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from agents.db.expressions import ClockNow
from agents.db.statements import Prepared
from agents.locking import LockedSession, mark_locked, moment_of
from agents.models import Session
from asks import refusals
from asks.answers import Answer
from asks.models import Ask
from asks.refusals import Refused, number_of

if TYPE_CHECKING:

    class LockedAsk(Ask):
        """An ask whose session this transaction has locked."""

        session: LockedSession

else:  # for the type checker only: the row is a plain one
    LockedAsk = Ask

_SESSION_OF = Prepared(
    lambda pk: Session.objects.filter(asks__pk=pk).select_for_update(of=("self",))
)
_ASK = Prepared(
    lambda pk: (
        Ask.objects.filter(pk=pk)
        .select_related("agent", "run", "gate", "claimed_by")
        .annotate(read_at=ClockNow())
    )
)


def lock_ask(ask_id: object) -> LockedAsk | None:
    """Lock an ask by its session; return it with run, gate, session and agent. None if there is none.

    ``ask_id`` may be any value that a client sent.
    """
    number = number_of(ask_id)
    session = None if number is None else _SESSION_OF.first(number)
    if number is None or session is None:
        return None
    ask = cast("LockedAsk", _ASK.all(number)[0])
    session.agent = ask.agent
    ask.session = mark_locked(session, at=moment_of(ask))
    return ask


def lock_judged(
    ask_id: object, attempt: Answer, judge: Callable[[LockedAsk], Refused | None]
) -> LockedAsk | Refused:
    """Lock an ask and judge an attempt at it. Record and return the refusal, if there is one.

    Every action of a person on an ask begins here. An ask that does not exist is ``not_found``.
    """
    ask = lock_ask(ask_id)
    refused = refusals.not_found() if ask is None else judge(ask)
    if ask is None or refused is not None:
        refused = refused or refusals.not_found()
        return refusals.record_refusal(refused, attempt, ask=ask, ask_ref=ask_id)
    return ask
