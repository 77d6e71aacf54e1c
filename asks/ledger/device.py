"""Keep the device class of the current request: phone, desktop or api. It is coarse on purpose.

The workspace sets it once per request and the ledger records it. No decision depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_device: ContextVar[str] = ContextVar("device", default="")


def current_device() -> str:
    """Return the device class of the current request, or an empty string if none is set."""
    return _device.get()


@contextmanager
def acting_from(device: str) -> Iterator[None]:
    """Set the device class for everything inside the ``with`` block."""
    token = _device.set(device)
    try:
        yield
    finally:
        _device.reset(token)
