"""How an agent behind somebody else's Responses server is reached, checked when it is saved."""

from __future__ import annotations

from pydantic import Field

from workspace.protocols.common.remote_settings import Address, StreamSettings


class RemoteSettings(StreamSettings):
    """A Responses server: its address, and how far it is to be trusted."""

    base_url: Address = Field(description="Where its /responses is, usually ending with /v1.")
    model: str = Field(default="", description="What requests say as model. Empty: nothing.")
    metadata: dict[str, str] = Field(
        default_factory=dict, max_length=16, description="What requests carry as metadata."
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
