"""How an agent behind somebody else's Responses server is reached, checked when it is saved."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MEGABYTE = 1024 * 1024


def _address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("give an address that starts with http:// or https://")
    return url.rstrip("/")


class RemoteSettings(BaseModel):
    """A Responses server: its address, and how far it is to be trusted."""

    model_config = ConfigDict(extra="forbid")

    base_url: Annotated[str, AfterValidator(_address)] = Field(
        description="Where its /responses is, usually ending with /v1."
    )
    key_variable: str = Field(
        default="",
        description="The worker's environment variable that holds the server's bearer key.",
    )
    model: str = Field(default="", description="What requests say as model. Empty: nothing.")
    metadata: dict[str, str] = Field(
        default_factory=dict, max_length=16, description="What requests carry as metadata."
    )
    input: str = Field(
        default="",
        description="What it is asked when its schedule or a person starts it. Empty: its mission.",
    )
    background: bool = Field(
        default=False,
        description="Ask for background responses, which strict servers need for a reconnect.",
    )
    poll: bool = Field(default=False, description="Never stream; look again and again instead.")
    idempotent: bool = Field(
        default=False,
        description="It gives the same response to the same answer, or to the same "
        "Idempotency-Key, as Needs You does. Then what may have been lost is simply sent again; "
        "otherwise its owner is asked first.",
    )
    poll_seconds: float = Field(default=1.0, gt=0, le=60)
    silence_seconds: float = Field(
        default=60, gt=0, le=3600, description="After so long without a byte it is called again."
    )
    patience_seconds: float = Field(
        default=120, gt=0, le=3600, description="How long it may be away before the turn fails."
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
