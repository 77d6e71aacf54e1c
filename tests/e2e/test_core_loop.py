"""The main job, with nothing in between faked: a real agent asks, a person answers, it goes on, live."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from playwright.sync_api import Browser, Page, expect

from agents import controls
from agents.models import Agent, Run, Session
from asks.models import Ask, Refusal, Verdict
from tests.live_server import LiveServer, ManagedProcess

PROJECT = Path(__file__).resolve().parent.parent.parent
PICTURE = PROJECT / "docs" / "needs-you.png"
SignIn = Callable[[User], None]
#: What a worker and an agent's process may take on a machine that is busy with something else.
PATIENCE = 60_000

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _hasty_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_PACE", "0.1")


@pytest.fixture
def demo(owner: User, sign_in: SignIn) -> User:
    """The demo's owner, signed in, with one agent that is due: the ledger reconciler."""
    call_command("build_world", "none", verbosity=0)
    sign_in(owner)
    return owner


def connect(slug: str, program: str, owner: User) -> Session:
    """Connect a demo program the way a person does on the command line, and start it."""
    path = PROJECT / "workspace" / "demo" / "agents" / program
    call_command(
        "agent",
        "add",
        slug,
        "--owner",
        owner.username,
        "--",
        sys.executable,
        str(path),
        verbosity=0,
    )
    session = Session.objects.get(agent__slug=slug)
    agent = Agent.objects.get(slug=slug)
    agent.settings = {**agent.settings, "env_allow": ["DEMO_PACE"]}
    agent.save(update_fields=["settings"])
    controls.start_session(session_id=session.pk, by=owner)
    return session


def test_a_click_resumes_the_agent_and_its_work_appears(
    page: Page, demo: User, worker: ManagedProcess
) -> None:
    session = connect("ledger-close", "ledger.py", demo)
    page.goto("/")
    question = page.locator("article", has_text="Which ledger: EU or US?")
    expect(question).to_be_visible(timeout=PATIENCE)
    expect(page).to_have_title("(1) Needs you")

    watching = page.context.new_page()
    watching.goto(f"/sessions/{session.pk}/")
    question.get_by_role("button", name="EU").click()

    expect(watching.get_by_text("The ledger is decided: EU.").first).to_be_visible(timeout=PATIENCE)
    expect(watching.get_by_text("October is closed.").first).to_be_visible(timeout=PATIENCE)
    expect(page).to_have_title("Needs you")
    assert Verdict.objects.get().option_label == "EU"
    seen = watching.eval_on_selector_all(
        "[data-seq]", "items => items.map(item => Number(item.dataset.seq))"
    )
    assert seen == list(range(1, max(seen) + 1))


def test_two_asks_of_one_turn_resume_it_once_by_keyboard(
    page: Page, demo: User, worker: ManagedProcess
) -> None:
    session = connect("release-train", "release.py", demo)
    page.goto("/")
    expect(page.locator("article", has_text="Ship 4.2 today?")).to_be_visible(timeout=PATIENCE)
    expect(page).to_have_title("(2) Needs you")

    page.wait_for_timeout(800)  # what has just arrived takes no key
    page.keyboard.press("j")
    page.keyboard.press("1")
    expect(page).to_have_title("(1) Needs you", timeout=PATIENCE)
    assert Run.objects.filter(session=session).count() == 1
    words = page.get_by_label("Your answer")
    words.fill("Ada")
    page.get_by_role("button", name="Send answer").click()

    expect(page).to_have_title("Needs you", timeout=PATIENCE)
    page.goto(f"/sessions/{session.pk}/")
    expect(page.get_by_text("Ada").first).to_be_visible(timeout=PATIENCE)
    assert Run.objects.filter(session=session).count() == 2


@pytest.mark.case("C45")
def test_a_killed_worker_loses_no_answer(page: Page, demo: User, worker: ManagedProcess) -> None:
    session = connect("ledger-close", "ledger.py", demo)
    page.goto("/")
    question = page.locator("article", has_text="Which ledger: EU or US?")
    expect(question).to_be_visible(timeout=PATIENCE)
    worker.kill()
    page.goto("/")  # a card that has just arrived takes no click for half a second
    question.get_by_role("button", name="US").click()
    expect(page).to_have_title("Needs you", timeout=PATIENCE)
    assert Run.objects.filter(session=session, status="queued").count() == 1

    page.goto(f"/sessions/{session.pk}/")
    worker.start()
    expect(page.get_by_text("The ledger is decided: US.").first).to_be_visible(timeout=PATIENCE)


def test_without_scripts_the_loop_closes_too(
    browser: Browser, demo: User, worker: ManagedProcess, server: LiveServer, page: Page
) -> None:
    session = connect("ledger-close", "ledger.py", demo)
    page.goto("/")
    expect(page.locator("article")).to_be_visible(timeout=PATIENCE)
    plain = browser.new_context(
        java_script_enabled=False,
        base_url=server.url,
        storage_state=page.context.storage_state(),
    )
    reader = plain.new_page()
    reader.goto("/")
    reader.get_by_role("button", name="EU").click()
    expect(reader.locator("body")).to_contain_text("EU")
    page.goto(f"/sessions/{session.pk}/")
    expect(page.get_by_text("The ledger is decided: EU.").first).to_be_visible(timeout=PATIENCE)
    plain.close()


def test_a_stranger_finds_nothing(
    page: Page, demo: User, worker: ManagedProcess, sign_in: SignIn
) -> None:
    session = connect("ledger-close", "ledger.py", demo)
    page.goto("/")
    expect(page.locator("article")).to_be_visible(timeout=PATIENCE)
    ask = Ask.objects.get()
    sign_in(User.objects.create(username="stranger"))
    for address in (f"/asks/{ask.pk}/", f"/sessions/{session.pk}/", "/agents/ledger-close/"):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 404
    page.goto("/")
    expect(page.locator("article")).to_have_count(0)
    assert not Refusal.objects.exists()
    ask.refresh_from_db()
    assert ask.status == "open"


def test_the_picture_of_the_readme(
    browser: Browser, page: Page, demo: User, worker: ManagedProcess, server: LiveServer
) -> None:
    """Shows what a newcomer sees. UPDATE_PICTURES=1 keeps it in docs/."""
    for slug, program in (
        ("branch-keeper", "branches.py"),
        ("release-train", "release.py"),
        ("ledger-close", "ledger.py"),
    ):
        connect(slug, program, demo)
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto("/")
    expect(page.locator("article")).to_have_count(4, timeout=PATIENCE)
    page.goto("/")
    expect(page.locator("article")).to_have_count(4)
    expect(page.get_by_text("Live").last).to_be_visible()
    page.evaluate("document.fonts.ready")
    shot = page.screenshot(path=PICTURE if os.environ.get("UPDATE_PICTURES") else None)
    assert PICTURE.read_bytes()[16:24] == shot[16:24]  # the same size, in PNG's header
