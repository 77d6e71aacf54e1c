"""Settings of an agent behind a remote Responses server, validated when they are saved."""

from __future__ import annotations

from pydantic import Field

from workspace.protocols.common.remote_settings import Address, StreamSettings


class RemoteSettings(StreamSettings):
    """The address of a Responses server, and what it is trusted to do."""

    base_url: Address = Field(description="Base URL of its /responses, usually ending with /v1.")
    model: str = Field(default="", description="Model named in requests. Empty: none.")
    metadata: dict[str, str] = Field(
        default_factory=dict, max_length=16, description="Metadata sent with requests."
    )
    background: bool = Field(
        default=False,
        description="Request background responses, which strict servers require for reconnecting.",
    )
    poll: bool = Field(default=False, description="Poll instead of streaming.")
    idempotent: bool = Field(
        default=False,
        description="The server returns the same response to the same answer, or to the same "
        "Idempotency-Key, as Needs You does. A request that may be lost is then sent again; "
        "otherwise the owner is asked first.",
    )
    poll_seconds: float = Field(default=1.0, gt=0, le=60)
