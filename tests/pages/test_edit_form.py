"""A call as the fields of a form and back, for any call there is."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from asks.actions import binding, editing
from asks.models import Gate
from workspace.pages.cards import edit_form
from workspace.pages.cards.call_rows import rows_of

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"))
)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
calls = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=30
)


def as_sent(text: str) -> str:
    """A text as a browser sends it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


@given(params=calls, schema=st.none() | st.just({}))
def test_what_is_not_touched_stays_exactly_as_it_was(params: Any, schema: Any) -> None:
    gate = Gate(operation="op", params=params, schema=schema)
    fields = edit_form.fields_of(gate)
    assert len({field.name for field in fields}) == len(fields) <= edit_form.MOST_FIELDS
    sent = {field.name: as_sent(field.text) for field in fields}
    read = edit_form.read_edit(gate, sent)
    assert binding.canonical_action_json(read) == binding.canonical_action_json(
        editing.asked_params(gate)
    )
    assert not editing.is_edited(gate, read)


@given(now=calls, was=calls)
def test_any_two_calls_have_rows(now: Any, was: Any) -> None:
    rows = rows_of(now, was)
    assert all(row.sign in {"", "-", "+"} for row in rows)
    assert not [row for row in rows_of(now) if row.sign]
