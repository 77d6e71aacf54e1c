"""What the tests of driving a remote agent share."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from agents.models import Event, Session
from asks.answering import Answered, answer_ask
from asks.lifecycle import AskStatus
from asks.models import Ask
from tests.factories import echo_of
from tests.responses.remotes import (
    drive,
    question,
    response,
    said,
    step,
)

PAUSED = response(step(), question())
DONE = response(said("Closed October."), name="resp_2")


def ask_of(session: Session) -> Ask:
    return Ask.objects.get(session=session, status=AskStatus.OPEN)


def decide(session: Session, by: User, label: str = "", text: str = "") -> list[Any]:
    """Answer the one open ask and carry what follows."""
    ask = ask_of(session)
    option = ask.options.get(label=label).key if label else ""
    echo = echo_of(ask) if hasattr(ask, "gate") else None
    done = answer_ask(ask_id=ask.pk, by=by, option=option, text=text, echo=echo)
    assert isinstance(done, Answered), done
    return drive()


def told(session: Session, *kinds: str) -> list[str]:
    events = Event.objects.filter(session=session, kind__in=kinds).order_by("seq")
    return list(events.values_list("text", flat=True))
