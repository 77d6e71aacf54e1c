"""`manage.py signin_link USER`: a link that signs one person in, once."""

import os
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspace.accounts.sign_in_links import issue_path


class Command(BaseCommand):
    """Print a one-time sign-in link, alone on the last line."""

    help = "Print a link that signs one person in, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the person's user name")
        here = f"http://127.0.0.1:{os.environ.get('PORT') or 8000}"
        parser.add_argument("--base-url", default=here, help=f"where the web server is ({here})")

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {options['user']}.")
        self.stdout.write(options["base_url"].rstrip("/") + issue_path(user))
