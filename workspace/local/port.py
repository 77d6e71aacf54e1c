"""Taking the port before anything is started, so that a busy one is one clear sentence."""

import errno
import socket

BACKLOG = 512
LAST_PORT = 65535  # getaddrinfo takes larger numbers and cuts them short


class PortError(Exception):
    """The address cannot be listened on; the text is one sentence for whoever started us."""

    def __init__(self, text: str, *, busy: bool = False) -> None:
        super().__init__(text)
        self.busy = busy


def open_port(host: str, port: int) -> socket.socket:
    """Listen on ``host:port`` (port 0: any free one). The socket may be handed to a child process.

    While its supervisor holds it, a web process that restarts refuses no connection: they wait.
    """
    if port not in range(LAST_PORT + 1):
        raise PortError(f"{port} is no port: choose one up to {LAST_PORT}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise PortError(f"{host} port {port} is no address of this machine: {error}.") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise _port_error(host, port, error) from error
    return listener


def address_for_people(listener: socket.socket) -> str:
    """The http address a browser on this machine opens."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _port_error(host: str, port: int, error: OSError | OverflowError) -> PortError:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return PortError(
            f"Port {port} on {host} is taken by another program: "
            "choose another with --port or PORT.",
            busy=True,
        )
    if number == errno.EACCES:
        return PortError(f"This user may not listen on port {port}: choose one above 1023.")
    return PortError(f"{host} port {port} cannot be listened on: {error}.")
