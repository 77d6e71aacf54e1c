"""Record the output of a function call as a verdict, if the call was a question.

The response that carries the answer is made in the transaction that records the verdict. Repeating
the answer returns that response. A refusal leaves the question open.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from agents.text.storable import is_blank
from asks import answering
from asks.lifecycle import Reason
from asks.models import Ask
from asks.refusals import Refused
from workspace.api import attempts
from workspace.models import ApiKey, Scope
from workspace.protocols.responses.errors import ResponsesProblem
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server.projection import Door, answered_through
from workspace.protocols.responses.server.request import Output

VIA = "responses"
#: The protocol's codes for refusals that have another word than ours.
_CODES: dict[Reason, str] = {
    Reason.NOT_FOUND: "not_permitted",
    Reason.NOT_ALLOWED: "not_permitted",
    Reason.CLOSED: "already_answered",
    Reason.EMPTY: "empty_answer",
}


def asked_by(previous: Response, outputs: Sequence[Output]) -> list[tuple[Ask, Output]]:
    """Return the outputs that answer a question of the previous response, with their asks."""
    return [
        (ask, output) for output in outputs if (ask := _ask(previous, output.call_id)) is not None
    ]


def _ask(previous: Response, call_id: str) -> Ask | None:
    """Return the question with that id; the latest one if it was asked again."""
    if previous.run_id is None or not previous.paused:
        return None
    named = Q(request_key=call_id) | Q(request_key__startswith=f"{call_id}~")
    asks = Ask.objects.filter(named, session=previous.session_id, run=previous.run_id)
    return asks.order_by("-pk").first()


def is_asked(call_ids: Sequence[str], responses: QuerySet[Response]) -> bool:
    """Tell whether one of these ids belongs to a question of the responses."""
    return Ask.objects.filter(request_key__in=call_ids, run__response__in=responses).exists()


def decide_call(ask: Ask, output: Output, key: ApiKey, door: Door) -> Response:
    """Record the answer. Return the response that carries it, new or old. Raises ResponsesProblem."""
    _check_may_answer(key, ask)
    assert key.person is not None  # noqa: S101 -- _check_may_answer has checked this
    option, text = _answer(ask, output.text)
    with answered_through(door):
        result = answering.answer_ask(
            ask_id=ask.pk, by=key.person, option=option, text=text, via=VIA
        )
    if isinstance(result, Refused):
        raise _problem(result)
    if door.made:
        return door.made[0]
    child = Response.objects.filter(answers=ask).select_related("session", "agent").first()
    if child is None:
        raise ResponsesProblem(
            409, "The answer was recorded. More answers are needed.", code="not_decided_yet"
        )
    return child


def _check_may_answer(key: ApiKey, ask: Ask) -> None:
    """Raise ResponsesProblem unless the key may answer. The attempt is recorded."""
    if key.person is not None and Scope.ASK_ANSWER in key.scopes:
        return
    why = attempts.AGENTS_NEVER if key.is_an_agents else "This key lacks the scope ask:answer."
    attempts.record_attempt(key, ask.pk, why)
    raise ResponsesProblem(403, why, code="not_permitted")


def _answer(ask: Ask, text: str) -> tuple[str, str]:
    """Return the option with exactly this label, or the text.

    If only options are answers, any other text is tried as an option: the rules for all doors refuse
    it with the right reason. The protocol carries no binding, so a question that is bound to an
    action is refused too.
    """
    keys = {option.label: option.key for option in ask.options.all()}
    if text in keys:
        return keys[text], ""
    if ask.free_text or is_blank(text):
        return "", text
    # The wire offered labels, so the key of an option is not an answer.
    return f"“{text}”" if text in keys.values() else text, ""


def _problem(refused: Refused) -> ResponsesProblem:
    code = _CODES.get(refused.reason, str(refused.reason))
    if refused.http_status in (409, 410):
        return ResponsesProblem(409, refused.detail, code=code)
    if refused.http_status in (403, 404):
        return ResponsesProblem(403, refused.detail, code=code)
    return ResponsesProblem(400, refused.detail, code=code, param="input")
