"""`manage.py worker`: run the agents. Start any number of workers, on any number of machines."""

import asyncio
import logging
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspace.worker import run_worker


def in_one_line(record: logging.LogRecord) -> bool:
    """Shorten a log record of the queue to one line, without its traceback."""
    if record.name.startswith("procrastinate"):
        record.msg, record.args = " ".join(record.getMessage().split()), ()
        record.exc_info = None
    return True


class Command(BaseCommand):
    """Work in the foreground until SIGTERM or Ctrl-C."""

    help = "Run the agents."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--concurrency", type=int, default=8, help="the maximum number of simultaneous runs"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["concurrency"] < 1:
            raise CommandError("--concurrency must be at least 1.")
        for name in ("procrastinate", "psycopg.pool"):
            logging.getLogger(name).setLevel(logging.ERROR)
        for handler in logging.getLogger().handlers:
            handler.addFilter(in_one_line)
        asyncio.run(run_worker(options["concurrency"], self._say))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
