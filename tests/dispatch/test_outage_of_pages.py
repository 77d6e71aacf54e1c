"""PostgreSQL is away for a while: pages report it, and work again soon after it is back."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from tests.dispatch.test_outage import database, power_cut
from tests.dispatch.world import eventually
from tests.live_server import LiveServer
from workspace.local.postgres.instance import LocalPostgres

__all__ = ["database"]

pytestmark = pytest.mark.chaos

#: Long enough that anything with growing retry intervals would be far behind.
AWAY = 20.0
SOON = 5.0


def test_a_web_process_answers_soon_after_a_long_outage(
    database: LocalPostgres, tmp_path: Path
) -> None:
    web = LiveServer(tmp_path / "web.log")
    web.start()
    try:
        assert _status(web) == 401
        power_cut(database)
        away_until = time.monotonic() + AWAY
        seen = set()
        while time.monotonic() < away_until:
            seen.add(_status(web))
        assert seen == {503}
        database.start()
        eventually(lambda: _status(web, SOON) == 401, "it answers", within=SOON)
    finally:
        web.kill()


def _status(web: LiveServer, patience: float = 60.0) -> int:
    """Return the status for an unknown API key: 401 if the server can look it up."""
    headers = {"Authorization": f"Bearer ny_{'0' * 12}_{'A' * 43}"}
    found = httpx.get(f"{web.url}/runs/status", headers=headers, timeout=patience, trust_env=False)
    time.sleep(0.1)
    return found.status_code
