"""What measurements stand on: a fresh database on a server of its own, durable as in production."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.database import TestServer

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright leaves a loop running


@contextmanager
def server() -> Iterator[TestServer]:
    """A PostgreSQL for measurements. Its ``fresh_database()`` is one that Django here and the
    processes we start are pointed at, migrated and empty. Nothing temporary stays.
    """
    import django

    from workspace.local.postgres.instance import LocalPostgres

    django.setup()
    from tests.database import TestServer
    from tests.temporary import one_temporary_folder

    with one_temporary_folder() as temporary:
        server = TestServer()
        server.folder = temporary / "postgres"
        if server._private is not None:
            server._private = LocalPostgres(server.folder)
        server.start()
        try:
            yield server
        finally:
            server.leave()
