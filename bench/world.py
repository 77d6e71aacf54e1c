"""A fresh database for measurements on its own server, durable as in production."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.database import TestServer

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
os.environ["NEEDS_YOU_UNDO_SECONDS"] = "0"  # a press starts its agent at once
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright leaves a loop running


@contextmanager
def server() -> Iterator[TestServer]:
    """Run a PostgreSQL for measurements, and remove it with all temporary files.

    Inside its ``fresh_database()``, Django and the processes we start use a migrated, empty database.
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
