"""An auditor reads the receipts of all agents, finds them from the admin, and can do nothing else."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from agents import claims
from asks import answering
from asks.access import AUDITED
from asks.models import Ask, Verdict
from tests.admin import world
from tests.pages import world as asking
from tests.pages.html import read
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db


def auditor(*without: str, staff: bool = True) -> Client:
    person = world.person("audrey", staff=staff)
    for name in AUDITED:
        app, codename = name.split(".")
        if name not in without:
            allowed = Permission.objects.get(content_type__app_label=app, codename=codename)
            person.user_permissions.add(allowed)
    client = Client()
    client.force_login(User.objects.get(pk=person.pk))
    return client


@pytest.fixture
def decided(db: None) -> Ask:
    world.fill(1)
    return Verdict.objects.get().ask


def test_an_auditor_reads_a_receipt_and_is_led_to_it(decided: Ask) -> None:
    client = auditor()
    link = f"/decisions/{decided.pk}/receipt/"
    verdict = Verdict.objects.get(ask=decided).pk
    for page in ("ask/", f"ask/{decided.pk}/change/", "verdict/", f"verdict/{verdict}/change/"):
        assert f'href="{link}"' in client.get(f"/admin/asks/{page}").content.decode(), page
    receipt = client.get(link)
    assert receipt.status_code == 200
    words = read(receipt.content).words
    assert "stripe.refunds.create" in words
    assert "owner-0" in words


def test_no_link_of_it_is_closed_to_the_auditor(decided: Ask) -> None:
    client = auditor()
    run = decided.session.runs.latest("number")
    assert claims.claim_run(run_id=run.pk, worker="test")
    page = read(client.get(f"/decisions/{decided.pk}/receipt/").content).one("main")
    assert "carries it now" in page.words
    links = [str(link.attrs["href"]) for link in page.all("a")]
    links.remove(f"/login?next=/decisions/{decided.pk}/receipt/")
    assert links
    for href in links:
        assert client.get(href).status_code == 200, href


@pytest.mark.parametrize("missing", AUDITED)
def test_every_view_permission_is_needed(decided: Ask, missing: str) -> None:
    assert auditor(missing).get(f"/decisions/{decided.pk}/receipt/").status_code == 404


def test_permissions_without_staff_are_not_enough(decided: Ask) -> None:
    assert auditor(staff=False).get(f"/decisions/{decided.pk}/receipt/").status_code == 404


def test_an_auditor_reads_no_confidential_receipt_and_is_not_led_to_it(decided: Ask) -> None:
    agent = asking.agent_of(owner := world.person("olga"), slug="secret")
    in_force(agent, refund(confidential=True))
    secret = asked(asking.home(agent))
    answering.answer_ask(ask_id=secret.pk, by=owner, option="approve", echo=asking.echo_of(secret))
    client = auditor()
    assert Ask.objects.get(pk=secret.pk).status == "answered"
    assert client.get(f"/decisions/{secret.pk}/receipt/").status_code == 404
    for page in ("ask/", "verdict/"):
        listed = client.get(f"/admin/asks/{page}").content.decode()
        assert f"/decisions/{decided.pk}/receipt/" in listed
        assert f"/decisions/{secret.pk}/receipt/" not in listed


def test_an_auditor_reads_and_does_nothing_else(decided: Ask) -> None:
    client = auditor()
    session = decided.session_id
    other = asking.asked(asking.agent_of(world.person("olga"), slug="other"))
    assert client.get(f"/decisions/{other.pk}/receipt/").status_code == 404, "it is open"
    for path in (f"/asks/{other.pk}/", f"/asks/{decided.pk}/", f"/sessions/{session}/"):
        assert client.get(path).status_code == 404, path
    assert client.post(f"/asks/{other.pk}/answer", {"option": "eu"}).status_code == 404
    assert client.post(f"/asks/{other.pk}/withdraw", {"reason": "no"}).status_code == 404
    assert client.post(f"/sessions/{session}/message", {"text": "hi"}).status_code == 404
