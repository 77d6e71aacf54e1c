"""What is open becomes an ask of unknown age, what was decided becomes history, and nobody an author."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from agents.models import Agent, InboxItem, Run, Session
from asks.ledger import verify
from asks.lifecycle import AskStatus
from asks.models import Ask, LedgerRecord, Verdict
from asks.queue import queries
from tests.ledger.world import agent_of, ask_of, decide, echo_of, home, person

pytestmark = pytest.mark.django_db
FILE = """\
# Approvals
- [ ] May I refund order 1182?
  Options: yes | no
- [ ] What should the report be called?
- [x] Deploy v2 — approved by Mia
- [ ] May I refund order 1182?

| Request | Status | Approved by |
|---------|--------|-------------|
| Buy disks | approved | Tom |
"""


@pytest.fixture
def owner() -> User:
    return person("olga")


@pytest.fixture
def agent(owner: User) -> Agent:
    return agent_of(owner)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "APPROVALS.md"
    path.write_text(FILE)
    return path


def apply(file: Path, agent: Agent) -> None:
    call_command("import_approvals", str(file), agent=agent.slug, owner="olga", apply=True)


def test_nothing_happens_without_apply(
    file: Path, agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("import_approvals", str(file), agent=agent.slug)
    said = capsys.readouterr().out
    assert "line 2     open     May I refund order 1182?  [yes | no]" in said
    assert "line 5     decided  Deploy v2  -> approved by Mia" in said
    assert "Nothing was imported" in said
    assert (Ask.objects.count(), LedgerRecord.objects.count()) == (0, 0)


def test_open_items_wait_with_unknown_age_and_decided_ones_are_history(
    file: Path, agent: Agent, owner: User, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(file, agent)
    assert "Imported 5: 3 wait for the owners" in capsys.readouterr().out
    waiting = queries.needs_you(owner).asks
    assert [ask.prompt for ask in waiting] == [
        "May I refund order 1182?",
        "What should the report be called?",
        "May I refund order 1182?",
    ]
    assert all(ask.imported and ask.free_text for ask in waiting)
    assert [option.label for option in waiting[0].options.all()] == ["yes", "no"]
    assert waiting[0].context == {"from": "APPROVALS.md, line 2", "under": "Approvals"}
    history = Ask.objects.filter(status=AskStatus.WITHDRAWN)
    assert [ask.close_reason for ask in history] == [
        "Imported. According to APPROVALS.md, Mia decided: approved by Mia",
        "Imported. According to APPROVALS.md, Tom decided: approved",
    ]


@pytest.mark.case("C37")
def test_nobody_becomes_an_author(file: Path, agent: Agent) -> None:
    """Even when a person of that very name is here."""
    person("Mia")
    apply(file, agent)
    assert Verdict.objects.count() == 0
    assert InboxItem.objects.count() == 0
    history = Ask.objects.filter(status=AskStatus.WITHDRAWN)
    assert [ask.closed_by for ask in history] == [None, None]
    for record in LedgerRecord.objects.all():
        assert (record.kind, record.actor) == ("imported", "human:olga")
    verify.verify_ledger()


def test_twice_imports_once(file: Path, agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    apply(file, agent)
    before = list(Ask.objects.values_list("pk", "request_key"))
    apply(file, agent)
    assert list(Ask.objects.values_list("pk", "request_key")) == before
    assert Session.objects.filter(agent=agent, is_home=False).count() == 1
    assert "Imported 0: " in capsys.readouterr().out


def test_a_file_that_grew_adds_only_what_is_new(file: Path, agent: Agent) -> None:
    apply(file, agent)
    file.write_text(f"Some words before.\n\n{FILE}\n- [ ] One more?\n")
    apply(file, agent)
    assert Ask.objects.count() == 6
    assert Session.objects.filter(agent=agent, is_home=False).count() == 1


def test_what_is_decided_in_the_file_since_stays_a_question_here_and_is_said(
    file: Path, agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(file, agent)
    ask = Ask.objects.get(prompt="What should the report be called?")
    file.write_text(
        FILE.replace(
            "[ ] What should the report be called?",
            "[x] What should the report be called? — decided by Mia",
        )
    )
    apply(file, agent)
    assert f"it is open here as question {ask.pk}" in capsys.readouterr().out
    assert Ask.objects.get(pk=ask.pk).status == AskStatus.OPEN
    assert Ask.objects.count() == 5


def test_an_imported_question_is_answered_like_any_other(
    file: Path, agent: Agent, owner: User
) -> None:
    apply(file, agent)
    ask = queries.needs_you(owner).asks[0]
    decide(ask, owner, "opt1")
    item = InboxItem.objects.get(session=ask.session)
    assert item.data["label"] == "yes"
    assert Run.objects.filter(session=ask.session, status="queued").exists()
    assert Ask.objects.filter(status=AskStatus.OPEN).count() == 2
    facts = json.loads(LedgerRecord.objects.get(kind="verdict").body)["facts"]
    assert facts["ask"]["imported"] is True
    verify.verify_ledger()


def test_the_queue_says_that_nobody_knows_how_long_it_waited(
    file: Path, agent: Agent, owner: User
) -> None:
    apply(file, agent)
    client = Client()
    client.force_login(owner)
    assert client.get("/").content.decode().count("imported, age unknown") == 3
    history = Ask.objects.filter(status=AskStatus.WITHDRAWN)[0]
    page = client.get(f"/asks/{history.pk}/").content.decode()
    assert "Imported. According to APPROVALS.md, Mia decided: " in page
    assert "took the question back" not in page


def test_what_waits_elsewhere_is_not_disturbed(file: Path, agent: Agent, owner: User) -> None:
    """An import must not move the world under an approval that is already shown."""
    (waiting,) = ask_of(home(agent), owner)
    echo = echo_of(waiting)
    apply(file, agent)
    assert echo_of(waiting) == echo
    decide(waiting, owner)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"agent": "nobody", "owner": "olga", "apply": True}, "no agent"),
        ({"owner": "olga", "apply": True}, "needs --agent"),
        ({"apply": True}, "needs --agent"),
    ],
)
def test_what_it_needs_is_said(
    file: Path, owner: User, words: dict[str, object], message: str
) -> None:
    del owner
    with pytest.raises(CommandError, match=message):
        call_command("import_approvals", str(file), **words)


def test_only_an_owner_imports(file: Path, agent: Agent) -> None:
    person("stranger")
    with pytest.raises(CommandError, match="not an owner"):
        call_command("import_approvals", str(file), agent=agent.slug, owner="stranger", apply=True)
    assert Ask.objects.count() == 0


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * (2 * 1024 * 1024 + 1)])
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=r"not UTF-8|larger than"):
        call_command("import_approvals", str(path))
    with pytest.raises(CommandError, match="no such file"):
        call_command("import_approvals", str(tmp_path / "missing.md"))


def test_an_item_that_cannot_be_asked_is_said_and_the_others_come(
    agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"- [ ] {'x' * 30_000}\n- [ ] May I?\n- [ ] esc \x1b[31m\n")
    apply(path, agent)
    said = capsys.readouterr()
    assert "line 1: The question has 30000 characters" in said.err
    assert "\x1b" not in said.out
    assert Ask.objects.count() == 2
