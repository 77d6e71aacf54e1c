"""What became of the questions of a paused response, for programs that wait for the answer.

The stored events of a response never change. What a reader gets of a paused response does: it says
whether its question is still open, and names the response that goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from asks.drafts import request_keys
from asks.lifecycle import AskStatus
from asks.models import Ask
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server.events import body_of, with_status
from workspace.protocols.responses.server.questions import named_question, status_of
from workspace.protocols.responses.wire import Json

AWAITING = "awaiting_human"


def present_body(response: Response) -> Json:
    """Return the protocol's object with what became of its questions until now."""
    body = body_of(response)
    if not response.paused or response.is_under_way:
        return body
    envelope = body["envelope"] | outcome_of(response)
    return {**body, "envelope": envelope, "metadata": with_status(body["metadata"], envelope)}


def outcome_of(response: Response) -> Json:
    """Return the part of a paused response's envelope that changes."""
    asks = latest_asks(response)
    words = {status_of(ask) for ask in asks}
    going_on = _continued_by(response)
    return {
        "status": _word(words),
        "questions": [named_question(ask, response.public_id) for ask in asks],
        "next_response_id": going_on.public_id if going_on else None,
    }


def latest_asks(response: Response) -> Sequence[Ask]:
    """Return the questions of a response; of one that was asked again, the latest."""
    asks = Ask.objects.filter(session=response.session_id, run=response.run_id)
    asks = asks.select_related("gate").order_by("pk")
    return list({request_keys.root_of(ask.request_key): ask for ask in asks}.values())


def _word(statuses: set[str]) -> str:
    """Return the status of a pause: open questions first, then the one word for all."""
    if AskStatus.OPEN in statuses or not statuses:
        return AWAITING
    return AskStatus.ANSWERED if AskStatus.ANSWERED in statuses else min(statuses)


def _continued_by(response: Response) -> Response | None:
    """Return the newest response that carries the answer: a failed one may be followed by another."""
    carries = Q(answers__run=response.run_id) | Q(previous=response, root=response.root_pk)
    found = Response.objects.filter(carries, session=response.session_id, deleted_at=None)
    return found.exclude(pk=response.pk).order_by("-pk").first()
