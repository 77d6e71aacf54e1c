"""What all commands share: the state folder, and one sentence when there is no database."""

import os
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django import Settings

from tests.live_server import free_port
from workspace.local.lock import InstanceLock, running_ports
from workspace.local.state import PROJECT, take_state_option
from workspace.management.database_command import NO_DATABASE


@pytest.mark.parametrize(
    ("line", "left", "folder"),
    [
        (["manage.py", "key", "list", "--state", "/s"], ["manage.py", "key", "list"], "/s"),
        (["manage.py", "key", "--state=/s", "list"], ["manage.py", "key", "list"], "/s"),
        (["manage.py", "--state", "/s", "up"], ["manage.py", "up"], "/s"),
        (["manage.py", "up", "--state"], ["manage.py", "up", "--state"], None),
        (
            ["manage.py", "agent", "add", "x", "--", "it", "--state", "/s"],
            ["manage.py", "agent", "add", "x", "--", "it", "--state", "/s"],
            None,
        ),
    ],
)
def test_state_works_for_every_command(
    line: list[str], left: list[str], folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEEDS_YOU_STATE")
    take_state_option(line)
    assert line == left
    assert os.environ.get("NEEDS_YOU_STATE") == folder
    os.environ.pop("NEEDS_YOU_STATE", None)


@pytest.mark.parametrize("command", [["key", "list"], ["signin_link", "owner"]])
@pytest.mark.parametrize("how", ["state", "url"])
def test_without_a_database_a_command_says_so_in_one_sentence(
    command: list[str], how: str, tmp_path: Path
) -> None:
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    if how == "url":
        env["DATABASE_URL"] = f"postgresql://somebody:secret@127.0.0.1:{free_port()}/nowhere"
    ran = subprocess.run(
        [sys.executable, "manage.py", *command, "--state", str(tmp_path)],
        cwd=PROJECT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"CommandError: {NO_DATABASE}\n"


@pytest.mark.django_db
def test_a_link_leads_to_the_port_that_runs(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORT", raising=False)
    settings.STATE_DIR = tmp_path
    User.objects.create_user("alice")
    lock, killed = InstanceLock(tmp_path, 8123), tmp_path / "up-8001.lock"
    killed.write_text("1")
    assert lock.take()
    assert running_ports(tmp_path) == [8123]
    out = StringIO()
    call_command("signin_link", "alice", stdout=out)
    assert out.getvalue().startswith("http://127.0.0.1:8123/enter/")
    lock.release()
    assert running_ports(tmp_path) == []


COMMANDS = [
    *(["agent", "retire", "x", "--by", "y"], ["policy", "show", "x"], ["ledger", "verify"]),
    *(["ledger", "key"], ["webhook", "list"], ["signed_channel", "scan"], ["build_world", "demo"]),
    *(["import_approvals", "x.md"], ["migrate"], ["createsuperuser"], ["shell", "-c", "1"]),
    *(["changepassword", "x"], ["worker"], ["web", "--port", "0"], ["dbshell"], ["flush"]),
]


def run_without_a_database(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an empty state folder."""
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    env |= {"NEEDS_YOU_STATE": str(state)}
    env.pop("SECRET_KEY", None)
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=PROJECT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_any_command_without_a_database_is_one_sentence_and_leaves_nothing(
    command: list[str], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    began = time.monotonic()
    ran = run_without_a_database(state, *command)
    assert time.monotonic() - began < 8
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"CommandError: {NO_DATABASE}\n"
    assert not state.exists()


@pytest.mark.parametrize("command", [["help"], ["key", "--help"], ["up", "--help"], ["version"]])
def test_help_needs_no_database_and_makes_no_key(command: list[str], tmp_path: Path) -> None:
    state = tmp_path / "state"
    ran = run_without_a_database(state, *command)
    assert ran.returncode == 0, ran.stderr
    assert not state.exists()


@pytest.mark.parametrize("name", ["agent", "key", "ledger", "policy", "webhook", "signin_link"])
def test_every_help_names_the_state_folder(name: str, tmp_path: Path) -> None:
    assert "--state DIR" in run_without_a_database(tmp_path, name, "--help").stdout


def test_an_empty_state_is_refused(tmp_path: Path) -> None:
    ran = run_without_a_database(tmp_path, "key", "list", "--state=")
    assert (ran.returncode, ran.stderr) == (1, "--state needs the name of a folder.\n")


@pytest.mark.django_db
def test_what_is_printed_is_the_running_instances_own_address(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORT", raising=False)
    settings.STATE_DIR = tmp_path
    lock = InstanceLock(tmp_path, 8123)
    assert lock.take()
    lock.name_address("http://[::1]:8123")
    assert lock.holder() == str(os.getpid())
    User.objects.create_user("alice")
    out = StringIO()
    call_command("agent", "add", "x", "--owner", "alice", "--", "echo", stdout=out)
    assert out.getvalue().endswith(" http://[::1]:8123/agents/x/\n")
    lock.release()


@pytest.mark.django_db
def test_a_proxys_address_is_printed(tmp_path: Path, settings: Settings) -> None:
    settings.STATE_DIR, settings.ALLOWED_HOSTS, settings.HTTPS = tmp_path, ["ask.example"], True
    User.objects.create_user("alice")
    out = StringIO()
    call_command("signin_link", "alice", stdout=out)
    assert out.getvalue().startswith("https://ask.example/enter/")
