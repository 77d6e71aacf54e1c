"""`manage.py up`: run everything on one machine, and print a sign-in link."""

import os
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workspace.local.database import CannotRunError
from workspace.local.up import Plan, run_workspace

WORLDS = ("demo", "conformance", "none")


def _number_of_workers(text: str) -> int:
    """Parse a number from 1 to 64, for argparse."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 64:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to 64")
    return int(text)


class Command(BaseCommand):
    """Start PostgreSQL, migrate, build the world, and run web and worker until Ctrl-C."""

    help = "Run everything on this machine: database, web process and worker."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
        parser.add_argument(
            "--port",
            type=int,
            default=os.environ.get("PORT") or "8000",
            help="the port to listen on; 0: any free port (PORT)",
        )
        parser.add_argument("--state", metavar="DIR", help="the state folder (NEEDS_YOU_STATE)")
        parser.add_argument(
            "--world", choices=WORLDS, default="demo", help="the sample data to start with"
        )
        parser.add_argument("--no-worker", action="store_true", help="do not run agents here")
        parser.add_argument(
            "--workers",
            type=_number_of_workers,
            default=os.environ.get("WORKER_PROCESSES") or "1",
            help="worker processes; each uses at most one core (WORKER_PROCESSES)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # manage.py has already turned --state into NEEDS_YOU_STATE; the option is here for --help.
        workers = 0 if options["no_worker"] else options["workers"]
        plan = Plan(options["host"], options["port"], options["world"], workers)
        try:
            run_workspace(plan, self.say)
        except CannotRunError as error:
            self.stderr.write(str(error))
            raise SystemExit(error.code) from None

    def say(self, line: str) -> None:
        """Print one line immediately, also to a pipe."""
        self.stdout.write(line if line.startswith("Ready:") else f"· {line}")
        self.stdout.flush()
