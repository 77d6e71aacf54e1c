"""The base of every command that only reads and writes the database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.db.retrying import database_answers

NO_DATABASE = (
    "The database does not answer: start it with `manage.py up`, name its state folder with --state, "
    "or name another database with DATABASE_URL."
)


class DatabaseCommand(BaseCommand):
    """Fail with one sentence when the database does not answer, instead of after a long wait."""

    def execute(self, *args: Any, **options: Any) -> str | None:  # noqa: ANN401 -- Django's
        if not database_answers():
            raise CommandError(NO_DATABASE)
        return super().execute(*args, **options)
