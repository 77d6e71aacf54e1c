"""A leaf harness of another installation, driven by ours, its gates answered in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, expect

from agents.models import Agent
from asks.models import Ask, Verdict
from tests.conformance.run import Server
from tests.conformance.run import server as another_installation
from tests.e2e.conftest import NoErrors
from tests.e2e.presses import press_to_the_end
from tests.factories import home_of
from tests.leaf.harnesses import remote_agent
from tests.leaf.world import ITEM
from tests.live_server import ManagedProcess

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SLOW = 60_000


@pytest.fixture(scope="module")
def harness() -> Iterator[Server]:
    """A server with a database and a worker of its own, whose agent ``conf-leaf`` reviews."""
    with another_installation() as live:
        yield live


@pytest.fixture(scope="module")
def key(harness: Server) -> str:
    return harness.key_for("leaf")


@pytest.fixture
def worker(
    transactional_db: None, key: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ManagedProcess]:
    """Our worker, which knows the harness's key."""
    log = tmp_path_factory.mktemp("worker") / "worker.log"
    process = ManagedProcess("worker", log=log, env={"HARNESS_KEY": key})
    process.start()
    yield process
    process.stop()


@pytest.fixture
def agent(request: pytest.FixtureRequest, owner: User, harness: Server) -> Agent:
    dialect, asynchronous = request.param
    return remote_agent(
        owner,
        base_url=harness.base_url,
        key_variable="HARNESS_KEY",
        dialect=dialect,
        asynchronous=asynchronous,
        volume=str(harness.state / "volume") if dialect == "files" else "",
        settle_seconds=30,
        poll_seconds=0.1,
    )


ALL_WAYS = pytest.mark.parametrize(
    "agent",
    [("inline", False), ("inline", True), ("files", False), ("files", True)],
    indirect=True,
    ids=["inline", "inline-async", "files", "files-async"],
)


@pytest.fixture
def gate(
    page: Page, owner: User, agent: Agent, worker: ManagedProcess, sign_in: Callable[[User], None]
) -> Callable[[int], Locator]:
    """Has the agent review an item; gives the card of a gate once it is on the session's page."""
    sign_in(owner)
    session = home_of(agent)
    page.goto(f"/sessions/{session.pk}/")
    expect(page.locator(".rail [data-conn-words]")).to_have_text("Live")
    page.get_by_label("Write to driver").fill(json.dumps(ITEM))
    page.get_by_role("button", name="Send").click()

    def card(number: int) -> Locator:
        waiting = page.locator("#cards article[data-open]").filter(has_text=f"gate {number}")
        expect(waiting).to_be_visible(timeout=SLOW)
        return waiting

    return card


@ALL_WAYS
def test_reject_then_approve_comes_to_a_verdict(
    page: Page, gate: Callable[[int], Locator], agent: Agent, no_errors: NoErrors
) -> None:
    first = gate(0)
    expect(first).to_contain_text("I looked for eval( in a.py.")
    expect(first).to_contain_text("Submit the verdict FLAGGED for i1.")
    first.get_by_label("Note to").fill("check the callers")
    first.get_by_role("button", name="Reject").click()

    second = gate(1)
    expect(second).to_contain_text("Revised after the rejection: check the callers")
    expect(second.get_by_label("Earlier gates of this session")).to_contain_text(
        "owner: Reject “check the callers”"
    )
    press_to_the_end(page, second.get_by_role("button", name="Approve"))

    thread = page.locator("#stream")
    expect(thread).to_contain_text("FLAGGED for i1.", timeout=SLOW)
    expect(thread).to_contain_text("owner answered Reject")
    expect(thread).to_contain_text("owner answered Approve")
    assert [v.text for v in Verdict.objects.order_by("pk")] == ["check the callers", ""]
    no_errors()


@ALL_WAYS
def test_an_abort_takes_two_presses_and_ends_it(
    page: Page, gate: Callable[[int], Locator], agent: Agent
) -> None:
    gate(0).get_by_role("button", name="Abort").click()
    expect(page.get_by_role("alert")).to_contain_text("Press again to be sure.")
    assert Ask.objects.get(agent=agent).status == "open"
    page.get_by_role("button", name="Abort").click()

    expect(page.locator("#stream")).to_contain_text("There is no verdict.", timeout=SLOW)
