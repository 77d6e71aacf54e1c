"""Record answers that came over the wire as verdicts: all answers of a post, or none.

A requestId names one request and one action, so the binding is filled in from it. All other rules are
the same as for every door. Only a person's key may answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from agents.db.statements import Prepared
from agents.locking import LockedSession
from agents.models import Session
from asks import answering, refusals
from asks.actions import binding
from asks.answers import Answer
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask
from asks.refusals import Case, Refused
from workspace.api import attempts
from workspace.models import ApiKey, Scope
from workspace.protocols.common import http
from workspace.protocols.eve.errors import EveProblem, of_request
from workspace.protocols.eve.server.log_events import LoggedRequest
from workspace.protocols.eve.server.log_reader import request_of
from workspace.protocols.eve.wire import InputResponse

VIA = "eve"
_CODES: dict[Reason, str] = {
    Reason.NOT_FOUND: "unknown_request",
    Reason.EMPTY: "empty_answer",
    Reason.CLOSED: "already_answered",
}


def open_asks(session: Session) -> list[Ask]:
    """Return the open asks of a session, in the order in which they were asked."""
    asks = Ask.objects.filter(session=session, status=AskStatus.OPEN)
    return list(asks.select_related("run", "gate").prefetch_related("options").order_by("pk"))


def open_requests(asks: Sequence[Ask]) -> list[LoggedRequest]:
    return [request_of(ask, ask.options.all()) for ask in asks]


def may_answer(key: ApiKey) -> bool:
    """Tell whether the key belongs to a person and has the scope to answer."""
    return key.person is not None and Scope.ASK_ANSWER in key.scopes


def check_may_answer(key: ApiKey, asks: Sequence[int]) -> None:
    """Raise EveProblem unless the key may answer. The attempt of a key that may not is recorded."""
    if may_answer(key):
        return
    why = attempts.AGENTS_NEVER if key.is_an_agents else "This key lacks the scope ask:answer."
    for ask_id in asks[:20] or [0]:
        if wait := attempts.record_attempt(key, ask_id, why):
            raise of_request(http.too_many_attempts(wait))
    raise EveProblem(403, why, "agents_never_answer" if key.is_an_agents else "forbidden")


def decide_requests(
    session: LockedSession, key: ApiKey, responses: Sequence[InputResponse]
) -> EveProblem | None:
    """Record all these answers; or none of them, and the refusal of the first that is refused.

    Return the problem instead of raising it, so that the caller's transaction commits the refusal.
    """
    asked: list[tuple[InputResponse, Ask]] = []
    for response in responses:
        if (ask := _asked(session, response.requestId)) is None:
            return _unknown(key, response)
        asked.append((response, ask))
    if len(asked) > 1:
        for response, ask in asked:
            if (problem := _refused_beforehand(session, key, ask, response)) is not None:
                return problem
    for response, ask in asked:
        result = _answer(key, ask, response)
        if isinstance(result, Refused):
            return _problem(result)
    return None


def _asked(session: Session, request_id: str) -> Ask | None:
    ask = _NAMED.first(session.pk, request_id) if "\0" not in request_id else None
    if ask is not None:
        ask.session, ask.agent = session, session.agent
    return ask


_NAMED = Prepared(
    lambda session, key: Ask.objects.filter(session=session, request_key=key).select_related(
        "run", "gate", "claimed_by"
    ),
    of=(int, str),
)


def refused_beforehand(
    session: LockedSession, key: ApiKey, response: InputResponse
) -> EveProblem | None:
    """Record and return the refusal of an answer that would be refused. Nothing is decided."""
    ask = _asked(session, response.requestId)
    if ask is None:
        return _unknown(key, response)
    return _refused_beforehand(session, key, ask, response)


def _refused_beforehand(
    session: LockedSession, key: ApiKey, ask: Ask, response: InputResponse
) -> EveProblem | None:
    """Record and return a refusal before any answer of the post is decided."""
    judged = refusals.first_refusal(Case(session, ask, _as_answer(key, ask, response)))
    if judged is None:
        return None
    result = _answer(key, ask, response)  # a repeat of what is recorded, or the refusal on record
    return _problem(result) if isinstance(result, Refused) else None


def _answer(key: ApiKey, ask: Ask, response: InputResponse) -> answering.Result:
    answer = _as_answer(key, ask, response)
    return answering.answer_ask(
        ask_id=ask.pk,
        by=answer.by,
        option=answer.option,
        text=answer.text,
        echo=answer.echo,
        via=VIA,
    )


def _as_answer(key: ApiKey, ask: Ask, response: InputResponse) -> Answer:
    assert key.person is not None  # noqa: S101 -- check_may_answer has checked this
    gate = binding.gate_of(ask)
    return Answer(
        by=key.person,
        option=response.optionId or "",
        text=response.text or "",
        echo=binding.shown_binding(gate).as_echo() if gate else None,
        via=VIA,
    )


@transaction.atomic
def _unknown(key: ApiKey, response: InputResponse) -> EveProblem:
    assert key.person is not None  # noqa: S101 -- check_may_answer has checked this
    refused = refusals.not_found()
    attempt = Answer(
        by=key.person, option=response.optionId or "", text=response.text or "", via=VIA
    )
    refusals.record_refusal(refused, attempt, ask=None, ask_ref=response.requestId)
    return _problem(refused)


def _problem(refused: Refused) -> EveProblem:
    code = _CODES.get(refused.reason, str(refused.reason))
    return EveProblem(refused.http_status, refused.detail, code)
