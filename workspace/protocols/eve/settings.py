"""Settings of an agent of the runtime ``eve``, checked when the agent is saved."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from workspace.toolkit.agents import WHERE


def _where(text: str) -> str:
    if not WHERE.match(text):
        raise ValueError("write package.module:name")
    return text


class EveSettings(BaseModel):
    """An agent that is defined in Python and run by pydantic-ai with any of its models."""

    model_config = ConfigDict(extra="forbid")

    agent: Annotated[str, AfterValidator(_where)] = Field(
        description="Where the agent is defined: package.module:name."
    )
    model: str = Field(
        default="",
        description="A model as pydantic-ai names it, such as openai:gpt-5; its key comes from the "
        "worker's environment. Empty: the one of the definition.",
    )
    max_steps: int = Field(default=40, ge=1, le=1000, description="The most model calls of a turn.")
    max_attempts: int = Field(
        default=4, ge=1, le=50, description="After so many failures in a row it is given up."
    )
    wall_clock_seconds: float = Field(default=1800, gt=0, le=86_400)
