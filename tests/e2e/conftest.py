"""A real browser against the real web process and worker, on the test database.

Run these in a pytest process of their own (`make test` does): Playwright leaves an event loop
running in the main thread, which asyncio tests cannot share.
"""

from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import (
    Browser,
    BrowserContext,
    BrowserType,
    ConsoleMessage,
    Page,
    Playwright,
)

from tests.browser import NoBrowserError, driver, is_required, launch
from tests.live_server import LiveServer, ManagedProcess

OWNERS_PASSWORD = "correct horse 7 battery"


@pytest.fixture(scope="session", autouse=True)
def _orm_beside_playwright() -> Iterator[None]:
    """Let tests use the database although Playwright's event loop runs in this thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Replace pytest-playwright's, which fails in riddles where Node.js does not start."""
    try:
        with driver() as started:
            yield started
    except NoBrowserError as error:
        _do_without(error)


@pytest.fixture(scope="session")
def launch_browser(
    browser_type: BrowserType, browser_type_launch_args: dict[str, object]
) -> Callable[..., Browser]:
    """Replace pytest-playwright's, which cannot be given a path, with one that searches."""

    def start(**options: object) -> Browser:
        try:
            return launch(browser_type, **{**browser_type_launch_args, **options})
        except NoBrowserError as error:
            _do_without(error)

    return start


def _do_without(why: NoBrowserError) -> NoReturn:
    """Skip; or fail, where a browser is required."""
    if is_required():
        pytest.fail(str(why))
    pytest.skip(str(why))


@pytest.fixture(scope="session")
def server(
    django_db_setup: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LiveServer]:
    """The web process on this pytest process's database. Tests may kill and start it."""
    live = LiveServer(tmp_path_factory.mktemp("web") / "web.log")
    live.start()
    yield live
    live.stop()


@pytest.fixture(scope="session")
def base_url(server: LiveServer) -> str:
    """Where `page.goto("/path")` goes. Session-scoped, because pytest-playwright's use of it is."""
    return server.url


@pytest.fixture
def worker(
    transactional_db: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ManagedProcess]:
    """A dispatch worker that runs the agents of this test. Tests may kill and start it."""
    process = ManagedProcess("worker", log=tmp_path_factory.mktemp("worker") / "worker.log")
    process.start()
    yield process
    process.stop()


@pytest.fixture(autouse=True)
def _server_is_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that killed the server and failed must not fail the rest."""
    yield
    if "server" in request.fixturenames:
        live: LiveServer = request.getfixturevalue("server")
        if not live.is_running():
            live.start()


@pytest.fixture
def owner(transactional_db: None) -> User:
    """A person who owns agents, with a password that the server under test can check."""
    password = make_password(OWNERS_PASSWORD, hasher="argon2")
    return User.objects.create(username="owner", password=password)


@pytest.fixture
def sign_in(context: BrowserContext, server: LiveServer) -> Callable[[User], None]:
    """Sign somebody in without the form: a session row, and its cookie in the browser."""

    def go(user: User) -> None:
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value}
        context.add_cookies(
            [{**cookie, "url": server.url, "httpOnly": True, "sameSite": "Lax"}]  # type: ignore[typeddict-item]
        )

    return go


class NoErrors:
    """What the browser complained about on a page: script errors, refused content, failed requests."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.found.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.found.append(message.text)

    def __call__(self, *, allowed: str = "\0") -> None:
        """Fail with all complaints but those that hold the allowed words."""
        assert [text for text in self.found if allowed not in text] == []


@pytest.fixture
def no_errors(page: Page) -> NoErrors:
    return NoErrors(page)
