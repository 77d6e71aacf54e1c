"""Replace references to items by the items that they name, if the caller may read those."""

from __future__ import annotations

from collections.abc import Sequence

from workspace.models import ApiKey
from workspace.protocols.responses.errors import no_such_item
from workspace.protocols.responses.models import ResponseInput
from workspace.protocols.responses.server import store
from workspace.protocols.responses.server.events import body_of
from workspace.protocols.responses.server.input_items import read_items
from workspace.protocols.responses.server.request import CreateResponse
from workspace.protocols.responses.wire import Json


def resolve_references(key: ApiKey, create: CreateResponse) -> CreateResponse:
    """Return the request with the items that it names. Raises ResponsesProblem for an unknown one."""
    names = [item["id"] for item in create.items if item["type"] == "item_reference"]
    if not names:
        return create
    known = _inputs(key, names) | _outputs(key, names)
    items: list[Json] = []
    for item in create.items:
        if item["type"] != "item_reference":
            items.append(item)
        elif item["id"] in known:
            items += read_items([known[item["id"]]])
        else:
            raise no_such_item(item["id"])
    return create.resolved(items)


def _inputs(key: ApiKey, names: Sequence[str]) -> dict[str, Json]:
    rows = ResponseInput.objects.filter(item_id__in=names, response__in=store.seen_by(key))
    return {row.item_id: row.data for row in rows}


def _outputs(key: ApiKey, names: Sequence[str]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name in names:
        response = None if name in found else store.find_response_of_item(key, name)
        if response is not None:
            found |= {item["id"]: item for item in body_of(response)["output"]}
    return found
