"""An ask is locked by locking its session; everything that judges or changes it is read after that."""

from __future__ import annotations

from agents.locking import lock_by
from agents.models import Session
from agents.prepared import Prepared
from asks.models import Ask
from asks.refusals import number_of

_SESSION_OF = Prepared(
    lambda pk: Session.objects.filter(asks__pk=pk).select_for_update(of=("self",))
)
_ASK = Prepared(lambda pk: Ask.objects.filter(pk=pk).select_related("run", "gate", "claimed_by"))


def lock_ask(ask_id: object) -> Ask | None:
    """The ask with its run and gate, and in ``ask.session`` its locked session with its agent.

    ``ask_id`` is whatever came in. None if there is no such ask.
    """
    number = number_of(ask_id)
    if number is None:
        return None
    session = lock_by(_SESSION_OF, number)
    if session is None:
        return None
    ask = _ASK.all(number)[0]
    ask.session, ask.agent = session, session.agent
    return ask
