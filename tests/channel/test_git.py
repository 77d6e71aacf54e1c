"""The folder of decisions as a git work tree: what is pulled is judged, and git's own files are not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from asks.models import Ask, SignedFile, Verdict
from asks.signed_channel import decision_files
from tests.channel.signing import Channel

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not shutil.which("git"), reason="needs git"),
]


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=mia", "-c", "user.email=mia@example.com"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_a_decision_that_is_pulled_takes_effect(channel: Channel, ask: Ask, tmp_path: Path) -> None:
    """Signed in one clone, pushed, and pulled into the work tree that the workspace reads."""
    shared = tmp_path / "shared.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(shared))
    git(channel.folder, "init", "-q", "-b", "main")
    git(channel.folder, "remote", "add", "origin", str(shared))
    git(channel.folder, "commit", "-q", "--allow-empty", "-m", "Nothing is decided yet.")
    git(channel.folder, "push", "-q", "-u", "origin", "main")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(shared), str(clone))

    for file in (channel.decide(ask), channel.folder / f"ask-{ask.pk}.json.sig"):
        file.rename(clone / file.name)
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "Pay it.")
    git(clone, "push", "-q")
    assert decision_files.scan_folder() == []

    git(channel.folder, "pull", "-q")
    assert [seen.answered for seen in decision_files.scan_folder()] == [True]
    assert Verdict.objects.get().via == "signed"
    assert SignedFile.objects.count() == 1
    assert subprocess.run(
        ["git", "status", "--porcelain"],
        cwd=channel.folder, check=True, capture_output=True,
    ).stdout == b"", "the workspace wrote nothing there"  # fmt: skip
