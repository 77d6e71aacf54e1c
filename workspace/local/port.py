"""Take the port before anything starts, so that a busy port is reported in one sentence."""

import errno
import socket

BACKLOG = 512
LAST_PORT = 65535  # getaddrinfo accepts larger numbers and truncates them


class PortError(Exception):
    """The address cannot be listened on. The text is one sentence for the person who started us."""

    def __init__(self, text: str, *, busy: bool = False) -> None:
        super().__init__(text)
        self.busy = busy


def open_port(host: str, port: int) -> socket.socket:
    """Listen on ``host:port`` (port 0: any free one). The socket may be handed to a child process.

    While the supervisor holds it, connections wait for a web process that restarts.
    """
    if port not in range(LAST_PORT + 1):
        raise PortError(f"{port} is not a port: choose one up to {LAST_PORT}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise PortError(
            f"{host} port {port} is not an address of this machine: {error}."
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise _port_error(host, port, error) from error
    return listener


def address_for_people(listener: socket.socket) -> str:
    """Return the http address for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _port_error(host: str, port: int, error: OSError | OverflowError) -> PortError:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return PortError(
            f"Port {port} on {host} is in use by another program: "
            "choose another with --port or PORT.",
            busy=True,
        )
    if number == errno.EACCES:
        return PortError(f"This user may not listen on port {port}: choose one above 1023.")
    return PortError(f"{host} port {port} cannot be listened on: {error}.")
