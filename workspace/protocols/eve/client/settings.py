"""How an agent behind somebody else's eve server is reached, checked when it is saved."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from workspace.protocols.common.remote_settings import Address, StreamSettings


class EveRemoteSettings(StreamSettings):
    """An eve server: its address, and how far it is to be trusted."""

    base_url: Annotated[
        Address, AfterValidator(lambda url: url.removesuffix("/eve/v1").rstrip("/"))
    ] = Field(description="The server's address; its /eve/v1 may be left out.")
    silence_seconds: float = Field(
        default=20,
        gt=0,
        le=3600,
        description="After so long without a byte, not even a heartbeat, it is called again.",
    )
    settle_seconds: float = Field(
        default=0.5, gt=0, le=30, description="How long a stream is quiet when all of it was read."
    )
    watch_seconds: float = Field(
        default=30,
        ge=1,
        le=86_400,
        description="How often it is looked at while it waits: somebody may answer there.",
    )
