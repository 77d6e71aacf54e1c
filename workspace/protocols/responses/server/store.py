"""Make and find the rows of responses, and sum up their chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum

from agents.locking import LockedSession
from workspace.accounts import api_keys
from workspace.models import ApiKey
from workspace.protocols.responses.models import (
    Response,
    ResponseInput,
    ResponseStatus,
    Steps,
)
from workspace.protocols.responses.server.events import ResponseStream
from workspace.protocols.responses.server.ids import may_be_response, new_id, response_prefix_of
from workspace.protocols.responses.wire import Json, response_object


@dataclass(frozen=True, kw_only=True)
class NewResponse:
    """The fields of a new response. The defaults suit a turn that no caller asked for."""

    request: Json | None
    items: Sequence[Json] = ()
    key: ApiKey | None = None
    background: bool = False
    steps: Steps = Steps.CALLS
    confidential: bool = False
    said: Json = field(default_factory=dict)
    ignored: Sequence[str] = ()
    idempotency: str = ""


def make_response(
    session: LockedSession,
    new: NewResponse,
    *,
    previous: Response | None = None,
    root: Response | None = None,
    answers: int | None = None,
) -> Response:
    """Make a response that no run carries yet, with its input and first events.

    ``root`` is the first response of the chain that this one continues. ``answers`` is the key of
    the ask that it answers.
    """
    public_id, at = new_id("resp"), session.locked_at
    status = ResponseStatus.QUEUED if new.background else ResponseStatus.IN_PROGRESS
    body = response_object(
        public_id=public_id,
        created_at=int(at.timestamp()),
        model=session.agent.slug,
        status=str(status),
        background=new.background,
        previous=previous.public_id if previous else None,
        said=new.said,
        ignored=new.ignored,
    )
    response = Response(
        public_id=public_id,
        agent=session.agent,
        session=session,
        key=new.key,
        previous=previous,
        root=root,
        answers_id=answers,
        idempotency=new.idempotency,
        status=status,
        background=new.background,
        steps=new.steps,
        confidential=new.confidential,
        request=new.request,
        body=body,
        created_at=at,
    )
    stream = ResponseStream(response)
    stream.created()
    response.save(force_insert=True)
    stream.write()
    _keep_input(response, new.items)
    return response


def _keep_input(response: Response, items: Sequence[Json]) -> None:
    ResponseInput.objects.bulk_create(
        ResponseInput(response=response, position=place, item_id=item["id"], data=item)
        for place, item in enumerate(items)
    )


def seen_by(key: ApiKey) -> QuerySet[Response]:
    """Return the responses that a key may read. A person's key reads all of the agents it reaches.

    A key without a person reads the responses that it created, and those that continue them after
    an answer.
    """
    responses = Response.objects.filter(
        agent__in=api_keys.agents_of(key), stored=True, deleted_at=None
    )
    if key.person_id is None:
        responses = responses.filter(Q(key=key) | Q(root__key=key))
    return responses.select_related("session", "agent")


def find_response(key: ApiKey, public_id: str) -> Response | None:
    if not may_be_response(public_id):
        return None
    return seen_by(key).filter(public_id=public_id).first()


def find_response_of_item(key: ApiKey, item_id: str) -> Response | None:
    """Return the response that has an output item of this id."""
    prefix = response_prefix_of(item_id)
    return seen_by(key).filter(public_id__startswith=prefix).first() if prefix else None


@dataclass(frozen=True)
class Chain:
    """The number of turns of a chain of questions and answers, and their total cost."""

    turns: int
    cost: Decimal


def chain_of(response: Response) -> Chain:
    """Return the chain up to and including this response, with its cost until now."""
    mine = response.cost_usd or Decimal(0)
    if response.root_id is None:
        return Chain(1, mine)
    chain = Q(pk=response.root_id) | Q(root=response.root_id)
    before = Response.objects.filter(chain, pk__lt=response.pk)
    sums = before.aggregate(turns=Count("pk"), cost=Sum("cost_usd"))
    return Chain(sums["turns"] + 1, (sums["cost"] or Decimal(0)) + mine)
