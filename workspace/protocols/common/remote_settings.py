"""How somebody else's server is reached, and how far it is trusted: the settings all of them have."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MEGABYTE = 1024 * 1024


def address(url: str) -> str:
    """An http address without a slash at its end. Raises ValueError for anything else."""
    if not url.startswith(("http://", "https://")):
        raise ValueError("give an address that starts with http:// or https://")
    return url.rstrip("/")


Address = Annotated[str, AfterValidator(address)]


class ServerSettings(BaseModel):
    """A server: its address, its key, and how often and how long it is tried."""

    model_config = ConfigDict(extra="forbid")

    base_url: Address
    key_variable: str = Field(
        default="",
        description="The worker's environment variable that holds the server's bearer key.",
    )
    wall_clock_seconds: float = Field(
        default=1800, gt=0, le=86_400, description="The longest a turn may take."
    )
    max_attempts: int = Field(
        default=6, ge=1, le=100, description="After so many failures in a row it is given up."
    )


class StreamSettings(ServerSettings):
    """A server that tells what happens while it happens."""

    input: str = Field(
        default="",
        description="What it is told when its schedule or a person starts it. Empty: its mission.",
    )
    silence_seconds: float = Field(
        default=60, gt=0, le=3600, description="After so long without a byte it is called again."
    )
    patience_seconds: float = Field(
        default=120, gt=0, le=3600, description="How long it may be away before the turn fails."
    )
    max_bytes: int = Field(
        default=32 * MEGABYTE, ge=1024, description="The most that one turn may send us."
    )
