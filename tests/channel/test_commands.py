"""`manage.py signed_channel`: what is shown can be signed, and what is signed takes effect."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from asks.drafts import OptionDraft
from asks.lifecycle import Meaning
from asks.models import Ask, Verdict
from tests.channel.signing import Channel, shown
from tests.ledger.conftest import database
from tests.ledger.world import Draft, agent_of, ask_of, home, person

__all__ = ["database"]
PROJECT = Path(__file__).resolve().parents[2]


def run(channel: Channel, *words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {
        **os.environ,
        "NEEDS_YOU_STATE": str(channel.root / "state"),
        "SIGNED_CHANNEL": str(channel.folder),
        "SIGNED_CHANNEL_ALLOWED_SIGNERS": str(channel.allowed),
    }
    command = [sys.executable, "manage.py", "signed_channel", *words]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, check=False)


@pytest.mark.usefixtures("database")
def test_what_it_prints_is_typed_and_the_decision_takes_effect(channel: Channel) -> None:
    """The printed commands are run as they stand, but for the key, by a shell."""
    owner = person("mia")
    odd = OptionDraft("yes; it's $HOME", "Approve\u202e it", meaning=Meaning.APPROVE)
    draft = Draft(options=(odd,), money_critical=True)
    (ask,) = ask_of(home(agent_of(owner)), owner, draft)
    explained = run(channel, "show", str(ask.pk))
    assert shown(ask, odd.key).decode() in explained.stdout.decode()
    lines = [line.strip() for line in explained.stdout.decode().splitlines()]
    (show,) = (line for line in lines if line.startswith("manage.py signed_channel show"))
    (sign,) = (line for line in lines if line.startswith("ssh-keygen"))
    words = shlex.split(show)
    printed = run(channel, *words[2 : words.index(">")])
    assert printed.stdout == shown(ask, odd.key)
    (channel.folder / words[-1]).write_bytes(printed.stdout)
    sign = sign.replace("~/.ssh/id_ed25519", shlex.quote(str(channel.key("mia"))))
    subprocess.run(sign, shell=True, cwd=channel.folder, check=True, capture_output=True)  # noqa: S602
    scanned = run(channel, "scan")
    assert scanned.stdout.decode() == (
        f"ask-{ask.pk}-1.json: It is the verdict.\nNew files: 1. Took effect: 1.\n"
    )
    assert Verdict.objects.get(ask=ask).decided_by == owner


@pytest.mark.django_db
def test_a_label_cannot_reach_the_terminal(
    channel: Channel, capsys: pytest.CaptureFixture[str]
) -> None:
    del channel
    owner = person()
    odd = OptionDraft("yes", "Approve\x1b]0;owned\x07\u202e", meaning=Meaning.APPROVE)
    (ask,) = ask_of(home(agent_of(owner)), owner, Draft(options=(odd,), money_critical=True))
    call_command("signed_channel", "show", str(ask.pk))
    printed = capsys.readouterr().out
    assert "Approve" in printed
    assert not {"\x1b", "\x07", "\u202e"} & set(printed)


@pytest.mark.django_db
def test_only_what_is_open_and_gated_is_shown(ask: Ask) -> None:
    from asks import withdrawing

    (plain,) = ask_of(home(agent_of(person())), person(), Draft())
    with pytest.raises(CommandError, match="not decided by signature"):
        call_command("signed_channel", "show", str(plain.pk))
    with pytest.raises(CommandError, match="not offered"):
        call_command("signed_channel", "show", str(ask.pk), "--option", "maybe")
    withdrawing.withdraw_ask(ask_id=ask.pk, by=ask.agent.owners.get())
    with pytest.raises(CommandError, match="already withdrawn"):
        call_command("signed_channel", "show", str(ask.pk))


@pytest.mark.django_db
def test_without_a_folder_a_scan_says_so() -> None:
    with pytest.raises(CommandError, match="no signed channel"):
        call_command("signed_channel", "scan")
