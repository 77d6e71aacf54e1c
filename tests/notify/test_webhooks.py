"""Signed webhooks to a real local receiver, verified with the library of the standard."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.contrib.auth.models import User
from django.db.models import F
from pytest_django import Settings
from standardwebhooks import Webhook, WebhookVerificationError

from asks import answering
from tests.api import world
from tests.api.world import Cast
from tests.notify.receivers import Receiver, deliver_all, receiver
from workspace.models import Delivery, DeliveryState, OutboxItem, WebhookEndpoint
from workspace.notify import breaker, safe_addresses, webhook
from workspace.notify.errors import Undelivered

pytestmark = pytest.mark.django_db(transaction=True)


def deliver() -> int:
    return asyncio.run(deliver_all())


def time_passes() -> None:
    day = timedelta(days=1)
    Delivery.objects.update(next_try=F("next_try") - day)
    WebhookEndpoint.objects.update(paused_until=F("paused_until") - day)


def endpoint_of(owner: User, url: str, *kinds: str) -> WebhookEndpoint:
    return WebhookEndpoint.objects.create(
        url=url, owner=owner, kinds=list(kinds), secret=webhook.new_secret()
    )


def test_a_webhook_verifies_by_the_standards_library(cast: Cast, place: Receiver) -> None:
    endpoint = endpoint_of(cast.owner, place.url)
    ask = world.asked(cast.agent, world.approval(money_critical=True))
    assert deliver() == 1
    [got] = place.received
    verified = Webhook(endpoint.secret).verify(got.body, got.headers)
    item = OutboxItem.objects.get()
    assert verified["type"] == "ask.opened"
    assert verified["timestamp"] == item.created_at.isoformat()
    assert verified["data"]["id"] == got.headers["webhook-id"] == item.uid
    assert verified["data"]["ask"]["binding"] == world.echo_of(ask)
    assert verified["data"]["ask"]["gated"] is True
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == place.url.split("/")[2]
    assert Delivery.objects.get().state == DeliveryState.DELIVERED


def test_a_changed_byte_or_another_secret_does_not_verify(cast: Cast, place: Receiver) -> None:
    endpoint = endpoint_of(cast.owner, place.url)
    world.asked(cast.agent)
    deliver()
    [got] = place.received
    changed = got.body.replace(b"EU", b"US")
    assert changed != got.body
    with pytest.raises(WebhookVerificationError):
        Webhook(endpoint.secret).verify(changed, got.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(webhook.new_secret()).verify(got.body, got.headers)


def test_a_repeated_attempt_has_the_same_id_and_a_fresh_signature(
    cast: Cast, place: Receiver
) -> None:
    endpoint = endpoint_of(cast.owner, place.url)
    place.answers = [503, 200]
    world.asked(cast.agent)
    deliver()
    assert Delivery.objects.get().last_error.startswith("The endpoint answered 503.")
    time_passes()
    deliver()
    first, second = place.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    Webhook(endpoint.secret).verify(second.body, second.headers)
    assert Delivery.objects.get().state == DeliveryState.DELIVERED
    endpoint.refresh_from_db()
    assert (endpoint.failures, endpoint.last_error) == (0, "")


def test_each_owner_is_told_about_their_own_agents_only(cast: Cast, place: Receiver) -> None:
    for person in (cast.owner, cast.colleague, cast.stranger):
        endpoint_of(person, f"{place.url}/{person.username}")
    world.asked(cast.agent)
    deliver()
    told = sorted(got.path.rpartition("/")[2] for got in place.received)
    assert told == sorted([cast.owner.username, cast.colleague.username])


def test_an_owner_who_lost_the_agent_hears_nothing_of_what_waited(
    cast: Cast, place: Receiver
) -> None:
    endpoint_of(cast.owner, place.url)
    place.answers = [500]
    world.asked(cast.agent)
    deliver()
    cast.agent.owners.remove(cast.owner)
    time_passes()
    deliver()
    assert len(place.received) == 1
    assert Delivery.objects.get().state == DeliveryState.GIVEN_UP


def test_only_the_kinds_that_are_wanted_are_told(cast: Cast, place: Receiver) -> None:
    endpoint_of(cast.owner, place.url, "ask.answered")
    ask = world.asked(cast.agent)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu")
    deliver()
    assert [got.json["type"] for got in place.received] == ["ask.answered"]


def test_a_redirect_is_a_failure_and_is_not_followed(cast: Cast, place: Receiver) -> None:
    with receiver() as elsewhere:
        endpoint_of(cast.owner, place.url)
        place.answers, place.headers = [302], {"Location": elsewhere.url}
        world.asked(cast.agent)
        deliver()
        assert elsewhere.received == []
    assert "answered 302" in Delivery.objects.get().last_error


def test_a_long_answer_is_cut(cast: Cast, place: Receiver) -> None:
    endpoint_of(cast.owner, place.url)
    place.answers, place.body = [500], b"no " * 10**6
    world.asked(cast.agent)
    deliver()
    assert len(Delivery.objects.get().last_error) <= 500


def test_a_silent_endpoint_is_left_after_its_time(
    cast: Cast, place: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "SECONDS", 0.3)
    endpoint_of(cast.owner, place.url)
    place.holding = True
    world.asked(cast.agent)
    deliver()
    assert Delivery.objects.get().last_error == "No answer within 0.3 seconds."


def test_gone_switches_the_endpoint_off(cast: Cast, place: Receiver) -> None:
    endpoint = endpoint_of(cast.owner, place.url)
    place.answers = [410]
    world.asked(cast.agent)
    world.asked(cast.agent)
    deliver()
    endpoint.refresh_from_db()
    assert not endpoint.active
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.GIVEN_UP}
    world.asked(cast.agent)
    assert deliver() == 0


def test_repeated_failures_open_the_breaker_and_one_success_closes_it(
    cast: Cast, place: Receiver
) -> None:
    endpoint = endpoint_of(cast.owner, place.url)
    place.answers = [500]
    world.turn(cast.agent, *(world.question(f"Which of {n}?") for n in range(breaker.OPENS_AFTER)))
    deliver()
    endpoint.refresh_from_db()
    assert endpoint.failures == breaker.OPENS_AFTER
    assert endpoint.paused_until is not None
    before = len(place.received)
    Delivery.objects.update(next_try=F("next_try") - timedelta(days=1))
    assert deliver() == 0  # open: nothing is tried, and no attempt is spent
    time_passes()
    assert deliver() == 1  # half open: one goes ahead
    assert len(place.received) == before + 1
    place.answers = [200]
    time_passes()
    assert deliver() == breaker.OPENS_AFTER
    assert WebhookEndpoint.objects.filter(failures=0, paused_until=None).exists()


def test_an_endpoint_that_only_fails_is_switched_off(cast: Cast, place: Receiver) -> None:
    endpoint = endpoint_of(cast.owner, place.url)
    WebhookEndpoint.objects.update(failures=breaker.OFF_AFTER - 1)
    place.answers = [500]
    world.asked(cast.agent)
    deliver()
    endpoint.refresh_from_db()
    assert not endpoint.active
    assert "Switched off after 50 failures" in endpoint.last_error


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "2001:0:a00:1::",
        "no address",
    ],
)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not safe_addresses.is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111"])
def test_what_is_public_is_taken(address: str) -> None:
    assert safe_addresses.is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1"])
def test_a_private_address_is_never_called(
    host: str, cast: Cast, place: Receiver, settings: Settings
) -> None:
    """Loopback in every notation: by name, by number, in IPv6."""
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    port = place.url.rpartition(":")[2].partition("/")[0]
    endpoint_of(cast.owner, f"https://{host}:{port}/hook")
    world.asked(cast.agent)
    deliver()
    assert "not public" in Delivery.objects.get().last_error
    assert place.received == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "ftp://example.com/",
        "https://user:secret@example.com/",
        "https://",
        "https://example.com:99999/",
        "https://example.com/#part",
        " https://example.com/",
        "https://example.com/\n",
        "example.com",
    ],
)
def test_a_url_that_cannot_be_a_webhooks_is_refused(url: str, settings: Settings) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    with pytest.raises(ValueError, match="URL"):
        safe_addresses.check_url(url)


def certified(folder: Path, name: str) -> ssl.SSLContext:
    """Return a server context with a self-signed certificate for a name: ``folder/ca.pem``."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return context


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose ca.pem is the trusted authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    webhook._certificates.cache_clear()
    return tmp_path


@pytest.mark.parametrize("name", ["localhost", "other.example"])
def test_tls_is_checked_against_the_name_although_an_address_is_called(
    name: str, cast: Cast, trusted: Path
) -> None:
    works = name == "localhost"
    try:
        with receiver(certified(trusted, name)) as place:
            endpoint_of(cast.owner, place.url.replace("127.0.0.1", "localhost"))
            world.asked(cast.agent)
            deliver()
            assert len(place.received) == works
    finally:
        webhook._certificates.cache_clear()
    delivery = Delivery.objects.get()
    assert (delivery.state == DeliveryState.DELIVERED) == works
    assert works or "certificate" in delivery.last_error.lower()


def test_an_address_is_looked_up_once_and_then_kept(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """A name that changes from a public to a private address is not called at the latter."""
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    answers = iter(["93.184.215.14", "127.0.0.1"])

    async def changing(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), 443))]

    async def found() -> list[str]:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", changing)
        return await safe_addresses.addresses_of(
            safe_addresses.check_url("https://rebinding.example/")
        )

    assert asyncio.run(found()) == ["93.184.215.14"]
    assert next(answers) == "127.0.0.1"  # nobody has asked a second time


def test_one_public_address_among_private_ones_is_not_enough(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = False

    async def mixed(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
            for address in ("93.184.215.14", "10.0.0.1")
        ]

    async def found() -> list[str]:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", mixed)
        return await safe_addresses.addresses_of(safe_addresses.check_url("https://mixed.example/"))

    with pytest.raises(Undelivered, match="not public"):
        asyncio.run(found())
