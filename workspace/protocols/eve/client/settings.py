"""Settings of an agent behind a remote eve server, validated when they are saved."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from workspace.protocols.common.remote_settings import Address, StreamSettings


class EveRemoteSettings(StreamSettings):
    """The address of an eve server, and how long to wait for it."""

    base_url: Annotated[
        Address, AfterValidator(lambda url: url.removesuffix("/eve/v1").rstrip("/"))
    ] = Field(description="The server's address, with or without /eve/v1.")
    silence_seconds: float = Field(
        default=20,
        gt=0,
        le=3600,
        description="Reconnect after this long without a byte, not even a heartbeat.",
    )
    settle_seconds: float = Field(
        default=0.5,
        gt=0,
        le=30,
        description="Silence after which a stream counts as read completely.",
    )
    watch_seconds: float = Field(
        default=30,
        ge=1,
        le=86_400,
        description="How often to check a waiting session: it may be answered at the agent's side.",
    )
