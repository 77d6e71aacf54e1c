"""What the README and its tables in docs/ name exists: commands, settings, addresses, refusals, files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from agents.running import runtime
from asks.lifecycle import HTTP_STATUS, Reason
from workspace.apps import RUNTIMES

PROJECT = Path(__file__).resolve().parent.parent
README = (PROJECT / "README.md").read_text()
DOCS = sorted((PROJECT / "docs").glob("*.md"))
SOURCES = [
    path for folder in ("agents", "asks", "workspace") for path in (PROJECT / folder).rglob("*.py")
]


def rows(heading: str, page: str = "README.md") -> list[list[str]]:
    """Return the cells of the first table below a heading of a page."""
    text = (PROJECT / page).read_text()
    section = re.split(rf"^#+ {heading}\n", text, maxsplit=1, flags=re.MULTILINE)[1]
    section = section.split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_make_targets_exist() -> None:
    named = set(re.findall(r"make ([a-z-]+)", README))
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert {"up", "test"} <= named
    assert named <= targets


def test_the_commands_exist() -> None:
    named = set(re.findall(r"manage\.py ([a-z_]+)", README))
    assert {"web", "worker", "agent", "signin_link"} <= named
    assert named <= set(get_commands())


def test_the_settings_are_read_and_all_are_named() -> None:
    named = set(
        re.findall(
            r"`([A-Z_]{4,})`", " ".join(row[0] for row in rows("Settings", "docs/settings.md"))
        )
    )
    read = set()
    for path in SOURCES:
        read |= set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", path.read_text()))
    by_others = {"DJANGO_SETTINGS_MODULE", "XDG_STATE_HOME", "PORT", "DEMO_PACE", "PATH"}
    assert named - by_others <= read
    assert read - by_others <= named


def test_the_refusals_are_all_there_with_their_status() -> None:
    listed = {
        row[0].strip("`"): int(row[1])
        for row in rows("Refusals and status codes", "docs/refusals.md")
    }
    assert listed == {str(reason): HTTP_STATUS[reason] for reason in Reason}


@pytest.mark.parametrize("address", re.findall(r"`(/[a-z0-9/]+)`", README))
def test_the_addresses_exist(address: str) -> None:
    if address.startswith("/var/"):
        return
    try:
        resolve(address)
    except Resolver404:
        pytest.fail(f"{address} is no address")


@pytest.mark.parametrize("page", [PROJECT / "README.md", *DOCS], ids=lambda page: page.name)
def test_the_links_lead_somewhere(page: Path) -> None:
    targets = set(re.findall(r"\]\(([^)#:]+)\)", page.read_text()))
    assert {target for target in targets if not (page.parent / target).exists()} == set()


def test_the_index_lists_every_manual() -> None:
    listed = set(re.findall(r"\]\(([^)#:]+)\)", (PROJECT / "docs" / "README.md").read_text()))
    assert {page.name for page in DOCS} - {"README.md"} <= listed


def test_a_newcomer_reads_the_readme_at_a_sitting() -> None:
    assert len(README.splitlines()) <= 150


def test_the_runtimes_are_all_there() -> None:
    cells = " ".join(row[1] for row in rows("Other agents, other programs"))
    keys = runtime.runtime_keys()
    ours = {key for key in keys if _is_ours(runtime.find_runtime(key))}
    assert set(re.findall(r"`([a-z-]+)`", cells)) == ours == set(RUNTIMES)
    assert all(runtime.find_runtime(key).key == key for key in ours)


def _is_ours(found: runtime.Runtime) -> bool:
    """Tests register runtimes of their own in the same process."""
    return type(found).__module__.startswith("workspace.")


def test_the_folders_are_there() -> None:
    for row in rows("The folders"):
        for folder in re.findall(r"`([a-z]+)/`", row[0]):
            assert (PROJECT / folder).is_dir()


def test_the_example_of_connecting_an_agent_is_one_that_parses() -> None:
    """The command of the README, with --help in place of what it would do."""
    line = re.search(r"manage\.py (agent add .*?) --owner", README)
    assert line
    asked = subprocess.run(
        [sys.executable, "manage.py", "agent", "add", "--help"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for option in re.findall(r"--[a-z]+", README.split("manage.py agent add", 1)[1].split("\n")[0]):
        if option != "--print":
            assert option in asked.stdout
