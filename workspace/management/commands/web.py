"""`manage.py web`: run the web process with pages and live streams."""

import contextlib
import os
import socket
from typing import Any

from daphne.cli import CommandLineInterface
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspace.local.lock import InstanceLock
from workspace.local.port import PortError, address_for_people, open_port

CLOSE_SECONDS = "2"  # before a socket's consumer is cancelled


class Command(BaseCommand):
    """Serve Needs You with daphne, in the foreground."""

    help = "Serve the pages and the live streams."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
        parser.add_argument(
            "--port", type=int, default=os.environ.get("PORT") or "8000", help="(PORT)"
        )
        parser.add_argument(
            "--fd", type=int, help="the descriptor of a listening socket to use instead"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["fd"] is not None:
            serve(options["fd"])
            return
        try:
            listener = open_port(options["host"], options["port"])
        except PortError as error:
            raise CommandError(str(error)) from error
        address = address_for_people(listener)
        with contextlib.suppress(OSError):
            lock = InstanceLock(settings.STATE_DIR, listener.getsockname()[1])
            if lock.take():
                lock.name_address(address)
        self.stdout.write(f"Listening on {address}")
        self.stdout.flush()
        serve(listener.detach())


def serve(descriptor: int) -> None:
    """Run daphne on a listening socket, until SIGTERM."""
    where = ["--fd", str(descriptor)]
    with socket.socket(fileno=os.dup(descriptor)) as listener:
        if listener.family == socket.AF_INET6:
            # daphne can take over IPv4 sockets only, so it opens this one itself.
            os.close(descriptor)
            host, port = listener.getsockname()[:2]
            where = ["--bind", host, "--port", str(port)]
    command = ["--verbosity", "0", "--application-close-timeout", CLOSE_SECONDS, *where]
    # A tab may stay open for days. By default daphne closes its socket after one day, with a code
    # after which browsers do not reconnect. Pings find dead sockets.
    command += ["--websocket_timeout", "-1"]
    if os.environ.get("HTTPS") == "1":
        command.append("--proxy-headers")
    CommandLineInterface().run([*command, "workspace.asgi:application"])
