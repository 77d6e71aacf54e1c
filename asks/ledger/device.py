"""From what class of device the present request comes: phone, desktop or api. Kept coarse on purpose.

The workspace says it once per request; the ledger reads it. Nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_device: ContextVar[str] = ContextVar("device", default="")


def current_device() -> str:
    """The device class of what is being done now; empty when nobody said."""
    return _device.get()


@contextmanager
def acting_from(device: str) -> Iterator[None]:
    """Everything inside is done from this class of device."""
    token = _device.set(device)
    try:
        yield
    finally:
        _device.reset(token)
