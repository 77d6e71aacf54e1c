"""The Ed25519 key that signs anchors and exports: kept in the state folder, its public half printable.

A database owner who cannot read the state folder cannot sign. ``LEDGER_TRUSTED_KEYS`` names the
public keys of other machines that anchor in the same database.
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
    """This machine's key, made on first use, readable by its owner only."""
    path = _path()
    if not path.exists():
        _make(path)
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text().strip()))


def _path() -> Path:
    return Path(settings.STATE_DIR) / FILE


def _make(path: Path) -> None:
    """Whole or not at all, and never over a key that another process has just made."""
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
    """The public half in hex."""
    return key.public_key().public_bytes_raw().hex()


def trusted_keys() -> frozenset[str]:
    """The public keys whose signatures count here: this machine's, and those the settings name."""
    own = {public_key_of(signing_key())} if _path().exists() else set()
    return frozenset(own | set(settings.LEDGER_TRUSTED_KEYS))


def is_signed(message: bytes, *, signature: str, public_key: str) -> bool:
    """Whether a signature is valid. Hex has one spelling only: lower case, no spaces."""
    try:
        key, signed = bytes.fromhex(public_key), bytes.fromhex(signature)
        if key.hex() != public_key or signed.hex() != signature:
            return False
        Ed25519PublicKey.from_public_bytes(key).verify(signed, message)
    except (ValueError, InvalidSignature):
        return False
    return True
