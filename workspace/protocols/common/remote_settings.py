"""Settings that every remote server has: its address, its key, and the limits on it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MEGABYTE = 1024 * 1024


def address(url: str) -> str:
    """Return an http(s) address without its trailing slash. Raises ValueError for any other."""
    if not url.startswith(("http://", "https://")):
        raise ValueError("give an address that starts with http:// or https://")
    return url.rstrip("/")


Address = Annotated[str, AfterValidator(address)]


class ServerSettings(BaseModel):
    """The address and key of a server, and the limits on a turn with it."""

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
        default=6, ge=1, le=100, description="Give up after this many failures in a row."
    )


class StreamSettings(ServerSettings):
    """A server that streams what its agent does."""

    input: str = Field(
        default="",
        description="Message to send when a schedule or a person starts it. Empty: its mission.",
    )
    silence_seconds: float = Field(
        default=60, gt=0, le=3600, description="Reconnect after this long without a byte."
    )
    patience_seconds: float = Field(
        default=120,
        gt=0,
        le=3600,
        description="How long it may be unreachable before the turn fails.",
    )
    max_bytes: int = Field(
        default=32 * MEGABYTE, ge=1024, description="The most that a turn may receive."
    )
