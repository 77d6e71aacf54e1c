"""Refuse a command whose database does not answer, before anything is loaded or made. No Django here."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Sequence

import psycopg

NO_DATABASE = (
    "The database does not answer: start it with `manage.py up`, name its state folder with --state, "
    "or name another database with DATABASE_URL."
)
SECONDS = 3

#: Commands that need no database. `up` starts one.
WITHOUT = frozenset(
    {"check", "collectstatic", "compilemessages", "diffsettings", "findstatic", "help"}
    | {"makemessages", "startapp", "startproject", "test", "up", "version"}
)
HELP = frozenset({"-h", "--help", "--version"})


def refuse_without_database(arguments: Sequence[str], *, supervised: bool) -> None:
    """Exit with one sentence if the command needs a database and there is none.

    What `up` supervises waits for the database instead. A command that needs none makes no key.
    """
    if supervised or _is_up(arguments):
        return
    if not needs_database(arguments):
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))
    elif not _answers(_url()):
        sys.exit(f"CommandError: {NO_DATABASE}")


def needs_database(arguments: Sequence[str]) -> bool:
    """Whether a command line, from the program's name on, is one that reads the database."""
    ours = list(arguments[1:])
    ours = ours[: ours.index("--")] if "--" in ours else ours
    return bool(ours) and ours[0] not in WITHOUT and not HELP & set(ours)


def _is_up(arguments: Sequence[str]) -> bool:
    return arguments[1:2] == ["up"] and not HELP & set(arguments)


def _url() -> str:
    from workspace.local.postgres import instance

    return os.environ.get("DATABASE_URL") or instance.database_url(instance.state_dir())


def _answers(url: str) -> bool:
    """Whether the database accepts a connection. What is no such URL is refused by the settings."""
    try:
        psycopg.connect(url, connect_timeout=SECONDS).close()
    except psycopg.OperationalError:
        return False
    except psycopg.Error:
        return True
    return True
