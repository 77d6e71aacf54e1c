"""What an action does, in one line, and the words of the buttons: from the bound action alone.

The template of the policy or of the tool says it if all of its arguments are there. Otherwise it is
the operation and its first short arguments. Nothing here comes from what the agent wrote about it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice

from django.utils.translation import gettext as _

from agents.text.canonical_json import Json
from asks.actions import binding, editing
from asks.lifecycle import Meaning
from asks.models import Ask, Option
from asks.policies import terms
from asks.policies.wording import (
    MAX_VALUE,
    Wording,
    WordingPart,
    fill_template,
    text_of,
    value_in_line,
)
from workspace.pages.cards import blocks

MOST_NAMED = 3
"""Arguments that a headline names where no template does."""
MAX_NAMED = 40
"""Characters of such an argument. Only the first one may be longer."""

_PLAIN = frozenset(
    (
        *("yes", "no", "ok", "approve", "approve once", "allow", "allow once", "accept"),
        *("reject", "deny", "refuse", "decline", "cancel"),
    )
)
"""Labels that say no more than yes or no."""


def headline_of(
    wording: Wording, operation: str, params: Json, *, said: str = ""
) -> tuple[WordingPart, ...]:
    """Return the headline of an action; arguments equal to ``said``, the question, are left out."""
    filled = fill_template(wording.headline, params) if wording.headline else None
    return filled or tuple(_operation_and_arguments(operation, params, said))


def _operation_and_arguments(operation: str, params: Json, said: str) -> Iterator[WordingPart]:
    yield WordingPart(" ".join(operation.split()), is_value=True)
    for at, (name, value) in enumerate(islice(_first_scalars(params, said), MOST_NAMED)):
        yield WordingPart(f"{', ' if at else ': '}{name} ".replace("  ", " "))
        yield WordingPart(value, is_value=True)


def _first_scalars(params: Json, said: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of short arguments; a long one only if it comes first."""
    members = params if isinstance(params, dict) else {"": params}
    changes = {name for pair in blocks.pairs_in(members) for name in pair}
    first = True
    for name, value in members.items():
        if name in changes:
            continue  # the card shows the two ends together
        start = _first_line(value) if isinstance(value, str) else value
        line = None if value == said or isinstance(value, list) else value_in_line(start)
        if line is None:
            continue
        if first or (start == value and len(str(value)) <= MAX_NAMED):
            yield name, line
        first = False


def _first_line(text: str) -> str:
    """Return the first line of a text, with a sign if there are more."""
    first, _break, rest = text.strip().partition("\n")
    return f"{first.strip()[:MAX_VALUE]} …" if rest else text


def label_of(option: Option, offered: Iterable[Option], wording: Wording, params: Json) -> str:
    """Return the words of an option's button.

    They are the verb of the policy or the tool where just this option approves or rejects, otherwise
    the option's own. A value written from right to left would move the amounts beside it, and a
    button cannot set it apart.
    """
    templates = {Meaning.APPROVE: wording.approve_label, Meaning.DENY: wording.reject_label}
    template = templates.get(Meaning(option.meaning))
    alike = [one for one in offered if one.meaning == option.meaning]
    filled = fill_template(template, params) if template and len(alike) == 1 else None
    return text_of(filled) if filled and not any(map(_runs_leftwards, filled)) else option.label


def _runs_leftwards(part: WordingPart) -> bool:
    return any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in part.text)


def pressed_words(ask: Ask) -> str:
    """Return the words of the button with which an ask was answered; empty for an answer in words."""
    verdict, offered = ask.verdict, list(ask.options.all())
    pressed = next((one for one in offered if verdict and one.pk == verdict.option_id), None)
    if verdict is None or pressed is None:
        return ""
    gate = binding.gate_of(ask)
    asked = editing.asked_params(gate) if gate else None
    params = verdict.edit["edited"] if verdict.edit else asked
    return label_of(pressed, offered, terms.terms_of(ask).words, params)


def detail_of(option: Option, label: str) -> str:
    """Return an option's detail, with its own words first if the button says others.

    A label of `_PLAIN` is left out.
    """
    own = option.label.strip()
    if label == option.label or own.casefold() in _PLAIN:
        return option.detail
    quoted = _("The agent calls it “{label}”.").format(label=own)
    return f"{quoted} {option.detail}".strip()
