"""`manage.py policy`: show an agent's policy, try a new one on past asks, and activate it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from agents.models import Agent
from agents.text import json_input
from agents.text.canonical_json import printable
from asks.policies import versions
from asks.policies.dry_run import dry_run
from workspace.management.database_command import DatabaseCommand


class Command(DatabaseCommand):
    help = "Show, try and change the policy of an agent: policy show|dry-run|add"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser("show", help="print the active policy, as JSON")
        show.add_argument("agent")
        tried = verbs.add_parser("dry-run", help="list the past asks that FILE would have changed")
        tried.add_argument("agent")
        tried.add_argument("file", type=Path)
        add = verbs.add_parser("add", help="activate FILE as the next version")
        add.add_argument("agent")
        add.add_argument("file", type=Path)
        add.add_argument("--why", required=True, help="the reason, for the record")
        add.add_argument("--by", required=True, help="the user who changes it")

    def handle(self, *_: Any, **options: Any) -> None:
        agent = Agent.objects.filter(slug=options["agent"]).first()
        if agent is None:
            raise CommandError(f"There is no agent {options['agent']}.")
        verb = {"show": self._show, "dry-run": self._dry_run, "add": self._add}[options["verb"]]
        try:
            verb(agent, options)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error

    def _show(self, agent: Agent, _: dict[str, Any]) -> None:
        policy = versions.policy_in_force(agent.pk)
        rules = policy.document.model_dump(mode="json", exclude_defaults=True)
        self.stderr.write(f"Version {policy.version}.")
        self.stdout.write(json.dumps(rules, indent=2))

    def _dry_run(self, agent: Agent, options: dict[str, Any]) -> None:
        changes = dry_run(agent, versions.check_rules(_read(options["file"])))
        for change in changes:
            line = f"{change.what}  {change.operation}: {'; '.join(change.changes)}"
            self.stdout.write(printable(line, 2000))
        self.stdout.write(f"Differences: {len(changes)}. Nothing was changed.")

    def _add(self, agent: Agent, options: dict[str, Any]) -> None:
        person = User.objects.filter(username=options["by"], is_active=True).first()
        if person is None:
            raise CommandError(f"There is no user {options['by']}.")
        rules = _read(options["file"])
        made = versions.add_version(agent_id=agent.pk, rules=rules, why=options["why"], by=person)
        self.stdout.write(f"Version {made.version} of {agent.slug} is active.")


def _read(file: Path) -> Any:
    try:
        return json_input.read_json(file.read_text())
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"{file} is not JSON: {error}.") from error
