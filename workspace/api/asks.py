"""Asks over the API: read, answer, withdraw. An answer goes through the same verb as on the page."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from asks import access, answering, refusals, withdrawing
from asks.answering import Answered
from asks.answers import Answer
from asks.models import Ask
from asks.refusals import Refused
from workspace.accounts import api_keys
from workspace.api import attempts, shapes, views
from workspace.api.door import Call
from workspace.api.problems import ApiProblem, FieldError, not_found, problem_of_refusal
from workspace.models import ApiKey


def list_asks(call: Call) -> shapes.Asks:
    """Return the asks that a key reaches, longest wait first."""
    query: shapes.AskQuery = call.query
    asks = _filtered(asks_of(call.key), query).order_by("opened_at", "pk")
    if query.after is not None:
        opened_at, pk = _place(query.after)
        asks = asks.filter(Q(opened_at__gt=opened_at) | Q(opened_at=opened_at, pk__gt=pk))
    rows = list(views.with_related(asks)[: query.limit + 1])
    page = rows[: query.limit]
    more = _cursor(page[-1]) if len(rows) > query.limit else None
    return shapes.Asks(asks=[views.ask_shape(row) for row in page], next=more)


def get_ask(call: Call) -> shapes.AskShape:
    return views.ask_shape(_ask(call))


def post_answer(call: Call) -> shapes.AnsweredShape:
    """Answer as the key's person. A refusal is recorded and raised."""
    body: shapes.AnswerBody = call.body
    echo = body.binding.model_dump(exclude_none=True) if body.binding else None
    person = person_of(call.key)
    fields = {"option": body.option, "text": body.text, "echo": echo, "edited": body.edited}
    attempt = Answer(by=person, via="api", **fields)
    _check_reach(call, attempt)
    done = answering.answer_ask(ask_id=call.ids["ask_id"], by=person, via="api", **fields)
    if isinstance(done, Refused):
        raise problem_of_refusal(done)
    decided = isinstance(done, Answered)
    return shapes.AnsweredShape(
        ask=views.ask_shape(_ask(call)), repeated=done.repeated, decided=decided
    )


def post_cancel(call: Call) -> shapes.Withdrawn:
    """Withdraw as the key's person. This approves nothing."""
    body: shapes.CancelBody = call.body
    person = person_of(call.key)
    _check_reach(call, Answer(by=person, text=body.reason, via="api"))
    done = withdrawing.withdraw_ask(
        ask_id=call.ids["ask_id"], by=person, reason=body.reason, via="api"
    )
    if isinstance(done, Refused):
        raise problem_of_refusal(done)
    return shapes.Withdrawn(ask=views.ask_shape(_ask(call)))


def asks_of(key: ApiKey) -> QuerySet[Ask]:
    """Return the asks that the key's person may see; only its agent's if the key has an agent."""
    if key.person is None:
        return Ask.objects.filter(agent__in=api_keys.agents_of(key))
    mine = access.asks_of(key.person)
    return mine.filter(agent=key.agent_id) if key.agent_id else mine


def _filtered(asks: QuerySet[Ask], query: shapes.AskQuery) -> QuerySet[Ask]:
    filters = {
        "status": None if query.status == "all" else query.status,
        "kind": query.kind,
        "agent__slug": query.agent,
        "session_id": query.session,
    }
    return asks.filter(**{name: value for name, value in filters.items() if value is not None})


def _ask(call: Call) -> Ask:
    row = views.with_related(asks_of(call.key)).filter(pk=call.ids["ask_id"]).first()
    if row is None:
        raise not_found("There is no such question.")
    return row


def _check_reach(call: Call, attempt: Answer) -> None:
    """Refuse an ask of another agent than the key's, even if the key's person may see it.

    The refusal is recorded.
    """
    ask_id = call.ids["ask_id"]
    if call.key.agent_id is None or asks_of(call.key).filter(pk=ask_id).exists():
        return
    refused = refusals.not_found()
    ask = Ask.objects.filter(pk=ask_id).first()
    with transaction.atomic():
        refusals.record_refusal(refused, attempt, ask=ask, ask_ref=ask_id)
    raise problem_of_refusal(refused)


def person_of(key: ApiKey) -> User:
    """Return the key's person. A database constraint allows ask:answer on a person's key only."""
    if key.person is None:
        raise ApiProblem(403, "agents_never_answer", attempts.AGENTS_NEVER)
    return key.person


def _cursor(row: Ask) -> str:
    place = f"{row.opened_at.isoformat()} {row.pk}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[datetime, int]:
    try:
        place = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        moment, _, pk = place.partition(" ")
        opened_at = datetime.fromisoformat(moment)
        if opened_at.tzinfo is None or not 0 < int(pk) < 2**63:
            raise ValueError(cursor)
    except (ValueError, binascii.Error) as error:
        wrong = FieldError(field="after", where="query", detail="This cursor was not issued here.")
        raise ApiProblem(422, "shape", "Something is wrong with: after.", errors=[wrong]) from error
    return opened_at, int(pk)
