"""Prepare the database: check that it answers, migrate it, and build the world."""

from collections.abc import Callable

import psycopg
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connections
from django.db.backends.postgresql.base import DatabaseWrapper

from workspace.local.postgres.binaries import OLDEST_MAJOR

HINTS = ("Is the server running", "Multiple connection attempts failed")
MIGRATING = 0x6E65656479  # an arbitrary key of an advisory lock


class CannotRunError(Exception):
    """Needs You cannot start. The text is one sentence; ``code`` is the exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def check_database(url: str) -> None:
    """Raise CannotRunError when the database does not answer or is too old."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        raise CannotRunError(
            f"The database of DATABASE_URL cannot be reached: {_reason(error)}."
        ) from None
    if version < OLDEST_MAJOR * 10_000:
        raise CannotRunError(
            f"The database of DATABASE_URL is PostgreSQL {version // 10_000}, "
            f"and Needs You needs {OLDEST_MAJOR} or newer."
        )


def prepare_database(url: str, world: str, say: Callable[[str], None]) -> None:
    """Migrate the database and build the world. Processes that start at once take turns."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [MIGRATING])
        say("Migrating the database")
        try:
            call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
        except DatabaseError as error:
            raise CannotRunError(f"The database refused to migrate: {_reason(error)}.") from error
        if world != "none":
            say(f"Building the {world} world")
            call_command("build_world", world)
        elif not get_user_model().objects.exists():
            say("Making the first owner, “owner”")
            call_command("build_world", "none")


def disconnect() -> None:
    """Close this thread's connection and the pool behind it."""
    connection = connections["default"]
    connection.close()
    if isinstance(connection, DatabaseWrapper):
        connection.close_pool()


def _reason(error: Exception) -> str:
    """Return the line with the reason out of the several that PostgreSQL's client writes."""
    lines = [line.strip(" \t-") for line in str(error).splitlines()]
    reasons = [line for line in lines if line and not line.startswith(HINTS)]
    return (reasons or ["no reason given"])[0].rstrip(".")
