"""Validate the draft of a question from an agent, before any row is stored."""

from __future__ import annotations

import json
from datetime import timedelta

from django.utils.translation import gettext as _

from agents.text.storable import is_blank, is_storable, make_storable
from asks.actions import binding
from asks.drafts import ActionDraft, AskDraft, OptionDraft

MAX_PROMPT = 20_000
MAX_OPTIONS = 60
MAX_LABEL = 4_000
MAX_KEY = 100
#: Less than the column holds: repeating a request adds ``~2``.
MAX_REQUEST_KEY = 190
MAX_OPERATION = 200
MAX_CONTEXT = 64 * 1024
MAX_WAIT = timedelta(days=3660)


class BadDraft(ValueError):
    """A question that cannot be asked. The message says why."""


def check_draft(draft: AskDraft) -> None:
    """Raise BadDraft for the first error of a draft."""
    if is_blank(draft.prompt):
        raise BadDraft(_("The question has no text."))
    if len(draft.prompt) > MAX_PROMPT:
        why = _("The question has {size} characters; the limit is {most}.")
        raise BadDraft(why.format(size=len(draft.prompt), most=MAX_PROMPT))
    if not 0 < len(draft.request_key) <= MAX_REQUEST_KEY or not is_storable(draft.request_key):
        why = _("The request key must have 1 to {most} characters.")
        raise BadDraft(why.format(most=MAX_REQUEST_KEY))
    if draft.expires_in is not None and not timedelta(0) < draft.expires_in <= MAX_WAIT:
        raise BadDraft(_("The time to answer must be more than zero and at most ten years."))
    if len(json.dumps(make_storable(draft.context))) > MAX_CONTEXT:
        why = _("The context has more than {most} bytes.")
        raise BadDraft(why.format(most=MAX_CONTEXT))
    _check_options(draft.options)
    if draft.action is not None:
        _check_action(draft.action)


def _check_options(options: tuple[OptionDraft, ...]) -> None:
    if len(options) > MAX_OPTIONS:
        why = _("There are {number} options; the limit is {most}.")
        raise BadDraft(why.format(number=len(options), most=MAX_OPTIONS))
    if len({option.key for option in options}) < len(options):
        raise BadDraft(_("Two options have the same id."))
    for option in options:
        if is_blank(option.label) or is_blank(option.key):
            raise BadDraft(_("An option has no label or no id."))
        if len(option.key) > MAX_KEY or max(len(option.label), len(option.detail)) > MAX_LABEL:
            why = _("An option is too long: the limit is {most} characters.")
            raise BadDraft(why.format(most=MAX_LABEL))
        if not is_storable(option.key + option.label):
            raise BadDraft(_("An option contains a character that cannot be stored."))


def _check_action(action: ActionDraft) -> None:
    if is_blank(action.operation) or len(action.operation) > MAX_OPERATION:
        why = _("The operation must have 1 to {most} characters.")
        raise BadDraft(why.format(most=MAX_OPERATION))
    try:
        binding.canonical_action_json({"operation": action.operation, "params": action.params})
    except binding.Unhashable as error:
        raise BadDraft(_("The action cannot be bound. {error}").format(error=error)) from error
