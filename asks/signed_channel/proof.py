"""What shows that a person signed a decision: kept in the ledger with the verdict it led to."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Proof:
    """A verified SSH signature. ``asks.signed_channel.decision_files`` alone makes one.

    ``document`` is the exact text that was signed, ``signature`` the armoured signature over it,
    ``allowed_signers_sha256`` the digest of the file that named the signer when it was verified.
    """

    principal: str
    namespace: str
    document: str
    signature: str
    allowed_signers_sha256: str

    def facts(self) -> dict[str, str]:
        return asdict(self)
