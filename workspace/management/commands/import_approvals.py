from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from agents.models import Agent
from agents.text.canonical_json import printable
from asks.approvals_import import (
    ApprovalItem,
    Contents,
    Planned,
    import_items,
    parse_approvals,
    plan_import,
)
from workspace.management.database_command import DatabaseCommand

MOST_BYTES = 2 * 1024 * 1024
MOST_ITEMS = 5000


class Command(DatabaseCommand):
    help = "Import a markdown approvals file. Without --apply, only show what would be imported."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--agent", metavar="SLUG", help="the agent that asks these questions")
        parser.add_argument(
            "--owner", metavar="USER", help="the owner of the agent who imports them"
        )
        parser.add_argument("--apply", action="store_true", help="import them")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["path"]
        contents = parse_approvals(_text(path))
        if len(contents.items) > MOST_ITEMS:
            raise CommandError(
                f"{path} contains {len(contents.items)} items; at most {MOST_ITEMS} can be imported."
            )
        if options["apply"] and not (options["agent"] and options["owner"]):
            raise CommandError("--apply needs --agent SLUG and --owner USER.")
        agent = _agent(options["agent"]) if options["agent"] else None
        owner = _owner(options["owner"], agent) if options["owner"] else None
        self._show(contents, plan_import(contents.items, file=path.name, agent=agent))
        if options["apply"] and agent is not None and owner is not None:
            return self._apply(contents.items, path.name, agent, owner)
        self.stdout.write("Nothing was imported. Add --agent SLUG --owner USER --apply to import.")
        return None

    def _show(self, contents: Contents, planned: list[Planned]) -> None:
        for known in planned:
            state = "decided" if known.item.decision else "open"
            self._line(known.item.line, "known" if known.is_known else state, _summary(known.item))
            for note in filter(None, [known.item.note, _moved_on(known)]):
                self.stdout.write(f"{'':19}{printable(note, 200)}")
        for line, why in contents.left_out:
            self._line(line, "left out", why)

    def _line(self, line: int, state: str, words: str) -> None:
        self.stdout.write(f"line {line:<5} {state:<8} {words}")

    def _apply(self, items: list[ApprovalItem], file: str, agent: Agent, owner: User) -> None:
        made, refused = import_items(items, file=file, agent=agent, by=owner)
        for item, why in refused:
            self.stderr.write(f"line {item.line}: {why}")
        waiting = sum(ask.status == "open" for ask in made)
        self.stdout.write(
            f"Imported {len(made)}: {waiting} wait for the owners of {agent.slug}, "
            f"{len(made) - waiting} are already decided."
        )


def _summary(item: ApprovalItem) -> str:
    words = printable(" ".join(item.text.split()), 90)
    if item.options:
        words += printable(f"  [{' | '.join(item.options)}]", 90)
    return words + (printable(f"  -> {item.decision}", 90) if item.decision else "")


def _moved_on(known: Planned) -> str:
    """Say what to do if an item was imported open and has been decided in the file since."""
    if known.ask is None or known.ask.status != "open" or not known.item.decision:
        return ""
    return f"it is open here as question {known.ask.pk}: answer or withdraw it here"


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {(error.strerror or '').lower()}.") from error
    if len(content) > MOST_BYTES:
        raise CommandError(f"{path} is larger than {MOST_BYTES} bytes.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text.") from error


def _agent(slug: str) -> Agent:
    agent = Agent.objects.filter(slug=slug).first()
    if agent is None:
        raise CommandError(f"There is no agent “{slug}”. Connect it first: manage.py agent add.")
    return agent


def _owner(name: str, agent: Agent | None) -> User:
    owner = User.objects.filter(username=name, is_active=True).first()
    if owner is None:
        raise CommandError(f"There is no user “{name}”.")
    if agent is not None and not agent.owners.filter(pk=owner.pk).exists():
        raise CommandError(f"{name} is not an owner of {agent.slug}.")
    return owner
