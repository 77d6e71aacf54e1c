"""An ask is locked by locking its session; everything that judges or changes it is read after that."""

from __future__ import annotations

from agents.locking import lock_one
from agents.models import Session
from asks.models import Ask
from asks.refusals import number_of


def lock_ask(ask_id: object) -> Ask | None:
    """The ask with its run and gate, and in ``ask.session`` its locked session with its agent.

    ``ask_id`` is whatever came in. None if there is no such ask.
    """
    number = number_of(ask_id)
    if number is None:
        return None
    session = lock_one(Session.objects.filter(asks__pk=number))
    if session is None:
        return None
    ask = Ask.objects.select_related("run", "gate", "claimed_by").get(pk=number)
    ask.session, ask.agent = session, session.agent
    return ask
