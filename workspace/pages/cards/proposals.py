"""An owner's edit of a call: typed, reviewed, then approved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User

from agents.text import json_input
from agents.text.canonical_json import Json
from asks import access
from asks.actions import binding, editing
from asks.actions.schema import UNUSABLE, Flaw
from asks.lifecycle import Meaning
from asks.models import Ask, Gate, Option
from asks.policies import terms
from asks.policies.wording import WordingPart
from workspace.pages.cards import edit_form
from workspace.pages.cards.call_rows import CallRow, rows_of
from workspace.pages.cards.edit_form import EditField
from workspace.pages.cards.headline import headline_of


@dataclass(frozen=True)
class ProposedChange:
    """The edited call as shown for review before it is approved."""

    rows: tuple[CallRow, ...]
    json: str
    short_hash: str
    headline: tuple[WordingPart, ...]


@dataclass(frozen=True)
class AnswerProposal:
    """Edited params that differ from those of the ask."""

    gate: Gate
    params: Json
    typed: Mapping[str, str]

    @property
    def fits(self) -> bool:
        """Whether the edit is allowed and valid."""
        ask = self.gate.ask
        return may_be_edited(ask, self.gate) and not editing.find_edit_flaws(
            ask, self.gate, self.params
        )

    def fields(self, gate: Gate, flaws: tuple[Flaw, ...] = ()) -> tuple[EditField, ...]:
        """Return the fields as they were filled in, for the present gate."""
        fields = edit_form.fields_of(gate, None if self.typed else self.params)
        return edit_form.with_typed(fields, self.typed, flaws)

    def change(self) -> ProposedChange:
        """Return the change to review."""
        digest = editing.edited_action_hash(self.gate, self.params).removeprefix(binding.PREFIX)
        return ProposedChange(
            tuple(rows_of(self.params, editing.asked_params(self.gate))),
            json.dumps(self.params, ensure_ascii=False),
            f"{digest[:4]} {digest[4:8]}",
            headline_of(
                terms.terms_of(self.gate.ask).words,
                self.gate.operation,
                self.params,
                said=self.gate.ask.prompt,
            ),
        )


def may_be_edited(ask: Ask, gate: Gate | None) -> bool:
    """Whether the policy allows edits of this call and a schema can check them."""
    if gate is None or ask.money_critical or gate.schema is UNUSABLE:
        return False
    kept = terms.terms_of(ask)
    return kept.may_edit and not kept.many_decide


def fields_of(ask: Ask, gate: Gate | None) -> tuple[EditField, ...]:
    """Return the fields with which a card offers to edit its call; empty if it does not."""
    approves = any(option.meaning == Meaning.APPROVE for option in ask.options.all())
    if gate is None or not approves or not may_be_edited(ask, gate):
        return ()
    return edit_form.fields_of(gate)


def proposal_of(
    person: User, ask_id: int, *, option: str, typed: Mapping[str, str], whole: str
) -> AnswerProposal | None:
    """Return a form's proposal; None if it changes nothing or does not approve.

    `typed` are its fields, `whole` the params as JSON where they were looked at already.
    """
    if (not typed and not whole) or "\x00" in option:
        return None
    gate = Gate.objects.select_related("ask").filter(ask__in=access.asks_of(person), ask=ask_id)
    found = gate.first()
    if found is None or not (not option or _approves(ask_id, option)):
        return None
    params = _parsed(whole) if whole else edit_form.read_edit(found, typed)
    if not editing.is_edited(found, params):
        return None
    return AnswerProposal(found, params, {} if whole else typed)


def _approves(ask_id: int, key: str) -> bool:
    return Option.objects.filter(ask=ask_id, key=key, meaning=Meaning.APPROVE).exists()


def _parsed(whole: str) -> Json:
    """Parse JSON; invalid JSON stays text and fails validation."""
    try:
        return json_input.read_json(whole)
    except ValueError:
        return whole
