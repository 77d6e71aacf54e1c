"""`manage.py up`: everything on one machine, and a link to sign in with."""

import os
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workspace.local.database import CannotRunError
from workspace.local.up import Plan, run_workspace

WORLDS = ("demo", "conformance", "none")


def _number_of_workers(text: str) -> int:
    """A number from 1 to 64, for argparse."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 64:
        raise ArgumentTypeError(f"{text!r} is no number from 1 to 64")
    return int(text)


class Command(BaseCommand):
    """Start PostgreSQL, migrate, build the world, run web and worker until Ctrl-C."""

    help = "Run everything on this machine: database, web process and worker."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
        parser.add_argument(
            "--port", type=int, default=os.environ.get("PORT") or "8000", help="0: any free one"
        )
        parser.add_argument("--state", metavar="DIR", help="the state folder (NEEDS_YOU_STATE)")
        parser.add_argument("--world", choices=WORLDS, default="demo", help="what to start with")
        parser.add_argument("--no-worker", action="store_true", help="run no agents here")
        parser.add_argument(
            "--workers",
            type=_number_of_workers,
            default=os.environ.get("WORKER_PROCESSES") or "1",
            help="worker processes, each of which fills one core at the most (WORKER_PROCESSES)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # `--state` was turned into NEEDS_YOU_STATE by manage.py, before the settings were read.
        workers = 0 if options["no_worker"] else options["workers"]
        plan = Plan(options["host"], options["port"], options["world"], workers)
        try:
            run_workspace(plan, self.say)
        except CannotRunError as error:
            self.stderr.write(str(error))
            raise SystemExit(error.code) from None

    def say(self, line: str) -> None:
        """Print one line at once, also into a pipe."""
        self.stdout.write(line if line.startswith("Ready:") else f"· {line}")
        self.stdout.flush()
