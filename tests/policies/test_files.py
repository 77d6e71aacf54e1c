"""Files that an action names are bound by their content: an approval is for these bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents.models import Agent, Session
from asks.actions import bound_files
from asks.answering import Answered, answer_ask
from asks.drafts import ActionDraft
from asks.lifecycle import Reason
from asks.models import Ask
from asks.refusals import Refused
from tests import factories
from tests.effects import redeem_grant
from tests.factories import echo_of, verdict_on
from tests.policies.world import asked, in_force

pytestmark = pytest.mark.django_db
RUN = ActionDraft("execute", {"command": "sh deploy/script.sh --now"})


@pytest.fixture
def folder(agent: Agent, tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "deploy").mkdir(parents=True)
    (root / "deploy" / "script.sh").write_text("echo ok\n")
    Agent.objects.filter(pk=agent.pk).update(settings={"cwd": str(root)})
    agent.refresh_from_db()
    in_force(agent, {"operation": "execute", "bind_files": ["command"]})
    return root


@pytest.fixture
def ask(folder: Path, session: Session) -> Ask:
    return asked(session, RUN)


def refused(ask: Ask, by: User) -> Refused:
    result = answer_ask(ask_id=ask.pk, by=by, option="approve", echo=echo_of(ask))
    assert isinstance(result, Refused), result
    return result


@pytest.mark.case("C23")
def test_a_script_that_changes_while_it_waits_makes_the_answer_stale(
    ask: Ask, folder: Path, owner: User
) -> None:
    assert ask.gate.files["deploy/script.sh"].startswith("sha256:")
    (folder / "deploy" / "script.sh").write_text("rm -rf /\n")
    result = refused(ask, owner)
    assert result.reason == Reason.STALE
    assert result.replaced_by is not None
    fresh = result.replaced_by
    assert fresh.gate.files["deploy/script.sh"] != ask.gate.files["deploy/script.sh"]
    done = answer_ask(ask_id=fresh.pk, by=owner, option="approve", echo=echo_of(fresh))
    assert isinstance(done, Answered)


@pytest.mark.case("C23")
def test_and_one_that_changes_after_the_approval_is_not_run(
    ask: Ask, folder: Path, session: Session, owner: User
) -> None:
    verdict_on(ask, owner)
    script = folder / "deploy" / "script.sh"
    script.write_text("rm -rf /\n")
    take = {"session_id": session.pk, "operation": RUN.operation, "params": RUN.params}
    assert redeem_grant(**take) is None
    script.write_text("echo ok\n")
    assert redeem_grant(**take) is None, "it has lapsed: who wants it now asks again"


_opened: list[str] = []
sys.addaudithook(
    lambda event, arguments: _opened.append(str(arguments[0])) if event == "open" else None
)


def test_a_bound_file_is_read_once_per_raise(folder: Path, session: Session) -> None:
    """A script that changed between two reads would be compared as one thing and bound as another."""
    same = factories.draft("deploy", action=RUN)
    _opened.clear()
    factories.ask(session, same, same)  # the first is stored, the second compared with it
    assert _opened.count("script.sh") == 2


def test_one_that_stays_as_it_is_can_be_approved(ask: Ask, folder: Path, owner: User) -> None:
    os.utime(folder / "deploy" / "script.sh", (1, 1))
    assert isinstance(
        answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask)), Answered
    )


def test_a_file_that_comes_to_be_is_a_change_too(
    folder: Path, session: Session, owner: User
) -> None:
    ask = asked(session, ActionDraft("execute", {"command": "sh later.sh"}))
    assert ask.gate.files["later.sh"] == "missing"
    (folder / "later.sh").write_text("rm -rf /\n")
    assert refused(ask, owner).reason == Reason.STALE


def test_the_draft_itself_can_name_files(folder: Path, session: Session, owner: User) -> None:
    named = ActionDraft("deploy", {"n": 1}, files=("deploy/script.sh",))
    ask = asked(session, named)
    (folder / "deploy" / "script.sh").write_text("another\n")
    assert refused(ask, owner).reason == Reason.STALE


def test_what_cannot_be_bound_is_said(folder: Path, agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "dir").symlink_to(tmp_path)
    os.link(tmp_path / "secret", folder / "hard")
    os.mkfifo(folder / "pipe")
    (folder / "large").write_bytes(b"")
    os.truncate(folder / "large", bound_files.MOST_BYTES + 1)
    outside = ["../secret", "/etc/passwd", "a/../../x", ".", ""]
    names = [*outside, "link", "dir/secret", "hard", "pipe", "large", "deploy"]
    found = {name: bound_files.digest_file(agent, name) for name in names}
    assert [name for name, said in found.items() if not said.startswith("unbound: ")] == []
    assert "outside" in found["../secret"]
    assert "symbolic link" in found["link"]


def test_an_agent_without_a_folder_binds_nothing_and_says_so(session: Session) -> None:
    in_force(session.agent, {"operation": "execute", "bind_files": ["command"]})
    ask = asked(session, RUN)
    assert ask.gate.files["sh"] == "unbound: the agent has no folder"


def test_an_absolute_path_into_the_folder_is_the_same_file(folder: Path, agent: Agent) -> None:
    inside = str(folder / "deploy" / "script.sh")
    assert bound_files.digest_file(agent, inside) == bound_files.digest_file(
        agent, "deploy/script.sh"
    )


@pytest.mark.parametrize(
    "command", ["unclosed 'quote", "", "-x -y", "\u0000bad", ["a", 1, None], 7]
)
def test_odd_commands_bind_what_they_can(folder: Path, session: Session, command: object) -> None:
    params = {"command": command} if command != "\u0000bad" else {"command": "x"}
    assert asked(session, ActionDraft("execute", params)) is not None
