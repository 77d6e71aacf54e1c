"""A billing agent, its owner's words and answers, and turns carried in the test's own transaction."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any, cast

from django.contrib.auth.models import User
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents import messages
from agents.lifecycle import AgentState
from agents.models import Agent, Event, Session
from agents.registration import open_session, register_agent
from agents.running.runtime import Ended
from asks.lifecycle import AskStatus
from asks.models import Ask
from tests.factories import verdict_on
from tests.leaf import world as leaf
from tests.leaf.world import in_this_thread
from workspace.protocols.common import model_registry
from workspace.protocols.eve.agent.runtime import EveRuntime

__all__ = ["in_this_thread"]

WHERE = "tests.eve.runtime.agents:billing"
Part = ToolCallPart | TextPart | Exception
_ids = itertools.count(1)


def call(name: str, call_id: str = "", **given: Any) -> ToolCallPart:
    """A call of a tool as a model makes it."""
    return ToolCallPart(name, given, tool_call_id=call_id or f"call_{next(_ids)}")


def question(prompt: str = "Which ledger?", call_id: str = "", **more: Any) -> ToolCallPart:
    return call("ask_question", call_id, prompt=prompt, **more)


class Brain:
    """A model that plays responses in turn, and remembers what it was shown.

    Each response is a list of parts; an exception is raised instead. After the last it says "Done.".
    """

    def __init__(self, *responses: Sequence[Part]) -> None:
        self.name = f"brain-{next(_ids)}"
        self._responses = list(responses)
        self.shown: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []
        model_registry.register_model(
            self.name, lambda: FunctionModel(self._play, model_name=self.name)
        )

    @property
    def calls(self) -> int:
        return len(self.shown)

    def _play(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.shown.append(list(messages))
        self.infos.append(info)
        done: Sequence[Part] = [TextPart("Done.")]
        parts = self._responses.pop(0) if self._responses else done
        for part in parts:
            if isinstance(part, Exception):
                raise part
        return ModelResponse(parts=cast("Any", list(parts)))

    def told(self) -> dict[str, Any]:
        """What each call gave back, as the model was shown it last."""
        return {
            part.tool_call_id: part.content
            for message in self.shown[-1]
            for part in message.parts
            if part.part_kind == "tool-return"
        }

    def heard(self) -> list[str]:
        """The prompts, as the model was shown them last."""
        return [
            str(part.content)
            for message in self.shown[-1]
            for part in message.parts
            if part.part_kind == "user-prompt"
        ]


def eve_agent(owner: User, brain: Brain | None = None, slug: str = "billing", **more: Any) -> Agent:
    settings = {"agent": WHERE, **({"model": brain.name} if brain else {}), **more}
    return register_agent(
        slug=slug,
        owners=[owner],
        runtime_key="eve",
        settings=settings,
        lifecycle=AgentState.ACTIVE,
    )


def session_for(owner: User, brain: Brain | None = None, **more: Any) -> Session:
    return open_session(eve_agent(owner, brain, **more))


def say(session: Session, by: User, text: str = "Go.") -> list[Ended]:
    """Words of the owner, and every turn that comes of them."""
    messages.post_message(session_id=session.pk, by=by, text=text)
    return carry_all()


def carry_all() -> list[Ended]:
    return leaf.carry_all(taker=EveRuntime(read=in_this_thread, once=in_this_thread))


def open_asks(session: Session) -> list[Ask]:
    return list(Ask.objects.filter(session=session, status=AskStatus.OPEN).order_by("pk"))


def approve(asked: Ask, by: User, text: str = "") -> list[Ended]:
    return decide(asked, by, "approve", text)


def deny(asked: Ask, by: User, text: str = "") -> list[Ended]:
    return decide(asked, by, "deny", text)


def decide(asked: Ask, by: User, option: str, text: str = "") -> list[Ended]:
    """An answer by an option's key, and every turn that comes of it."""
    verdict_on(asked, by, option=option, text=text)
    return carry_all()


def noted(session: Session, kind: str = "") -> list[dict[str, Any]]:
    """What the protocol's door is told: all of it, or the data of one type."""
    events = Event.objects.filter(session=session, kind="noted").order_by("seq")
    told = [event.data for event in events if event.data["kind"] == "eve"]
    return [one["data"] for one in told if one["type"] == kind] if kind else told


def types(session: Session) -> list[str]:
    return [one["type"] for one in noted(session)]


def last_report(session: Session) -> str:
    report = Event.objects.filter(session=session, kind="summary").order_by("-seq").first()
    return report.text if report else ""


def as_json(value: object) -> str:
    return json.dumps(value)
