"""A worker is killed in the window, with kill -9: the row is the truth, and the answer arrives once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from procrastinate.contrib.django.models import ProcrastinateJob

from agents.models import Session
from asks.models import Ask, UndoWindow
from tests.dispatch import conftest
from tests.dispatch.world import ASKS, DONE, Worker, eventually, said, session_of, start
from tests.undo.world import press, take_back

StartWorker = Callable[..., Worker]
SECONDS = 4
SCRIPT = f"if grep -q 'Which ledger'; then echo heard; {DONE}; else {ASKS}; fi"

database = conftest.database
start_worker = conftest.start_worker


@pytest.fixture
def owner(database: None) -> User:
    return User.objects.create_user("olga")


def asked_by(owner: User, worker: Worker) -> Ask:
    session = session_of(owner, "asker", SCRIPT)
    start(session, owner)
    eventually(lambda: Ask.objects.filter(session=session).exists(), "it asks")
    eventually(lambda: Session.objects.get(pk=session.pk).open_asks == 1, "it waits")
    assert worker.is_running()
    return Ask.objects.get(session=session)


def completed(session: Session) -> bool:
    return session.runs.filter(status="completed").exists()


def test_a_worker_starts_it_when_the_window_ends(owner: User, start_worker: StartWorker) -> None:
    ask = asked_by(owner, start_worker())
    press(ask, owner, undo=timedelta(seconds=SECONDS))
    until = UndoWindow.objects.get().until
    eventually(lambda: completed(ask.session), "the answer arrived")
    run = ask.session.runs.get(status="completed")
    assert run.started_at is not None
    assert timedelta(0) <= run.started_at - until < timedelta(seconds=20)
    assert said(ask.session).count("heard") == 1


@pytest.mark.parametrize("without_jobs", [False, True])
def test_a_killed_worker_loses_nothing(
    owner: User, start_worker: StartWorker, without_jobs: bool
) -> None:
    """The only worker dies in the window, and starts again after its end, as after a reboot."""
    first = start_worker()
    ask = asked_by(owner, first)
    press(ask, owner, undo=timedelta(seconds=SECONDS))
    first.kill()
    if without_jobs:  # the queue's tables are only hints
        ProcrastinateJob.objects.all().delete()
    time.sleep(SECONDS)
    assert not completed(ask.session)
    start_worker()
    eventually(lambda: completed(ask.session), "the answer arrived")
    assert said(ask.session).count("heard") == 1
    assert ask.session.runs.count() == 2


def test_a_killed_worker_starts_nothing_that_was_taken_back(
    owner: User, start_worker: StartWorker
) -> None:
    first = start_worker()
    ask = asked_by(owner, first)
    verdict = press(ask, owner, undo=timedelta(seconds=SECONDS))
    first.kill()
    take_back(verdict, owner)
    start_worker()
    time.sleep(SECONDS + 3)
    assert ask.session.runs.count() == 1
    assert "heard" not in said(ask.session)
