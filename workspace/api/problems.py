"""Refusals of the API: application/problem+json, RFC 9457."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from django.http import HttpResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.text.storable import make_storable
from asks.refusals import Refused
from workspace.protocols.common.http import HttpProblem, RefusedRequest

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:needs-you:refusal:"

#: Reasons in addition to those of ``asks.lifecycle.Reason``.
MalReason = Literal[
    "no_key",
    "scope",
    "agents_never_answer",
    "method",
    "media_type",
    "not_acceptable",
    "too_large",
    "malformed",
    "shape",
    "cursor_ahead",
    "changed",
    "unfit",
    "busy",
    "state",
    "too_many_attempts",
    "unavailable",
]


class FieldError(BaseModel):
    """What is wrong with one field. ``field`` is its path, e.g. ``binding.action_hash``."""

    model_config = ConfigDict(extra="forbid")

    field: str
    where: Literal["body", "query"]
    detail: str


class Problem(BaseModel):
    """A refusal. ``reason`` is for programs and does not change; ``detail`` is for people."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description=f"{TYPE} followed by the reason.")
    title: str = Field(description="The HTTP status in words.")
    status: int
    detail: str
    reason: str
    errors: list[FieldError] = Field(default=[], description="The fields that are wrong, if any.")
    ask_status: str | None = Field(default=None, description="The current status of the ask.")
    replaced_by: int | None = Field(
        default=None, description="The ask that replaced it, which has its own binding."
    )


class ApiProblem(HttpProblem):
    """Raised to refuse a request."""

    def __init__(
        self,
        status: int,
        reason: str,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = headers or {}
        self.problem = Problem(
            type=TYPE + reason,
            title=HTTPStatus(status).phrase,
            status=status,
            detail=detail,
            reason=reason,
            errors=list(errors),
            **(more or {}),
        )

    def as_response(self) -> HttpResponse:
        body = self.problem.model_dump_json(exclude_defaults=True)
        return HttpResponse(
            body, status=self.problem.status, content_type=MEDIA_TYPE, headers=dict(self.headers)
        )


def not_found(what: str = "There is no such path.") -> ApiProblem:
    return ApiProblem(404, "not_found", what)


def problem_of_refusal(refused: Refused) -> ApiProblem:
    """Word a refused answer, with the ask's current status and the ask that replaced it."""
    ask = refused.ask
    more = {
        "ask_status": ask.status if ask else None,
        "replaced_by": refused.replaced_by.pk if refused.replaced_by else None,
    }
    errors = [
        FieldError(
            field=_named(("edited", flaw.path) if flaw.path else ("edited",)),
            where="body",
            detail=make_storable(flaw.why),
        )
        for flaw in refused.flaws
    ]
    return ApiProblem(
        refused.http_status, str(refused.reason), refused.detail, errors=errors, more=more
    )


def problem_of_request(refused: RefusedRequest) -> ApiProblem:
    """Word a refusal that every protocol shares."""
    reason = "malformed" if refused.reason == "cut_off" else refused.reason
    return ApiProblem(refused.status, reason, refused.detail, headers=refused.headers)


def problem_of_shape(error: ValidationError, where: Literal["body", "query"]) -> ApiProblem:
    """Name each field that is wrong. The values that were sent are not repeated."""
    errors = [
        FieldError(
            field=_named(found["loc"]) or where,
            where=where,
            detail=_in_words(found["type"], found["msg"]),
        )
        for found in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    names = ", ".join(dict.fromkeys(found.field for found in errors))
    return ApiProblem(422, "shape", f"Something is wrong with: {names}.", errors=errors)


def _named(place: tuple[int | str, ...]) -> str:
    """Return the path of a field. The name came from the caller: it is shortened and made storable."""
    return str(make_storable(".".join(str(part) for part in place)[:200]))


def _in_words(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "There is no such field. Who calls is known from the key, never from the request."
    return message.removeprefix("Value error, ")
