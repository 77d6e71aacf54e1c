"""What lies in the folder may be anything, and may change while it is read."""

from __future__ import annotations

import os
import threading

import pytest
from pytest_django import Settings

from asks.lifecycle import Reason
from asks.models import Ask, Refusal, Verdict
from asks.signed_channel import decision_files, safe_files
from tests.channel.signing import Channel, shown

pytestmark = pytest.mark.django_db


def why_not(channel: Channel) -> str:
    """What the one file in the folder is turned down for."""
    (seen,) = decision_files.scan_folder()
    assert not seen.answered
    assert Refusal.objects.get().reason == Reason.UNPROVEN
    assert Verdict.objects.count() == 0
    return seen.why


def test_a_symbolic_link_is_not_followed(channel: Channel, ask: Ask) -> None:
    inside = channel.decide(ask)
    outside = inside.rename(channel.root / "outside.json")
    inside.symlink_to(outside)
    assert "symbolic link" in why_not(channel)


def test_a_linked_signature_is_not_followed(channel: Channel, ask: Ask) -> None:
    signature = channel.decide(ask).with_name(f"ask-{ask.pk}.json.sig")
    outside = signature.rename(channel.root / "outside.sig")
    signature.symlink_to(outside)
    assert "symbolic link" in why_not(channel)


def test_a_second_name_of_a_file_elsewhere_is_not_read(channel: Channel, ask: Ask) -> None:
    path = channel.decide(ask)
    (channel.root / "elsewhere.json").hardlink_to(path)
    assert "second hard link" in why_not(channel)


def test_a_folder_and_a_pipe_are_no_files(channel: Channel, ask: Ask) -> None:
    del ask
    (channel.folder / "folder.json").mkdir()
    os.mkfifo(channel.folder / "pipe.json")
    assert [seen.why for seen in decision_files.scan_folder()] == [
        "folder.json: it is not a regular file. Nothing was approved.",
        "pipe.json: it is not a regular file. Nothing was approved.",
    ]


def test_a_huge_file_is_not_read(channel: Channel, ask: Ask) -> None:
    path = channel.decide(ask)
    with path.open("ab") as file:
        file.truncate(decision_files.MOST_DOCUMENT + 1)
    assert "larger than" in why_not(channel)


def test_a_decision_without_its_signature_waits_for_it(channel: Channel, ask: Ask) -> None:
    path = channel.decide(ask)
    signature = path.with_name(f"{path.name}.sig")
    kept = signature.read_bytes()
    signature.unlink()
    assert decision_files.scan_folder() == []
    signature.write_bytes(kept)
    assert decision_files.scan_for_worker() == 1


def test_a_name_that_is_no_text(channel: Channel, ask: Ask) -> None:
    path = channel.decide(ask)
    strange = os.fsdecode(b"ask-\xff\x1b[31m.json")
    path.with_name(f"{path.name}.sig").unlink()
    path.rename(channel.folder / strange)
    (channel.folder / f"{strange}.sig").write_text("no signature")
    assert "Nothing was approved" in why_not(channel)


def test_other_files_are_none_of_its_business(channel: Channel) -> None:
    (channel.folder / "README.md").write_text("our decisions")
    (channel.folder / ".git").mkdir()
    assert decision_files.scan_folder() == []


@pytest.mark.parametrize("name", ["../outside.json", "/etc/passwd", "..", ".", ""])
def test_a_name_that_leads_out_is_not_opened(channel: Channel, name: str) -> None:
    (channel.root / "outside.json").write_text("{}")
    with (
        safe_files.open_folder(str(channel.folder)) as folder,
        pytest.raises(safe_files.UnreadableFile, match="leads out"),
    ):
        safe_files.read_file(name, at=folder, most=100)


def test_a_folder_swapped_while_it_is_open_stays_the_one_that_was_opened(channel: Channel) -> None:
    (channel.folder / "a.json").write_text("first")
    with safe_files.open_folder(str(channel.folder)) as folder:
        channel.folder.rename(channel.root / "moved")
        channel.folder.mkdir()
        (channel.folder / "a.json").write_text("second")
        assert safe_files.read_file("a.json", at=folder, most=100) == b"first"


def test_an_editor_at_work_cannot_slip_another_decision_under_a_signature(
    channel: Channel, ask: Ask
) -> None:
    """While the folder is read, the file flips between what was signed and its opposite."""
    signed = shown(ask, "no")
    path = channel.put("a.json", signed)
    opposite = shown(ask, "yes")
    done = threading.Event()

    def edit() -> None:
        while not done.is_set():
            path.write_bytes(opposite)
            (channel.root / "new").write_bytes(signed)
            (channel.root / "new").rename(path)

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for _ in range(10):
            decision_files.scan_folder()
    finally:
        done.set()
        editor.join()
    path.write_bytes(signed)
    decision_files.scan_folder()
    assert Verdict.objects.get(ask=ask).meaning == "deny"
    for refusal in Refusal.objects.all():
        assert refusal.reason == Reason.UNPROVEN


def test_too_many_files_are_said_and_none_is_read(
    channel: Channel, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel.decide(ask)
    monkeypatch.setattr(decision_files, "MOST_FILES", 0)
    with pytest.raises(decision_files.ChannelError, match="more than 0 decisions"):
        decision_files.scan_folder()
    assert decision_files.scan_for_worker() == 0


class TestAllowedSigners:
    """Whoever may write this file may sign: it must be nobody's but its owner's."""

    def test_it_must_be_named(self, channel: Channel, settings: Settings) -> None:
        del channel
        settings.SIGNED_CHANNEL_ALLOWED_SIGNERS = ""
        with pytest.raises(decision_files.ChannelError, match="must name"):
            decision_files.scan_folder()

    def test_it_must_lie_elsewhere(self, channel: Channel, settings: Settings) -> None:
        inside = channel.allowed.rename(channel.folder / "allowed_signers")
        settings.SIGNED_CHANNEL_ALLOWED_SIGNERS = str(inside)
        with pytest.raises(decision_files.ChannelError, match="must not be inside"):
            decision_files.scan_folder()

    @pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
    def test_nobody_else_may_write_it(self, channel: Channel, ask: Ask, mode: int) -> None:
        channel.decide(ask)
        channel.allowed.chmod(mode)
        with pytest.raises(decision_files.ChannelError, match="others than its owner"):
            decision_files.scan_folder()
        assert decision_files.scan_for_worker() == 0
        assert Verdict.objects.count() == 0

    def test_it_is_no_link(self, channel: Channel) -> None:
        moved = channel.allowed.rename(channel.root / "moved")
        channel.allowed.symlink_to(moved)
        with pytest.raises(decision_files.ChannelError, match="symbolic link"):
            decision_files.scan_folder()

    def test_it_must_be_there(self, channel: Channel) -> None:
        channel.allowed.unlink()
        with pytest.raises(decision_files.ChannelError, match="cannot be read"):
            decision_files.scan_folder()


def test_a_missing_folder_is_said(channel: Channel) -> None:
    channel.folder.rmdir()
    with pytest.raises(decision_files.ChannelError, match="No such file"):
        decision_files.scan_folder()


def test_a_missing_keygen_is_said_with_how_to_get_it(
    channel: Channel, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel.put("a.json", shown(ask))
    monkeypatch.setenv("PATH", str(channel.folder))
    with pytest.raises(decision_files.ChannelError, match="openssh-client"):
        decision_files.scan_folder()
    assert Refusal.objects.count() == 0
