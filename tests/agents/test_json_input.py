"""JSON from outside: the nesting limit is the same on every version of Python."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.text import json_input
from agents.text.json_input import DEEPEST, TooDeep, is_json, read_json, read_json_strictly

NESTS = [("[", "]"), ('{"a":', "}"), ('[0,{"a":[', "]},0]")]


def nested(depth: int, opens: str, closes: str) -> str:
    """Return JSON of that depth; ``opens`` may open several levels at once."""
    times = depth // (opens.count("[") + opens.count("{"))
    return opens * times + "1" + closes * times


@pytest.mark.parametrize(("opens", "closes"), NESTS)
def test_a_depth_that_python_reads_everywhere_is_the_limit(opens: str, closes: str) -> None:
    step = opens.count("[") + opens.count("{")
    deepest = nested(DEEPEST - DEEPEST % step, opens, closes)
    assert read_json(deepest) == read_json(deepest.encode()) == json.loads(deepest)
    for depth in (DEEPEST + step, 2_000, 9_000, 120_000):
        for text in (nested(depth, opens, closes), nested(depth, opens, closes).encode()):
            with pytest.raises(TooDeep, match="nested too deeply"):
                read_json(text)


@pytest.mark.parametrize("text", ["[" * 900, "[" * 5_000, '{"a":' * 5_000, "[" * 5_000 + "]"])
def test_what_only_opens_is_no_json(text: str) -> None:
    assert not is_json(text)
    with pytest.raises(json.JSONDecodeError):
        json_input.JsonDecoder().decode(text)


def test_much_side_by_side_is_not_deep() -> None:
    wide = [[{"[": "{"}] for _ in range(5_000)]
    assert read_json(json.dumps(wide)) == wide
    assert is_json(json.dumps("[" * 5_000))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"a":1,"a":2}', "a name appears twice in one object"),
        (b'[{"x":{"a":1,"b":0,"a":1}}]', "a name appears twice in one object"),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        ("{}".encode("utf-16"), "codec can't decode"),
        (b"", "Expecting value"),
        (b"[" * 5_000, "nested too deeply|Expecting value"),
    ],
)
def test_what_is_read_strictly_has_one_meaning(raw: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_json_strictly(raw)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_all_other_json_is_read_as_ever(value: Any) -> None:
    text = json.dumps(value)
    assert read_json(text) == read_json(text.encode()) == read_json_strictly(text.encode()) == value
    assert json_input.JsonDecoder().decode(text) == value
