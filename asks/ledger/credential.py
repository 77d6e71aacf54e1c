"""Keep the API key of the current request, so that what it approves ends when the key is revoked.

The workspace clears it once per request and sets it when it has checked a key. A credential is text,
such as ``key:12``, because keys belong to the layer above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_credential: ContextVar[str] = ContextVar("credential", default="")
Holder = Callable[[Sequence[str]], bool]
_holders: list[Holder] = []


def current_credential() -> str:
    """Return the credential of the current request, or an empty string if it has none."""
    return _credential.get()


def act_with(credential: str) -> None:
    """Set the credential for the rest of the request."""
    _credential.set(credential)


@contextmanager
def forgetting_credential() -> Iterator[None]:
    """Begin without a credential, and forget the one that is set inside the ``with`` block."""
    token = _credential.set("")
    try:
        yield
    finally:
        _credential.reset(token)


def register_holder(holder: Holder) -> None:
    """Register what holds credentials: it tells whether all of them are valid.

    Inside a transaction, it keeps them so until the transaction ends.
    """
    _holders[:] = [holder]


def hold_credentials(credentials: Sequence[str]) -> bool:
    """Whether all credentials are valid. Without anything that could tell, none is."""
    return all(holder(credentials) for holder in _holders) if _holders else not credentials
