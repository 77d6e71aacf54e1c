"""What every runtime does alike: settings that cannot be used, and a key that is not there."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Given, Turn
from tests.leaf.world import ITEM
from tests.markers.turns import a_turn
from workspace.protocols.eve.agent.runtime import EveRuntime
from workspace.protocols.eve.client.runtime import RemoteEveRuntime
from workspace.protocols.eve.client.snapshot import EveSnapshot as EveKnown
from workspace.protocols.leaf.agent.runtime import LeafRuntime
from workspace.protocols.leaf.client.runtime import RemoteLeafRuntime
from workspace.protocols.markers.runtime import MarkersRuntime
from workspace.protocols.responses.agent.runtime import ResponsesRuntime
from workspace.protocols.responses.client.runtime import RemoteResponsesRuntime
from workspace.protocols.responses.client.snapshot import ResponsesSnapshot as ResponsesKnown

EVERY = (
    MarkersRuntime(),
    EveRuntime(),
    LeafRuntime(),
    ResponsesRuntime(),
    RemoteEveRuntime(),
    RemoteLeafRuntime(),
    RemoteResponsesRuntime(),
)


def _finds(known: object) -> Callable[..., Awaitable[Any]]:
    async def read(*_: object) -> object:
        return known

    return read


REMOTE = (
    RemoteEveRuntime(_finds(EveKnown())),
    RemoteLeafRuntime(),
    RemoteResponsesRuntime(_finds(ResponsesKnown())),
)


async def _end(runtime: Any, turn: Turn) -> Ended:
    async with aclosing(runtime.take_turn(turn)) as events:
        told = [event async for event in events]
    ended = told[-1]
    assert isinstance(ended, Ended)
    return ended


@pytest.mark.parametrize("runtime", EVERY, ids=lambda one: str(one.key))
async def test_unusable_settings_name_the_field_and_are_not_tried_again(runtime: Any) -> None:
    settings = {name: "x" for name, field in runtime.settings_model.model_fields.items()}
    ended = await _end(runtime, a_turn(settings={**settings, "no_such_setting": 1}))
    assert (ended.outcome, ended.give_up) == (Outcome.RETRYABLE_ERROR, True)
    words, _, problem = ended.error.partition(". ")
    assert words == "The agent's settings are not usable"
    assert problem.partition(":")[0].partition(".")[0] in settings


@pytest.mark.parametrize("runtime", REMOTE, ids=lambda one: str(one.key))
async def test_a_key_that_is_not_there_is_named_and_nothing_is_sent(
    runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THEIR_KEY", raising=False)
    settings = {"base_url": "http://127.0.0.1:9", "key_variable": "THEIR_KEY"}
    told = Given("message", "olivia", json.dumps(ITEM))
    ended = await _end(runtime, a_turn(settings=settings, given=(told,)))
    assert (ended.outcome, ended.give_up) == (Outcome.RETRYABLE_ERROR, True)
    assert ended.error == "The worker's environment has no THEIR_KEY, which holds the key."


@pytest.mark.parametrize("runtime", REMOTE, ids=lambda one: str(one.key))
@pytest.mark.parametrize(
    ("given", "kept"),
    [("http://there/", "http://there"), ("ftp://there", None), ("there", None), ("", None)],
)
def test_an_address_is_an_http_address(runtime: Any, given: str, kept: str | None) -> None:
    if kept is None:
        with pytest.raises(ValueError, match="http:// or https://"):
            runtime.settings_model(base_url=given)
    else:
        assert runtime.settings_model(base_url=given).base_url == kept
