"""`manage.py signin_link USER`: print a one-time sign-in link."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from workspace.accounts.sign_in_links import issue_path
from workspace.local.address import base_url
from workspace.management.database_command import DatabaseCommand


class Command(DatabaseCommand):
    """Print a one-time sign-in link on the last line."""

    help = "Print a one-time sign-in link for a user."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the user name")
        parser.add_argument(
            "--base-url", default=base_url(), help="the address of the web server (%(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {options['user']}.")
        self.stdout.write(options["base_url"].rstrip("/") + issue_path(user))
