"""An ask is locked by locking its session; everything that judges or changes it is read after that."""

from __future__ import annotations

from typing import cast

from agents.db.expressions import ClockNow
from agents.db.statements import Prepared
from agents.locking import Read
from agents.models import Session
from asks.models import Ask
from asks.refusals import number_of

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


def lock_ask(ask_id: object) -> Ask | None:
    """The ask with its run and gate, and in ``ask.session`` its locked session with its agent.

    ``ask_id`` is whatever came in. None if there is no such ask.
    """
    number = number_of(ask_id)
    if number is None:
        return None
    session = _SESSION_OF.first(number)
    if session is None:
        return None
    ask = _ASK.all(number)[0]
    ask.session, session.agent = session, ask.agent
    session.locked_at = cast("Read", ask).read_at
    return ask
