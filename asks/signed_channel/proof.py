"""The proof that a person signed a decision. The ledger stores it with the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Proof:
    """A verified SSH signature. Only ``asks.signed_channel.decision_files`` creates one.

    ``document`` is the exact text that was signed and ``signature`` the armoured signature over it.
    ``allowed_signers_sha256`` is the hex digest of the allowed-signers file at the time of the check.
    """

    principal: str
    namespace: str
    document: str
    signature: str
    allowed_signers_sha256: str

    def facts(self) -> dict[str, str]:
        return asdict(self)
