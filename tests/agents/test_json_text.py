"""JSON from outside: the same is taken on every Python, and nothing is nested without end."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import json_text
from agents.json_text import DEEPEST, TooDeep, is_json, read, read_strictly
from workspace.state import PROJECT

NESTS = [("[", "]"), ('{"a":', "}"), ('[0,{"a":[', "]},0]")]
#: They read what we wrote ourselves; the last three are started with the standard library alone.
READ_THEIR_OWN = {
    "agents/inbox.py",
    "agents/json_text.py",
    "asks/anchoring.py",
    "asks/ledger_facts.py",
    "asks/policies.py",
    "asks/proving/anchors.py",
    "asks/proving/links.py",
    "asks/proving/single.py",
    "asks/proving/whole.py",
    "workspace/demo/eve_agents.py",
    "workspace/pages/edit_form.py",
    "workspace/pages/pane.py",
    "workspace/pages/receipts.py",
    "workspace/protocols/responses/stream.py",
    "workspace/demo/agents/brain.py",
    "workspace/demo/agents/talk.py",
    "workspace/protocols/markers/approved_tools.py",
}


def nested(depth: int, opens: str, closes: str) -> str:
    """JSON of that depth; ``opens`` may open several levels at once."""
    times = depth // (opens.count("[") + opens.count("{"))
    return opens * times + "1" + closes * times


@pytest.mark.parametrize(("opens", "closes"), NESTS)
def test_a_depth_that_python_reads_everywhere_is_the_limit(opens: str, closes: str) -> None:
    step = opens.count("[") + opens.count("{")
    deepest = nested(DEEPEST - DEEPEST % step, opens, closes)
    assert read(deepest) == read(deepest.encode()) == json.loads(deepest)
    for depth in (DEEPEST + step, 2_000, 9_000, 120_000):
        for text in (nested(depth, opens, closes), nested(depth, opens, closes).encode()):
            with pytest.raises(TooDeep, match="nested too deeply"):
                read(text)


@pytest.mark.parametrize("text", ["[" * 900, "[" * 5_000, '{"a":' * 5_000, "[" * 5_000 + "]"])
def test_what_only_opens_is_no_json(text: str) -> None:
    assert not is_json(text)
    with pytest.raises(json.JSONDecodeError):
        json_text.Decoder().decode(text)


def test_much_side_by_side_is_not_deep() -> None:
    wide = [[{"[": "{"}] for _ in range(5_000)]
    assert read(json.dumps(wide)) == wide
    assert is_json(json.dumps("[" * 5_000))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"a":1,"a":2}', "a name appears twice in one object"),
        (b'[{"x":{"a":1,"b":0,"a":1}}]', "a name appears twice in one object"),
        (b"NaN", "NaN is no JSON"),
        (b"[-Infinity]", "-Infinity is no JSON"),
        ("{}".encode("utf-16"), "codec can't decode"),
        (b"", "Expecting value"),
        (b"[" * 5_000, "nested too deeply|Expecting value"),
    ],
)
def test_what_is_read_strictly_has_one_meaning(raw: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_strictly(raw)


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
    assert read(text) == read(text.encode()) == read_strictly(text.encode()) == value
    assert json_text.Decoder().decode(text) == value


def reads_json(path: Path) -> bool:
    """Whether a file reads JSON by Python's own reader, or has a library do it."""
    called = [
        node.func
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    return any(
        call.attr == "json"
        or (call.attr in {"load", "loads"} and ast.unparse(call.value) == "json")
        for call in called
    )


def test_nothing_from_outside_is_read_in_another_way() -> None:
    files = [
        path for name in ("agents", "asks", "workspace") for path in PROJECT.glob(f"{name}/**/*.py")
    ]
    found = {str(path.relative_to(PROJECT)) for path in files if reads_json(path)}
    assert found == READ_THEIR_OWN
