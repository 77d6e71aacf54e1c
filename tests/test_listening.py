"""The port is taken before anything starts; the address that people open."""

import socket

import pytest
from django.test import override_settings

from workspace.local.address import address_to_open
from workspace.local.port import PortError, address_for_people, open_port


def test_socket_listens_on_a_free_port() -> None:
    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            assert address_for_people(listener) == f"http://127.0.0.1:{port}"


def test_taken_port_is_busy() -> None:
    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(PortError, match=f"^Port {port} on 127.0.0.1 is in use by") as caught:
            open_port("127.0.0.1", port)

    assert caught.value.busy


@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_number_that_is_no_port_is_said(port: int) -> None:
    with pytest.raises(PortError, match=f"^{port} is not a port: choose one up to 65535"):
        open_port("127.0.0.1", port)


@pytest.mark.parametrize("host", ["nowhere.invalid", "203.0.113.7", "a" * 80])
def test_host_that_is_not_here_is_said(host: str) -> None:
    with pytest.raises(PortError, match=f"^{host} port 0 ") as caught:
        open_port(host, 0)

    assert not caught.value.busy


def test_every_address_of_this_machine_opens_as_the_local_one() -> None:
    with open_port("0.0.0.0", 0) as listener:  # noqa: S104
        assert address_for_people(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("allowed", "https", "opened"),
    [
        (["localhost", "127.0.0.1"], False, "http://127.0.0.1:8000"),
        (["*"], False, "http://127.0.0.1:8000"),
        ([], False, "http://127.0.0.1:8000"),
        (["needs.example"], False, "http://needs.example:8000"),
        ([".needs.example"], True, "https://needs.example"),
    ],
)
def test_address_to_open_is_one_that_is_allowed(
    allowed: list[str], https: bool, opened: str
) -> None:
    with override_settings(ALLOWED_HOSTS=allowed, HTTPS=https):
        assert address_to_open("http://127.0.0.1:8000") == opened
