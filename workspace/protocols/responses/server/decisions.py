"""An answer that came as a function call's output becomes a verdict, through the one verdict verb.

The response that carries the answer is made in the transaction that records it; the same answer
again finds that response. A refusal is worded as the protocol words errors, and leaves the question
open.
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
#: What clients of the protocol know refusals by, where that is not our own word.
_CODES: dict[Reason, str] = {
    Reason.NOT_FOUND: "not_permitted",
    Reason.NOT_ALLOWED: "not_permitted",
    Reason.CLOSED: "already_answered",
    Reason.EMPTY: "empty_answer",
}


def asked_by(previous: Response, outputs: Sequence[Output]) -> list[tuple[Ask, Output]]:
    """Those of the outputs that answer a question of the response they follow."""
    return [
        (ask, output) for output in outputs if (ask := _ask(previous, output.call_id)) is not None
    ]


def _ask(previous: Response, call_id: str) -> Ask | None:
    """The question of that id; the latest, if it was asked again here."""
    if previous.run_id is None or not previous.paused:
        return None
    named = Q(request_key=call_id) | Q(request_key__startswith=f"{call_id}~")
    asks = Ask.objects.filter(named, session=previous.session_id, run=previous.run_id)
    return asks.order_by("-pk").first()


def is_asked(call_ids: Sequence[str], responses: QuerySet[Response]) -> bool:
    """Whether one of these ids is a question's in any of the responses."""
    return Ask.objects.filter(request_key__in=call_ids, run__response__in=responses).exists()


def decide_call(ask: Ask, output: Output, key: ApiKey, door: Door) -> Response:
    """Record the answer; the response that carries it, now or since before. Raises Problem."""
    _check_may_answer(key, ask)
    assert key.person is not None  # noqa: S101 -- _check_may_answer has seen to it
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
            409, "The answer was recorded, and more is needed.", code="not_decided_yet"
        )
    return child


def _check_may_answer(key: ApiKey, ask: Ask) -> None:
    """Only a person decides: an agent's key that tries is refused, and that is recorded."""
    if key.person is not None and Scope.ASK_ANSWER in key.scopes:
        return
    why = attempts.AGENTS_NEVER if key.is_an_agents else "This key lacks the scope ask:answer."
    attempts.record_attempt(key, ask.pk, why)
    raise ResponsesProblem(403, why, code="not_permitted")


def _answer(ask: Ask, text: str) -> tuple[str, str]:
    """The option of exactly this label, or the words.

    What is no label is tried as an option all the same where options are the only answers: the one
    rule for all doors refuses it with the right reason. No binding comes this way, so a question
    that is bound to an action is refused too.
    """
    keys = {option.label: option.key for option in ask.options.all()}
    if text in keys:
        return keys[text], ""
    if ask.free_text or is_blank(text):
        return "", text
    # Our own id of an option is not what was offered on the wire.
    return f"“{text}”" if text in keys.values() else text, ""


def _problem(refused: Refused) -> ResponsesProblem:
    code = _CODES.get(refused.reason, str(refused.reason))
    if refused.http_status in (409, 410):
        return ResponsesProblem(409, refused.detail, code=code)
    if refused.http_status in (403, 404):
        return ResponsesProblem(403, refused.detail, code=code)
    return ResponsesProblem(400, refused.detail, code=code, param="input")
