"""The README's first agent, connected with the README's command and run by a real worker."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable

from django.contrib.auth.models import User
from django.core.management import call_command

from agents.models import Run, Session
from asks import answering
from asks.models import Ask
from tests.dispatch.world import Worker, said, start, until
from workspace.local.state import PROJECT

README = (PROJECT / "README.md").read_text()
AGENT = PROJECT / "docs" / "first_agent.py"


def test_the_first_agent_asks_reads_its_answer_and_continues(
    owner: User, start_worker: Callable[..., Worker]
) -> None:
    (line,) = re.findall(r"manage\.py (agent add .*first_agent.*)", README)
    words = shlex.split(line.replace("$PWD", str(PROJECT)).replace("--owner owner", "--owner olga"))
    words[words.index("python3")] = sys.executable
    call_command(*words)
    session = Session.objects.get(agent__slug="deploy")
    start_worker()

    waiting = until(start(session, owner), "waiting_human")
    ask = Ask.objects.get()
    assert ask.prompt == "Where shall I deploy release 2.4?"
    assert [(one.label, one.style) for one in ask.options.order_by("position")] == [
        ("staging", "default"),
        ("production", "danger"),
    ]
    answering.answer_ask(ask_id=ask.pk, by=owner, option=ask.options.get(label="staging").key)

    until(Run.objects.exclude(pk=waiting.pk).get(), "completed")
    assert "Release 2.4 is on staging." in said(session)


def test_the_readme_shows_it_whole() -> None:
    assert f"```python\n{AGENT.read_text()}```" in README


def test_it_needs_nothing_but_python() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", AGENT], input="", capture_output=True, text=True, check=True
    )
    assert (
        done.stdout == "ASK: Where shall I deploy release 2.4?\nOPTIONS: staging | production (!)\n"
    )
