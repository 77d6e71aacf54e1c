"""`manage.py web`: the web process, pages and live streams."""

import os
import socket
from typing import Any

from daphne.cli import CommandLineInterface
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspace.local.port import PortError, address_for_people, open_port

CLOSE_SECONDS = "2"  # what a socket's consumer gets to end before it is cancelled


class Command(BaseCommand):
    """Serve Needs You with daphne, in the foreground."""

    help = "Serve the pages and the live streams."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
        parser.add_argument("--port", type=int, default=os.environ.get("PORT") or "8000")
        parser.add_argument("--fd", type=int, help="a listening socket to take over instead")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["fd"] is not None:
            serve(options["fd"])
            return
        try:
            listener = open_port(options["host"], options["port"])
        except PortError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Listening on {address_for_people(listener)}")
        self.stdout.flush()
        serve(listener.detach())


def serve(descriptor: int) -> None:
    """Run daphne on a socket that listens already, until SIGTERM."""
    where = ["--fd", str(descriptor)]
    with socket.socket(fileno=os.dup(descriptor)) as listener:
        if listener.family == socket.AF_INET6:
            # daphne takes over IPv4 sockets only; this one it opens by itself.
            os.close(descriptor)
            host, port = listener.getsockname()[:2]
            where = ["--bind", host, "--port", str(port)]
    command = ["--verbosity", "0", "--application-close-timeout", CLOSE_SECONDS, *where]
    # A tab may stay open for days. daphne would end its socket after one, with a code after which
    # browsers do not come back; pings find the dead ones.
    command += ["--websocket_timeout", "-1"]
    if os.environ.get("HTTPS") == "1":
        command.append("--proxy-headers")
    CommandLineInterface().run([*command, "workspace.asgi:application"])
