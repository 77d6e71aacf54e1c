"""Evaluate conditions on the params of an action, such as ``params.amount > 1000``.

A condition is never run as Python. The language is a small subset of Python's expressions, which
simpleeval evaluates over JSON only: no loops, no object attributes, and no calls except the functions
below. The work is therefore bounded by the length of the condition. A condition that cannot be
evaluated raises BadCondition; the policy then asks a person.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _
from simpleeval import InvalidExpression, SimpleEval

from agents.text.canonical_json import Json

MAX_LENGTH = 500


class BadCondition(ValueError):
    """A condition that cannot be parsed, or cannot be evaluated for these params."""


_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add,
    ast.Sub, ast.Mult, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In,
    ast.NotIn, ast.Name, ast.Load, ast.Attribute, ast.Subscript, ast.Constant, ast.Call, ast.List,
)  # fmt: skip
_NAMES = ("params", "operation")


def check_condition(condition: str) -> None:
    """Raise BadCondition if a condition cannot be parsed. The message says why."""
    _parsed(condition)


def condition_holds(condition: str, *, operation: str, params: Json) -> bool:
    """Whether a condition is true for an action. Raises BadCondition if it cannot be evaluated."""
    reader = _Reader({"params": params, "operation": operation})
    try:
        result = reader.eval(condition, _parsed(condition))
    except BadCondition:
        raise
    except (InvalidExpression, LookupError, TypeError, ValueError, OverflowError) as error:
        why = _("“{condition}” cannot be evaluated: {error}.")
        raise BadCondition(why.format(condition=condition, error=error)) from error
    if not isinstance(result, bool):
        why = _("“{condition}” is neither true nor false here.")
        raise BadCondition(why.format(condition=condition))
    return result


@lru_cache(maxsize=1000)
def _parsed(condition: str) -> ast.expr:
    if len(condition) > MAX_LENGTH:
        why = _("The condition has {size} characters; the limit is {most}.")
        raise BadCondition(why.format(size=len(condition), most=MAX_LENGTH))
    try:
        tree = ast.parse(condition.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = _("“{condition}” is not a condition: {error}.")
        raise BadCondition(why.format(condition=condition, error=error)) from error
    for node in ast.walk(tree):
        _check_node(node)
    return tree.body


def _check_node(node: ast.AST) -> None:
    if not isinstance(node, _ALLOWED):
        why = _("{element} cannot be used in a condition.")
        raise BadCondition(why.format(element=type(node).__name__))
    if isinstance(node, ast.Name) and node.id not in (*_NAMES, *_FUNCTIONS):
        why = _("There is no “{name}”; a condition can use params and operation.")
        raise BadCondition(why.format(name=node.id))
    if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.keywords):
        why = _("A condition can only call {functions}.")
        raise BadCondition(why.format(functions=", ".join(_FUNCTIONS)))
    if isinstance(node, ast.Constant) and not isinstance(node.value, str | int | float | None):
        raise BadCondition(_("{value} is not JSON.").format(value=repr(node.value)))


class _Reader(SimpleEval):  # type: ignore[misc]  # simpleeval is untyped
    """simpleeval with fewer operators and without Python's objects."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(operators=_OPERATORS, functions=dict(_FUNCTIONS), names=names)
        self.nodes[ast.Attribute] = self._item
        self.nodes[ast.List] = self._list

    def _item(self, node: ast.Attribute) -> Json:
        """Read ``params.amount`` as a key of an object, never as a Python attribute."""
        whole = self._eval(node.value)
        if not isinstance(whole, dict) or node.attr not in whole:
            raise BadCondition(_("There is no “{name}”.").format(name=node.attr))
        return whole[node.attr]

    def _list(self, node: ast.List) -> list[Any]:
        return [self._eval(element) for element in node.elts]

    def _check_disallowed_items(self, item: object) -> None:
        """Skip simpleeval's check: the input is only JSON, and walking all of it each time is slow."""


def _number(value: object) -> Json:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadCondition(_("Arithmetic needs numbers."))
    return value


def _of_numbers(work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: work(_number(left), _number(right))


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _incomparable(left: Json, right: Json) -> BadCondition:
    why = _("A {left} cannot be compared with a {right}.")
    return BadCondition(why.format(left=_kind(left), right=_kind(right)))


def _equal(left: Json, right: Json) -> bool:
    """Compare two values. Raise BadCondition if their kinds differ: the condition is wrong."""
    if left is not None and right is not None and _kind(left) != _kind(right):
        raise _incomparable(left, right)
    return bool(left == right)


def _ordered(work: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(left: Json, right: Json) -> bool:
        if _kind(left) != _kind(right) or _kind(left) not in ("number", "str"):
            raise _incomparable(left, right)
        return work(left, right)

    return compare


def _within(part: Json, whole: Json) -> bool:
    """Whether a text contains a text, an object contains a key, or a list contains a value."""
    if isinstance(whole, str | dict) and not isinstance(part, str):
        why = _("A {part} cannot be in a {whole}.")
        raise BadCondition(why.format(part=_kind(part), whole=_kind(whole)))
    return part in whole


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadCondition(_("A {kind} is not text.").format(kind=_kind(value)))
    return value


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "length": len,
    "lower": lambda value: _text(value).lower(),
    "starts": lambda value, beginning: _text(value).startswith(_text(beginning)),
    "ends": lambda value, end: _text(value).endswith(_text(end)),
}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _of_numbers(operator.add),
    ast.Sub: _of_numbers(operator.sub),
    ast.Mult: _of_numbers(operator.mul),
    ast.USub: lambda value: -_number(value),
    ast.Not: operator.not_,
    ast.Eq: _equal,
    ast.NotEq: lambda left, right: not _equal(left, right),
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.In: _within,
    ast.NotIn: lambda part, whole: not _within(part, whole),
}
