"""The base of every command that only reads and writes the database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.db.retrying import database_answers
from workspace.local.database_first import NO_DATABASE

__all__ = ["NO_DATABASE", "DatabaseCommand"]


class DatabaseCommand(BaseCommand):
    """Fail with one sentence when the database does not answer, instead of after a long wait."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:  # noqa: ANN401 -- Django's
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # manage.py has already turned it into NEEDS_YOU_STATE; the option is here for --help.
        parser.add_argument("--state", metavar="DIR", help="the state folder (NEEDS_YOU_STATE)")
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:  # noqa: ANN401 -- Django's
        if not database_answers():
            raise CommandError(NO_DATABASE)
        return super().execute(*args, **options)
