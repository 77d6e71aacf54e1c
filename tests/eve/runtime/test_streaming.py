"""A model that is heard while it speaks: in pieces, in order, and whole in the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from tests.eve.runtime.world import (
    approve,
    last_report,
    noted,
    open_asks,
    say,
    session_for,
    types,
)
from workspace.protocols.common import model_registry
from workspace.protocols.eve.agent import reporter

pytestmark = pytest.mark.django_db
WORDS = ["I ", "found ", "ch_1", "."]


async def speak(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    for word in WORDS:
        yield word
    if not any(part.part_kind == "tool-return" for part in messages[-1].parts):
        yield {
            0: DeltaToolCall(name="refund", json_args='{"charge_id": "ch_1",', tool_call_id="c1")
        }
        yield {0: DeltaToolCall(json_args=' "amount": 1.5}')}


@pytest.fixture
def session(owner: User) -> Any:
    model_registry.register_model(
        "speaker", lambda: FunctionModel(stream_function=speak, model_name="speaker")
    )
    return session_for(owner, model="speaker")


def test_what_is_heard_in_pieces_is_told_whole(
    session: Any, owner: User, effects: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter, "EVERY", 0.0)
    say(session, owner)
    assert [one["messageDelta"] for one in noted(session, "message.appended")] == WORDS
    (whole,) = noted(session, "message.completed")
    assert (whole["message"], whole["finishReason"]) == ("I found ch_1.", "tool-calls")
    approve(open_asks(session)[0], owner)
    assert effects == [("refund", "ch_1", 1.5, "EUR")]
    assert last_report(session) == "I found ch_1."


def test_pieces_that_come_quickly_are_told_together(
    session: Any, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter, "EVERY", 3600.0)
    say(session, owner)
    told = [one["messageDelta"] for one in noted(session, "message.appended")]
    assert told == ["I ", "found ch_1."]
    assert types(session) == [
        "step.started",
        "message.appended",
        "message.appended",
        "message.completed",
        "step.completed",
    ]
