"""Settings of a leaf agent, checked when the agent is saved."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from workspace.protocols.common.remote_settings import Address, ServerSettings


def _folder(path: str) -> str:
    if path and (not path.startswith("/") or "\0" in path or ".." in path.split("/")):
        raise ValueError("give the whole path of the folder, starting with /")
    return path.rstrip("/") if len(path) > 1 else path


Folder = Annotated[str, AfterValidator(_folder)]


class _Files(BaseModel):
    model_config = ConfigDict(extra="forbid")

    volume: Folder = Field(
        default="", description="The shared folder of the files dialect. Empty: not served."
    )
    volume_known_as: Folder = Field(
        default="", description="The path by which the other side knows it, if another: /work."
    )


class LeafSettings(_Files):
    """An agent that we run, with any model of pydantic-ai."""

    model: str = Field(
        default="scripted",
        description="A model as pydantic-ai names it, such as openai:gpt-5; its key comes from the "
        "worker's environment. “scripted” needs no network.",
    )
    models: dict[str, str] = Field(
        default_factory=dict,
        description="Other models that an envelope may ask for, by the name it uses.",
    )
    workspace: Folder = Field(
        default="", description="The folder whose files the agent may read. Empty: no read tool."
    )
    max_turns: int = Field(default=40, ge=1, le=1000, description="The most model calls of a turn.")
    max_attempts: int = Field(
        default=4, ge=1, le=50, description="After so many failures in a row it is given up."
    )
    wall_clock_seconds: float = Field(default=1800, gt=0, le=86_400)


class RemoteLeafSettings(ServerSettings, _Files):
    """A leaf harness that somebody else runs."""

    base_url: Address = Field(description="Where its /runs is.")
    dialect: Literal["inline", "files"] = "inline"
    asynchronous: bool = Field(default=False, description="Send async: true and poll its status.")
    model: str = Field(default="", description="What an envelope's model says.")
    poll_seconds: float = Field(default=0.5, gt=0, le=60)
    settle_seconds: float = Field(
        default=30,
        gt=0,
        le=3600,
        description="How long a harness may go on saying “paused” after a decision was sent.",
    )
    max_attempts: int = Field(
        default=8, ge=1, le=100, description="After so many failures in a row it is given up."
    )
