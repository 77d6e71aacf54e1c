"""`manage.py webhook`: add, list, rotate, test, resume and remove endpoints."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from standardwebhooks import Webhook, WebhookVerificationError

from tests.api.world import Cast
from tests.notify.receivers import Receiver
from workspace.models import WebhookEndpoint

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_command_makes_lists_tests_resumes_and_removes(
    cast: Cast, place: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("webhook", "add", place.url, "--owner", cast.owner.username)
    secret = capsys.readouterr().out.splitlines()[-1]
    endpoint = WebhookEndpoint.objects.get()
    assert endpoint.secret == secret
    call_command("webhook", "test", str(endpoint.pk))
    [got] = place.received
    assert Webhook(secret).verify(got.body, got.headers)["type"] == "webhook.test"
    WebhookEndpoint.objects.update(active=False, last_error="gone")
    capsys.readouterr()
    call_command("webhook", "list")
    listed = capsys.readouterr().out
    assert place.url in listed
    assert "off (gone)" in listed
    assert secret not in listed
    call_command("webhook", "resume", str(endpoint.pk))
    assert WebhookEndpoint.objects.get().active
    call_command("webhook", "remove", str(endpoint.pk))
    assert not WebhookEndpoint.objects.exists()


@pytest.mark.parametrize(("overlap", "old_one_verifies"), [("24", True), ("0", False)])
def test_a_secret_is_changed_for_another_while_both_sign(
    cast: Cast,
    place: Receiver,
    capsys: pytest.CaptureFixture[str],
    overlap: str,
    old_one_verifies: bool,
) -> None:
    call_command("webhook", "add", place.url, "--owner", cast.owner.username)
    old = capsys.readouterr().out.splitlines()[-1]
    endpoint = WebhookEndpoint.objects.get()
    call_command("webhook", "rotate", str(endpoint.pk), "--overlap", overlap)
    new = capsys.readouterr().out.splitlines()[-1]
    assert new != old
    call_command("webhook", "test", str(endpoint.pk))
    [got] = place.received
    Webhook(new).verify(got.body, got.headers)
    if old_one_verifies:
        Webhook(old).verify(got.body, got.headers)
    else:
        with pytest.raises(WebhookVerificationError):
            Webhook(old).verify(got.body, got.headers)


def test_the_old_secret_signs_no_longer_than_the_overlap(
    cast: Cast, place: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("webhook", "add", place.url, "--owner", cast.owner.username)
    old = capsys.readouterr().out.splitlines()[-1]
    endpoint = WebhookEndpoint.objects.get()
    call_command("webhook", "rotate", str(endpoint.pk))
    assert old in WebhookEndpoint.objects.get().secrets
    WebhookEndpoint.objects.update(former_until=endpoint.created_at)
    assert WebhookEndpoint.objects.get().secrets == (WebhookEndpoint.objects.get().secret,)


@pytest.mark.parametrize(
    "wrong",
    [
        ["add", "ftp://example.com", "--owner", "OWNER"],
        ["add", "https://example.com/", "--owner", "nobody"],
        ["add", "https://example.com/", "--owner", "OWNER", "--kinds", "ask.opened,everything"],
        ["remove", "999999"],
        ["test", "999999"],
        ["rotate", "999999"],
        ["rotate", "1", "--overlap", "-1"],
        ["rotate", "1", "--overlap", "forever"],
    ],
)
def test_the_command_refuses_in_words(cast: Cast, wrong: list[str]) -> None:
    arguments = [cast.owner.username if part == "OWNER" else part for part in wrong]
    with pytest.raises(CommandError):
        call_command("webhook", *arguments)
    assert not WebhookEndpoint.objects.exists()
