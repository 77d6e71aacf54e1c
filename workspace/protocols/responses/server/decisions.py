"""Record what a caller answers as a verdict, if it answers a question of the previous response.

The response that carries the answer is made in the transaction that records the verdict. Repeating
the answer returns that response. A refusal leaves the question open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from agents.text import json_input
from agents.text.storable import is_blank
from asks import answering
from asks.actions import binding
from asks.lifecycle import AskStatus, Meaning, Reason
from asks.models import Ask, Option
from asks.refusals import Refused
from workspace.api import attempts
from workspace.models import ApiKey, Scope
from workspace.protocols.responses.errors import (
    ResponsesProblem,
    invalid,
    no_such_approval,
    no_tool_call,
)
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server.parameters import unsupported
from workspace.protocols.responses.server.projection import Door, answered_through
from workspace.protocols.responses.server.questions import approval_id
from workspace.protocols.responses.server.request import Approval, CreateResponse, Output
from workspace.protocols.responses.wire import REQUEST_INFO, Json

VIA = "responses"
#: The protocol's codes for refusals that have another word than ours.
_CODES: dict[Reason, str] = {
    Reason.NOT_FOUND: "not_permitted",
    Reason.NOT_ALLOWED: "not_permitted",
    Reason.CLOSED: "already_answered",
    Reason.EMPTY: "empty_answer",
}
_STALE = "The question has changed since you looked. Nothing was approved."


@dataclass(frozen=True)
class CallerAnswer:
    """What a caller answers to an ask: ``echo`` is the binding that it repeats, if it is bound."""

    ask: Ask
    option: str = ""
    text: str = ""
    echo: Json | None = None


def answer_in(create: CreateResponse, previous: Response | None) -> CallerAnswer | None:
    """Return the answer of a request to the previous response; None if it answers nothing.

    Raises ResponsesProblem for an approval of nothing, for two answers, and for a last result that
    answers nothing: the client ran something that nobody called.
    """
    if previous is None:
        return None
    answers = [
        _of_output(ask, output, create)
        for output in create.outputs
        if (ask := _ask(previous, output.call_id)) is not None
    ]
    answers += [
        found
        for approval in create.approvals
        if (found := _of_approval(previous, approval)) is not None
    ]
    if not answers:
        return None
    if any(answer != answers[0] for answer in answers):
        raise invalid("input has more than one answer.", "input")
    last = create.items[-1]
    if last["type"] == "function_call_output" and _ask(previous, last["call_id"]) is None:
        raise no_tool_call(last["call_id"])
    return answers[0]


def _ask(previous: Response, call_id: str) -> Ask | None:
    """Return the question with that id; the latest one if it was asked again."""
    named = Q(request_key=call_id) | Q(request_key__startswith=f"{call_id}~")
    return _asks(previous).filter(named).order_by("-pk").first()


def _asks(previous: Response) -> QuerySet[Ask]:
    if previous.run_id is None or not previous.paused:
        return Ask.objects.none()
    asks = Ask.objects.filter(session=previous.session_id, run=previous.run_id)
    return asks.select_related("gate")


def _of_output(ask: Ask, output: Output, create: CreateResponse) -> CallerAnswer:
    if output.has_files:
        raise unsupported("An answer is text. Images and files are not taken.", "input")
    if binding.gate_of(ask) is not None:
        return _bound(ask, output.text)
    option, text = _option_or_text(ask, output.text)
    if text and create.functions and REQUEST_INFO not in create.functions:
        # Loops of tools send back an error for a function that they do not know.
        why = f"Declare the function {REQUEST_INFO} to answer with text of your own."
        raise ResponsesProblem(400, why, code="undeclared_function", param="tools")
    return CallerAnswer(ask, option, text)


def _option_or_text(ask: Ask, text: str) -> tuple[str, str]:
    """Return the option with exactly this label, or the text.

    If only options are answers, any other text is tried as an option: the rules for all doors refuse
    it with the right reason.
    """
    keys = {option.label: option.key for option in ask.options.all()}
    if text in keys:
        return keys[text], ""
    if ask.free_text or is_blank(text):
        return "", text
    # The wire offered labels, so the key of an option is not an answer.
    return f"“{text}”" if text in keys.values() else text, ""


def _bound(ask: Ask, output: str) -> CallerAnswer:
    """Read the answer to an approval: {"decision", "binding", "reason"} as JSON, or only a label.

    A label alone has no binding. The rules for all doors refuse it.
    """
    given = _json_object(output)
    decision, reason, echo = (given.get(name) for name in ("decision", "reason", "binding"))
    label = decision if isinstance(decision, str) else output
    option, text = _option_or_text(ask, label)
    words = reason if isinstance(reason, str) else text
    return CallerAnswer(ask, option, words, echo if isinstance(echo, dict) else None)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json_input.read_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _of_approval(previous: Response, approval: Approval) -> CallerAnswer | None:
    """Return the answer of an approval; None if it only repeats what was decided before.

    The id stands for the ask, the action and the version of the policy, so it is the binding.
    Raises ResponsesProblem for the id of no question, and of one that has changed.
    """
    asks = [ask for ask in _asks(previous) if binding.gate_of(ask)]
    named = {approval_id(ask.gate, previous.public_id): ask for ask in asks}
    ask = named.get(approval.request_id)
    if ask is None:
        if _was_decided(previous, approval):
            return None
        raise no_such_approval(approval.request_id)
    if ask.status not in (AskStatus.OPEN, AskStatus.ANSWERED):
        raise ResponsesProblem(409, _STALE, code="stale", param="input")
    meaning = Meaning.APPROVE if approval.approve else Meaning.DENY
    option = Option.objects.filter(ask=ask, meaning=meaning).order_by("position").first()
    echo = binding.shown_binding(ask.gate).as_echo()
    return CallerAnswer(ask, option.key if option else str(meaning), approval.reason, echo)


def _was_decided(previous: Response, approval: Approval) -> bool:
    """Return whether an earlier response of the conversation asked this, and got the same answer."""
    asks = Ask.objects.filter(session=previous.session_id, status=AskStatus.ANSWERED)
    for ask in asks.exclude(gate=None).select_related("gate", "verdict", "run__response"):
        if approval_id(ask.gate, ask.run.response.public_id) == approval.request_id:
            return (ask.decision.meaning == Meaning.APPROVE) == approval.approve
    return False


def is_asked(call_ids: list[str], responses: QuerySet[Response]) -> bool:
    """Tell whether one of these ids belongs to a question of the responses."""
    return Ask.objects.filter(request_key__in=call_ids, run__response__in=responses).exists()


def record_answer(answer: CallerAnswer, key: ApiKey, door: Door) -> Response:
    """Record the answer. Return the response that carries it, new or old. Raises ResponsesProblem."""
    ask = answer.ask
    _check_may_answer(key, ask)
    assert key.person is not None  # noqa: S101 -- _check_may_answer has checked this
    with answered_through(door):
        result = answering.answer_ask(
            ask_id=ask.pk,
            by=key.person,
            option=answer.option,
            text=answer.text,
            echo=answer.echo,
            via=VIA,
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


def _problem(refused: Refused) -> ResponsesProblem:
    code = _CODES.get(refused.reason, str(refused.reason))
    if refused.http_status in (409, 410):
        return ResponsesProblem(409, refused.detail, code=code)
    if refused.http_status in (403, 404):
        return ResponsesProblem(403, refused.detail, code=code)
    return ResponsesProblem(400, refused.detail, code=code, param="input")
