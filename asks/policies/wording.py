"""The words with which a policy or a tool describes an action: a headline, two buttons, its effects.

A template is text with the names of arguments in braces: ``Refund {amount} {currency} to
{customer.name}``. A name is only ever a key of the action's arguments, dots lead into nested objects.
Nothing else is read and nothing is called. If an argument is missing, or is an object, the template
says nothing: the card then describes the action without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agents.text.canonical_json import Json
from agents.text.storable import is_blank, is_storable

MAX_TEMPLATE = 200
MAX_VALUE = 80
"""Characters of one argument in a filled template; the card shows all of it below."""
MAX_ITEMS = 3
"""Items of a list that a filled template names. It counts the others."""

_TOKEN = re.compile(r"\{([^{}]*)\}|([{}])")
_NAME = re.compile(r"[^\s.{}\[\]()!:]+(\.[^\s.{}\[\]()!:]+)*")


@dataclass(frozen=True)
class WordingPart:
    """A part of a filled template: a value of the action, or the template's own text."""

    text: str
    is_value: bool = False


def check_template(template: str) -> str:
    """Return a template unchanged. Raise ValueError if it is not one; the message says why."""
    if is_blank(template) or not is_storable(template) or len(template.splitlines()) > 1:
        raise ValueError(_("it must be one line of text"))
    for name, brace in _TOKEN.findall(template):
        if brace or not _NAME.fullmatch(name):
            why = _("in braces there can only be the name of an argument, such as {example}")
            raise ValueError(why.format(example="{amount}"))
    return template


Template = Annotated[
    str, Field(min_length=1, max_length=MAX_TEMPLATE), AfterValidator(check_template)
]
Truth = Annotated[bool, Field(strict=True)]


class Wording(BaseModel):
    """How a card describes an action. What is None is said by nobody."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    headline: Template | None = Field(
        default=None, description="What an approval does, such as Refund {amount} to {customer}."
    )
    approve_label: Template | None = Field(
        default=None, description="The words of the button that approves."
    )
    reject_label: Template | None = Field(
        default=None, description="The words of the button that rejects."
    )
    danger: Truth | None = Field(
        default=None, description="Whether an approval is destructive: it needs a second press."
    )
    reversible: Truth | None = Field(
        default=None, description="Whether the action can be reversed afterwards."
    )

    def filled_from(self, around: Wording) -> Wording:
        """Return this wording, with what is missing taken from ``around``."""
        own = self.model_dump(exclude_none=True)
        return Wording(**{**around.model_dump(exclude_none=True), **own})

    def names(self) -> set[str]:
        """Return the first step of every name in the templates."""
        templates = (self.headline, self.approve_label, self.reject_label)
        return {
            name.partition(".")[0]
            for template in templates
            for name, _brace in _TOKEN.findall(template or "")
        }


UNSAID = Wording()
"""The wording of an action that nobody describes."""


def fill_template(template: str, params: Json) -> tuple[WordingPart, ...] | None:
    """Return a template with the values of an action; None if one of them cannot be shown so."""
    parts, end = [], 0
    for token in _TOKEN.finditer(template):
        value = value_in_line(_value_at(params, token[1] or ""))
        if value is None:
            return None
        parts += [WordingPart(template[end : token.start()]), WordingPart(value, is_value=True)]
        end = token.end()
    return tuple(part for part in (*parts, WordingPart(template[end:])) if part.text)


def text_of(parts: Iterable[WordingPart]) -> str:
    """Return the parts of a filled template as one text."""
    return "".join(part.text for part in parts)


def value_in_line(value: Json) -> str | None:
    """Return a value as the short text of one line; None if it has none."""
    if isinstance(value, str):
        return None if is_blank(value) else _cut(value)
    if isinstance(value, bool | int | float):
        return _cut(json.dumps(value))
    if not isinstance(value, list) or not value or any(isinstance(one, list) for one in value):
        return None
    items = [value_in_line(one) for one in value[:MAX_ITEMS]]
    if None in items:
        return None
    named = ", ".join(str(item) for item in items)
    others = len(value) - len(items)
    return _("{named} and {count} more").format(named=named, count=others) if others else named


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_VALUE else f"{line[: MAX_VALUE - 1]}…"


def _value_at(params: Json, name: str) -> Json:
    """Return what is at a dotted name, looking only into objects; None if it is not there."""
    found = params
    for step in name.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(step)
    return found
