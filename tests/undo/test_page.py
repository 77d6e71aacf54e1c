"""The page's part of undo: whose window it is, the forms without JavaScript, and the preference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from agents.models import Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Retraction, UndoWindow, Verdict
from tests.factories import AskFactory
from tests.undo.world import pass_window, press, take_back, wait_out
from workspace.accounts import undo_preference
from workspace.models import UndoPreference

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser_of_olga(client: Client, owner: User, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The owner's browser, with the window that people have by default."""
    monkeypatch.setattr(settings, "NEEDS_YOU_UNDO_SECONDS", 5)
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def asked(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def test_five_seconds_are_the_default(tmp_path: Path) -> None:
    """What the product reads, without what the tests set."""
    env = {name: value for name, value in os.environ.items() if name != "NEEDS_YOU_UNDO_SECONDS"}
    code = "import workspace.settings; print(workspace.settings.NEEDS_YOU_UNDO_SECONDS)"
    env |= {"NEEDS_YOU_STATE": str(tmp_path), "SECRET_KEY": "x"}
    said = subprocess.run(  # noqa: PLW1510  what it says is looked at
        [sys.executable, "-c", code], env=env, cwd=settings.BASE_DIR, capture_output=True, text=True
    )
    assert said.stdout.strip() == "5", said.stderr
    assert settings.NEEDS_YOU_UNDO_SECONDS == 0


def test_a_press_on_the_page_has_the_window(browser_of_olga: Client, asked: Ask) -> None:
    browser_of_olga.post(f"/asks/{asked.pk}/answer", {"option": "eu"})
    verdict = Verdict.objects.get()
    assert UndoWindow.objects.get().until == verdict.decided_at + timedelta(seconds=5)
    assert asked.session.runs.count() == 1


@pytest.mark.parametrize("seconds", [0, 1, 30])
def test_each_person_chooses(
    browser_of_olga: Client, owner: User, asked: Ask, seconds: int
) -> None:
    undo_preference.set_undo_window(owner, seconds)
    browser_of_olga.post(f"/asks/{asked.pk}/answer", {"option": "eu"})
    window = UndoWindow.objects.filter(verdict__ask=asked).first()
    assert (window is None) == (seconds == 0)
    if window:
        assert window.until - window.verdict.decided_at == timedelta(seconds=seconds)
    assert asked.session.runs.count() == (2 if seconds == 0 else 1)


def test_the_choice_is_made_on_its_page(browser_of_olga: Client, owner: User) -> None:
    assert 'value="5"' in browser_of_olga.get("/undo").content.decode()
    assert browser_of_olga.post("/undo", {"seconds": "12"}).status_code == 302
    assert undo_preference.undo_window_of(owner) == timedelta(seconds=12)
    for bad in ("31", "-1", "soon", ""):
        refused = browser_of_olga.post("/undo", {"seconds": bad})
        assert refused.status_code == 422
    assert undo_preference.undo_window_of(owner) == timedelta(seconds=12)
    with pytest.raises(IntegrityError), transaction.atomic():
        UndoPreference.objects.update(seconds=31)


def forms(html: str) -> list[str]:
    return re.findall(r'action="(/verdicts/\d+/[a-z-]+)"', html)


def test_without_javascript_the_next_page_offers_both(browser_of_olga: Client, asked: Ask) -> None:
    after = browser_of_olga.post(
        f"/asks/{asked.pk}/answer", {"option": "eu", "text": "Now."}, follow=True
    )
    verdict = Verdict.objects.get()
    both = [f"/verdicts/{verdict.pk}/take-back", f"/verdicts/{verdict.pk}/start-now"]
    assert forms(after.content.decode()) == both
    assert forms(browser_of_olga.get(f"/asks/{asked.pk}/").content.decode()) == both
    taken = browser_of_olga.post(both[0])
    text = taken.content.decode()
    assert taken.status_code == 200
    assert "You took back EU ledger. Nothing was started." in text
    assert 'value="eu"' in text
    assert Ask.objects.get(pk=asked.pk).status == AskStatus.OPEN


def test_what_was_typed_is_there_again(browser_of_olga: Client, session: Session) -> None:
    asked = AskFactory(session=session, options=())
    browser_of_olga.post(
        f"/asks/{asked.pk}/answer", {"text": "Close it against <both>.", "send": "1"}
    )
    taken = browser_of_olga.post(f"/verdicts/{Verdict.objects.get().pk}/take-back")
    assert "Close it against &lt;both&gt;.</textarea>" in taken.content.decode()


def test_start_now_without_javascript(browser_of_olga: Client, asked: Ask) -> None:
    browser_of_olga.post(f"/asks/{asked.pk}/answer", {"option": "eu"})
    after = browser_of_olga.post(f"/verdicts/{Verdict.objects.get().pk}/start-now", follow=True)
    assert asked.session.runs.count() == 2
    assert not forms(after.content.decode())


def test_too_late_says_why(browser_of_olga: Client, asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    pass_window(asked.session)
    after = browser_of_olga.post(f"/verdicts/{verdict.pk}/take-back", follow=True)
    assert "The time to take it back is over." in after.content.decode()
    hx = browser_of_olga.post(f"/verdicts/{verdict.pk}/take-back", headers={"HX-Request": "true"})
    assert (hx.status_code, hx["X-Card"]) == (409, str(asked.pk))
    assert "The time to take it back is over." in hx.content.decode()
    assert not Retraction.objects.exists()


def test_an_htmx_form_gets_toast_badge_and_card(browser_of_olga: Client, asked: Ask) -> None:
    headers = {"HX-Request": "true"}
    pressed = browser_of_olga.post(f"/asks/{asked.pk}/answer", {"option": "eu"}, headers=headers)
    text = pressed.content.decode()
    assert text.count(f'data-undo="{Verdict.objects.get().pk}"') == 2
    left = [int(ms) for ms in re.findall(r'data-left="(\d+)"', text)]
    assert all(0 < ms <= 5000 for ms in left)
    taken = browser_of_olga.post(f"/verdicts/{Verdict.objects.get().pk}/take-back", headers=headers)
    text = taken.content.decode()
    assert f'<template data-card-now="ask-{asked.pk}">' in text
    assert "data-open" in text
    assert "You took back EU ledger." in text


def test_strangers_and_colleagues(
    client: Client, asked: Ask, owner: User, colleague: User, stranger: User
) -> None:
    verdict = press(asked, owner)
    for person, status in ((stranger, 404), (colleague, 403)):
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        for verb in ("take-back", "start-now"):
            address = f"/verdicts/{verdict.pk}/{verb}"
            assert client.post(address, headers={"HX-Request": "true"}).status_code == status
        assert not forms(client.get(f"/asks/{asked.pk}/").content.decode())
    assert client.post(f"/verdicts/{verdict.pk + 9}/take-back").status_code == 404
    assert not Retraction.objects.exists()


def test_a_page_opened_by_a_link_takes_nothing_back(
    browser_of_olga: Client, asked: Ask, owner: User
) -> None:
    verdict = press(asked, owner)
    for verb in ("take-back", "start-now"):
        assert browser_of_olga.get(f"/verdicts/{verdict.pk}/{verb}").status_code == 302
    assert not Retraction.objects.exists()
    assert asked.session.runs.count() == 1


def test_the_thread_says_what_happened(browser_of_olga: Client, asked: Ask) -> None:
    browser_of_olga.post(f"/asks/{asked.pk}/answer", {"option": "eu"})
    browser_of_olga.post(f"/verdicts/{Verdict.objects.get().pk}/take-back")
    text = " ".join(browser_of_olga.get(f"/sessions/{asked.session_id}/").content.decode().split())
    assert '<strong>olga</strong> took back <em dir="auto">EU ledger</em>.' in text


def test_retracted_answers_are_no_decisions(browser_of_olga: Client, asked: Ask) -> None:
    browser_of_olga.post(f"/asks/{asked.pk}/answer", {"option": "eu"})
    browser_of_olga.post(f"/verdicts/{Verdict.objects.get().pk}/take-back")
    assert f"/asks/{asked.pk}/" not in browser_of_olga.get("/decisions/").content.decode()
    assert browser_of_olga.get(f"/decisions/{asked.pk}/receipt/").status_code == 404


def test_the_receipt_names_what_was_taken_back_before(
    browser_of_olga: Client, asked: Ask, owner: User
) -> None:
    take_back(press(asked, owner), owner)
    press(asked, owner, "us")
    wait_out(asked.session)
    receipt = browser_of_olga.get(f"/decisions/{asked.pk}/receipt/").content.decode()
    assert "Taken back before" in receipt
    assert "EU ledger" in receipt.partition("Taken back before")[2]
    assert "The ledger is broken" not in receipt
