"""Validate the draft of a question from an agent, before any row is stored."""

from __future__ import annotations

import json
from datetime import timedelta

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
        raise BadDraft("The question has no words.")
    if len(draft.prompt) > MAX_PROMPT:
        raise BadDraft(
            f"The question has {len(draft.prompt)} characters; {MAX_PROMPT} are the most."
        )
    if not 0 < len(draft.request_key) <= MAX_REQUEST_KEY or not is_storable(draft.request_key):
        raise BadDraft(f"The request key must have 1 to {MAX_REQUEST_KEY} characters.")
    if draft.expires_in is not None and not timedelta(0) < draft.expires_in <= MAX_WAIT:
        raise BadDraft("It must be open for some time, and for ten years at most.")
    if len(json.dumps(make_storable(draft.context))) > MAX_CONTEXT:
        raise BadDraft(f"What is shown with it is more than {MAX_CONTEXT} bytes.")
    _check_options(draft.options)
    if draft.action is not None:
        _check_action(draft.action)


def _check_options(options: tuple[OptionDraft, ...]) -> None:
    if len(options) > MAX_OPTIONS:
        raise BadDraft(f"There are {len(options)} options; {MAX_OPTIONS} are the most.")
    if len({option.key for option in options}) < len(options):
        raise BadDraft("Two options have the same id.")
    for option in options:
        if is_blank(option.label) or is_blank(option.key):
            raise BadDraft("An option has no label or no id.")
        if len(option.key) > MAX_KEY or max(len(option.label), len(option.detail)) > MAX_LABEL:
            raise BadDraft(f"An option is too long: {MAX_LABEL} characters are the most.")
        if not is_storable(option.key + option.label):
            raise BadDraft("An option holds a character that cannot be kept.")


def _check_action(action: ActionDraft) -> None:
    if is_blank(action.operation) or len(action.operation) > MAX_OPERATION:
        raise BadDraft(f"The operation must have 1 to {MAX_OPERATION} characters.")
    try:
        binding.canonical_action_json({"operation": action.operation, "params": action.params})
    except binding.Unhashable as error:
        raise BadDraft(f"The action cannot be bound. {error}") from error
