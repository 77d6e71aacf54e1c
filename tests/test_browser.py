"""`python -m tests.browser` without a usable browser says what to do, and fails if required."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def broken(tmp_path: Path) -> dict[str, str]:
    """A machine where Playwright's Node.js does not start and nothing can be installed."""
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\nexit 127\n")
    node.chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": str(tmp_path), "PLAYWRIGHT_NODEJS_PATH": str(node)}


def browser(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.browser"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("named", [{}, {"E2E_BROWSER": "/usr/bin/some-browser"}])
def test_a_driver_that_does_not_start_is_explained(
    broken: dict[str, str], named: dict[str, str]
) -> None:
    tried = browser({**broken, **named})
    assert tried.stderr.startswith("Playwright does not start on this machine")
    assert "libatomic1" in tried.stderr
    assert tried.returncode == 0, "the tests skip, and say so"


@pytest.mark.parametrize("name", ["CI", "E2E_REQUIRED"])
def test_where_a_browser_is_required_it_fails(broken: dict[str, str], name: str) -> None:
    assert browser({**broken, name: "true"}).returncode == 1
