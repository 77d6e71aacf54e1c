"""Keep the Ed25519 key that signs anchors and exports in the state folder.

A database owner who cannot read the state folder cannot sign. ``LEDGER_TRUSTED_KEYS`` names the
public keys of other machines that write anchors to the same database.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

FILE = "ledger_key"


def signing_key() -> Ed25519PrivateKey:
    """Return this machine's key. Create it on first use, readable by its owner only."""
    path = _path()
    if not path.exists():
        _make(path)
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text().strip()))


def _path() -> Path:
    return Path(settings.STATE_DIR) / FILE


def _make(path: Path) -> None:
    """Create the key file atomically. Keep the key of a process that was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(Ed25519PrivateKey.generate().private_bytes_raw().hex() + "\n")
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()


def public_key_of(key: Ed25519PrivateKey) -> str:
    """Return the public key in hex."""
    return key.public_key().public_bytes_raw().hex()


def trusted_keys() -> frozenset[str]:
    """Return the trusted public keys: this machine's and those in ``LEDGER_TRUSTED_KEYS``."""
    own = {public_key_of(signing_key())} if _path().exists() else set()
    return frozenset(own | set(settings.LEDGER_TRUSTED_KEYS))


def is_signed(message: bytes, *, signature: str, public_key: str) -> bool:
    """Check a signature. Both hex strings must be lower case and without spaces."""
    try:
        key, signed = bytes.fromhex(public_key), bytes.fromhex(signature)
        if key.hex() != public_key or signed.hex() != signature:
            return False
        Ed25519PublicKey.from_public_bytes(key).verify(signed, message)
    except (ValueError, InvalidSignature):
        return False
    return True
