"""A bundle is checked on another machine by a script that knows nothing of this one."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from asks.ledger import anchors, bundle, signing_key
from tests.ledger.world import Draft, decided

pytestmark = pytest.mark.django_db
SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "verify_ledger.py"


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    decided(None, Draft(), Draft(prompt="Ein Wort, größer — 🚀?"))
    anchors.write_anchor()
    decided()
    anchors.write_anchor()
    bundle.export_bundle(tmp_path / "ledger.zip")
    return tmp_path / "ledger.zip"


def check(path: Path, *keys: str, tmp: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script as a stranger would: alone in a folder, with nothing of ours around it."""
    folder = tmp or path.parent / "elsewhere"
    folder.mkdir(exist_ok=True)
    script = folder / SCRIPT.name
    script.write_bytes(SCRIPT.read_bytes())
    given = [word for key in keys for word in ("--key", key)]
    return subprocess.run(
        [sys.executable, "-I", script.name, str(path), *given],
        cwd=folder,
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def key() -> str:
    return signing_key.public_key_of(signing_key.signing_key())


def test_a_whole_bundle_holds(exported: Path) -> None:
    said = check(exported, key())
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == "The ledger is valid: 3 records in 2 chains, 2 anchors.\n"


def test_another_key_is_not_believed(exported: Path) -> None:
    said = check(exported, "00" * 32)
    assert said.returncode == 1
    assert "not signed with the first --key" in said.stderr


def test_a_key_must_be_named(exported: Path) -> None:
    assert check(exported).returncode == 2


@pytest.mark.parametrize(
    "member", ["records.jsonl", "anchors.jsonl", "manifest.json", "manifest.sig"]
)
def test_a_changed_byte_of_any_member_is_found(exported: Path, member: str) -> None:
    content = _members(exported)
    for place in (0, len(content[member]) // 2, len(content[member]) - 1):
        changed = bytearray(content[member])
        changed[place] ^= 1
        _rewrite(exported, {**content, member: bytes(changed)})
        said = check(exported, key())
        assert said.returncode == 1, said.stdout
        assert said.stderr.startswith("BROKEN: ")


def test_missing_and_added_members_are_found(exported: Path) -> None:
    content = _members(exported)
    for members in ({**content, "more": b""}, {n: c for n, c in content.items() if n[0] != "a"}):
        _rewrite(exported, members)
        assert "must contain" in check(exported, key()).stderr


def test_a_cut_file_is_no_bundle(exported: Path) -> None:
    exported.write_bytes(exported.read_bytes()[:-40])
    assert "not a readable bundle" in check(exported, key()).stderr


@pytest.mark.parametrize("change", ["drop last", "swap", "repeat", "rewrite", "rewrite last"])
def test_whoever_may_sign_the_bundle_still_cannot_change_what_was_anchored(
    exported: Path, change: str
) -> None:
    """The manifest is signed anew over changed records: the anchors and the chain do not agree."""
    content = _members(exported)
    lines = content["records.jsonl"].splitlines(keepends=True)
    if change == "drop last":
        lines = lines[:-1]
    elif change == "swap":
        lines = [lines[1], lines[0], *lines[2:]]
    elif change == "repeat":
        lines = [lines[0], *lines]
    elif change == "rewrite last":
        lines[-1] = lines[-1].replace(b"refund", b"reward")
    else:
        lines[0] = lines[0].replace(b"refund", b"reward")
    content["records.jsonl"] = b"".join(lines)
    _rewrite(exported, _signed_anew(content))
    said = check(exported, key())
    assert said.returncode == 1
    assert "session:" in said.stderr


def _signed_anew(content: dict[str, bytes]) -> dict[str, bytes]:
    import hashlib

    manifest = json.loads(content["manifest.json"])
    for name in ("records.jsonl", "anchors.jsonl"):
        manifest["files"][name] = {
            "sha256": hashlib.sha256(content[name]).hexdigest(),
            "lines": content[name].count(b"\n"),
        }
    signed = json.dumps(manifest).encode()
    signature = signing_key.signing_key().sign(bundle.PREFIX + signed).hex().encode()
    return {**content, "manifest.json": signed, "manifest.sig": signature}


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def _rewrite(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)


def test_a_file_that_is_there_is_not_overwritten(exported: Path) -> None:
    with pytest.raises(CommandError, match="File exists"):
        call_command("ledger", "export", str(exported))
