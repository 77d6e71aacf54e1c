"""Keep the order in which a call names its arguments: PostgreSQL's ``jsonb`` stores none.

The order is kept beside a JSON value as {path: names}, with a path like ``/to/hosts/0``. It is only
for people: no digest covers it, and a name that it does not know comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agents.text.canonical_json import Json

Order = dict[str, list[str]]


def order_of(value: Json) -> Order:
    """Return the names of every object inside a value that has several, in their order."""
    return dict(_orders(value, ""))


def in_order(value: Json, order: Order, path: str = "") -> Json:
    """Return the same value with its names in the kept order."""
    if isinstance(value, list):
        return [in_order(one, order, f"{path}/{at}") for at, one in enumerate(value)]
    if not isinstance(value, dict):
        return value
    names = [*(name for name in order.get(path, ()) if name in value), *value]
    return {name: in_order(value[name], order, _inner(path, name)) for name in dict.fromkeys(names)}


def _orders(value: Json, path: str) -> Iterator[tuple[str, list[str]]]:
    if isinstance(value, dict) and len(value) > 1:
        yield path, [str(name) for name in value]
    for name, inner in _members(value):
        yield from _orders(inner, _inner(path, name))


def _members(value: Json) -> Iterable[tuple[str, Json]]:
    if isinstance(value, dict):
        return [(str(name), inner) for name, inner in value.items()]
    return (
        [(str(at), one) for at, one in enumerate(value)] if isinstance(value, list | tuple) else []
    )


def _inner(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
