"""Orphaned groups: ended by evidence, and only by evidence."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.running import process_groups
from agents.running.processes import kill_if_same
from tests.markers.gone import until_gone

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


def orphan() -> tuple[dict[str, Any], subprocess.Popen[str]]:
    """A group as a killed worker leaves it: a leader and a child, nobody in charge."""
    code = """
import subprocess, time
print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""
    leader = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    return process_groups.identity_of(leader.pid), leader


def test_kill_if_same_ends_an_orphaned_group() -> None:
    identity, leader = orphan()
    assert leader.stdout is not None
    child = int(leader.stdout.readline())
    assert kill_if_same(identity) is True
    leader.wait()
    leader.stdout.close()
    assert until_gone(child)
    assert kill_if_same(identity) is False


@pytest.mark.parametrize(
    "wrong", [{"host": "elsewhere"}, {"started": "another start"}, {"started": ""}, {"pid": 0}]
)
def test_kill_if_same_spares_what_is_not_proven_to_be_the_same(wrong: dict[str, Any]) -> None:
    identity, leader = orphan()
    try:
        assert kill_if_same({**identity, **wrong}) is False
        assert leader.poll() is None
        assert kill_if_same({}) is False
    finally:
        os.killpg(leader.pid, signal.SIGKILL)
        leader.communicate()


@NEEDS_PROC
def test_kill_if_same_finds_a_group_whose_leader_is_gone_by_its_mark() -> None:
    mark = process_groups.new_mark()
    env = {"PATH": "/usr/bin:/bin", process_groups.MARK_VARIABLE: mark}
    argv = ["/bin/sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"]
    leader = subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    identity = process_groups.identity_of(leader.pid, mark)
    child = int(leader.communicate()[0])
    assert kill_if_same(identity) is True
    assert until_gone(child)


@pytest.mark.skipif(not shutil.which("ps"), reason="ps is not installed")
def test_the_start_of_a_process_is_also_known_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_groups, "_HAS_PROC", False)
    identity, leader = orphan()
    assert identity["started"]
    assert process_groups.started(leader.pid) == identity["started"]
    assert kill_if_same(identity, 0.2) is True
    leader.communicate()
    assert process_groups.started(leader.pid) == ""
