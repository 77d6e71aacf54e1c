"""Every command that README and docs print is run in a shell, as a reader would paste it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from tests.pages import world

PROJECT = Path(__file__).resolve().parent.parent
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
OURS = sorted(name for name, app in get_commands().items() if app == "workspace")
#: Words that a reader replaces, and what stands there in this test.
WORDS = {
    "SLUG": "fresh",
    "USER": "olivia",
    "NAME": "app",
    "AGENT": "billing",
    "FILE": "rules.json",
    "WORDS": "because",
    "URL": "https://example.com/hook",
    "HASH": "0" * 64,
    "HOURS": "2",
    "ID": "1",
    "APPROVALS.md": "APPROVALS.md",
}
#: They run until they are stopped: their help tells whether the line parses.
SERVE = frozenset({"up", "web", "worker"})


def printed(page: Path) -> Iterator[str]:
    """Yield each command line of a page that calls manage.py, whole."""
    text = re.sub(r" *\\\n\s+", " ", page.read_text())
    for line in text.splitlines():
        found = re.match(r"(?:    |\$ )*((?:\.venv/bin/python )?manage\.py [a-z_]+.*)$", line)
        if found:
            yield found[1].rstrip()
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`(manage\.py [a-z_]+[^`\n]*(?:\n[^`\n]+)?)`", prose):
        words = " ".join(span.split())
        yield words if "-" in words else f"{words} --help"  # a name alone is no whole command


#: Each line once, with a page on which it stands.
LINES = sorted({line: page.name for page in PAGES for line in printed(page)}.items())


def as_typed(line: str) -> str:
    """Keep what is optional, and put a reader's own words in place of the capitals."""
    line = line.replace("[", "").replace("]", "")
    line = re.sub(r"^(\.venv/bin/python )?manage\.py", f"{sys.executable} manage.py", line)
    return re.sub(r"(?<![\w/])[A-Z]+\b", lambda word: WORDS.get(word[0], word[0]), line)


@pytest.fixture
def folder(transactional_db: None, tmp_path: Path) -> Path:
    """Return a folder with the files that the manuals name; the database has the people."""
    owners = [
        User.objects.create_user(name, is_superuser=True) for name in ("olivia", "owner", "mia")
    ]
    world.agent_of(*owners, slug="release-train")
    (tmp_path / "rules.json").write_text("{}")
    (tmp_path / "APPROVALS.md").write_text("# Approvals\n")
    return tmp_path


def test_there_are_many() -> None:
    assert len(LINES) > 25


@pytest.mark.parametrize(("line", "page"), LINES, ids=[f"{page}: {line}" for line, page in LINES])
def test_a_printed_command_runs(line: str, page: str, folder: Path) -> None:
    del page
    typed = as_typed(line)
    verb = re.search(r"manage\.py ([a-z_]+)", typed)
    assert verb
    if verb[1] in SERVE and "--help" not in typed:
        typed += " --help"
    typed = typed.replace(" manage.py ", f" {shlex.quote(str(PROJECT / 'manage.py'))} ")
    ran = subprocess.run(
        ["bash", "-c", typed],
        cwd=folder,
        env={**os.environ, "PWD": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in ran.stderr
    assert "usage:" not in ran.stderr, ran.stderr
    if ran.returncode:
        # The world of this test is small: there may be no such thing, and the command says so.
        assert ran.returncode == 1, ran.stderr
        assert re.match(r"CommandError: ", ran.stderr), ran.stderr


@pytest.mark.parametrize("name", OURS)
def test_no_command_takes_an_option_of_djangos(name: str) -> None:
    """Django takes these from every command line, wherever they stand on it."""
    theirs = _options(BaseCommand().create_parser("manage.py", "any")) - {"-h", "--help"}
    parser = load_command_class("workspace", name).create_parser("manage.py", name)
    assert not set().union(*(_options(sub) & theirs for sub in _below(parser)))


def _options(parser: ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings}


def _below(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    """Yield the parsers of a command's verbs."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for sub in action.choices.values():
                yield sub
                yield from _below(sub)
