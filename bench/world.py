"""What measurements stand on: a fresh database on a server of its own, durable as in production."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright leaves a loop running


@contextmanager
def fresh_database() -> Iterator[None]:
    """A migrated, empty database that Django here and the processes we start are pointed at."""
    import django

    from workspace.postgres import LocalPostgres

    django.setup()
    from tests.database import TestServer

    server = TestServer()
    if server._private is not None:
        server.folder = server.folder.with_name(server.folder.name + "-bench")
        server._private = LocalPostgres(server.folder)
    server.start()
    try:
        with server.fresh_database():
            yield
    finally:
        server.leave()
