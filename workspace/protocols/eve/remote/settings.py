"""How an agent behind somebody else's eve server is reached, checked when it is saved."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MEGABYTE = 1024 * 1024


def _address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("give an address that starts with http:// or https://")
    return url.rstrip("/").removesuffix("/eve/v1")


class EveRemoteSettings(BaseModel):
    """An eve server: its address, and how far it is to be trusted."""

    model_config = ConfigDict(extra="forbid")

    base_url: Annotated[str, AfterValidator(_address)] = Field(
        description="The server's address; its /eve/v1 may be left out."
    )
    key_variable: str = Field(
        default="",
        description="The worker's environment variable that holds the server's bearer key.",
    )
    input: str = Field(
        default="",
        description="What it is told when its schedule or a person starts it. Empty: its mission.",
    )
    silence_seconds: float = Field(
        default=20,
        gt=0,
        le=3600,
        description="After so long without a byte, not even a heartbeat, it is called again.",
    )
    settle_seconds: float = Field(
        default=0.5, gt=0, le=30, description="How long a stream is quiet when all of it was read."
    )
    patience_seconds: float = Field(
        default=120, gt=0, le=3600, description="How long it may be away before the turn fails."
    )
    watch_seconds: float = Field(
        default=30,
        ge=1,
        le=86_400,
        description="How often it is looked at while it waits: somebody may answer there.",
    )
    wall_clock_seconds: float = Field(
        default=1800, gt=0, le=86_400, description="The longest a turn may take."
    )
    max_bytes: int = Field(
        default=32 * MEGABYTE, ge=1024, description="The most that one turn may send us."
    )
    max_attempts: int = Field(
        default=6, ge=1, le=100, description="After so many failures in a row it is given up."
    )
