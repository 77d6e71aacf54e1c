"""Which request a permission of acpx is, and which operation: by its kind and its input, not its title."""

from __future__ import annotations

import pytest

from asks.drafts import ActionDraft
from tests.markers.test_acpx import DONE, PROMPT, asks_of, lines, permission, turn


def test_a_permission_asked_for_twice_is_one_approval() -> None:
    stream = (
        lines(PROMPT)
        + permission(7, "Bash", {"a": 1, "b": 2})
        + permission(8, "Bash", {"b": 2, "a": 1})
    )
    stream += permission(9, "Bash", {"a": 2}) + lines(DONE)
    assert len(turn(stream)[1].asks) == 2


@pytest.mark.parametrize("name", ["fs.read", "Bash"])
def test_the_operation_is_the_kind_of_the_call_whatever_the_model_calls_it(name: str) -> None:
    """A rule for what is harmless is not reached by a title, nor by a field of the input."""
    given_input = {"command": "rm -rf x", "name": name, "toolName": name}
    [ask] = asks_of(turn(lines(PROMPT) + permission(7, name, given_input) + lines(DONE))[1])
    assert ask.action == ActionDraft("execute", given_input)


def test_a_request_keeps_its_key_when_only_the_words_about_it_change() -> None:
    keys = set()
    for words in ("Clean up", "Remove what was built"):
        given_input = {"command": "rm -rf build", "description": words}
        stream = lines(PROMPT) + permission(7, words, given_input) + lines(DONE)
        [ask] = asks_of(turn(stream)[1])
        keys.add(ask.request_key)
        assert ask.action == ActionDraft("execute", given_input), "the words are bound all the same"
    assert len(keys) == 1
    other = lines(PROMPT) + permission(7, "Bash", {"command": "rm -rf ."}) + lines(DONE)
    edit = permission(7, "Bash", {"command": "rm -rf build"}, kind="edit")
    for stream in (other, lines(PROMPT) + edit + lines(DONE)):
        assert asks_of(turn(stream)[1])[0].request_key not in keys


def test_one_tool_call_is_one_request_however_it_changes() -> None:
    stream = lines(PROMPT) + permission(7, "Bash", {"command": "ls"}, call_id="c")
    stream += permission(8, "Bash", {"command": "ls -a"}, call_id="c")
    stream += permission(9, "Bash", {"command": "pwd"}, call_id="d") + lines(DONE)
    first, second, other = asks_of(turn(stream)[1])
    assert first.request_key == second.request_key != other.request_key
    assert second.action == ActionDraft("execute", {"command": "ls -a"})
