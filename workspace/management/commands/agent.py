from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from agents.lifecycle import AgentState
from agents.models import Agent
from agents.registration import register_agent
from agents.running import runtime
from agents.text import json_input
from asks.retirement import retire_agent
from workspace.local.address import base_url
from workspace.management.database_command import DatabaseCommand


class Command(DatabaseCommand):
    help = (
        "Connect an agent: agent add SLUG --owner USER -- COMMAND … for a local command, "
        "agent connect SLUG --owner USER --runtime KEY --options JSON for another protocol. "
        "Retire one for good: agent retire SLUG --by USER"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|connect|retire")
        add = verbs.add_parser("add", help="connect an agent that runs as a local command")
        _describe(add)
        _say_how_it_runs(add)
        _say_when(add)
        connect = verbs.add_parser("connect", help="connect an agent that speaks another protocol")
        _describe(connect)
        connect.add_argument("--runtime", required=True, choices=runtime.runtime_keys())
        # Not --settings: Django takes that from every command line, as a module's name.
        connect.add_argument("--options", default="{}", help="the settings of the runtime, as JSON")
        _say_when(connect)
        retire = verbs.add_parser("retire", help="end its sessions and withdraw its questions")
        retire.add_argument("slug", help="the agent's short name")
        retire.add_argument("--by", required=True, help="the user who retires it")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verb"] == "retire":
            self._retire(options["slug"], by=_person(options["by"]))
        else:
            self._register(options)

    def _retire(self, slug: str, *, by: User) -> None:
        """Retire an agent. Raise CommandError if there is none or it is retired already."""
        agent = Agent.objects.filter(slug=slug).first()
        if agent is None:
            raise CommandError(f"There is no agent “{slug}”.")
        if not retire_agent(agent_id=agent.pk, by=by):
            raise CommandError(f"{slug} is retired already.")
        self.stdout.write(f"{slug} is retired. Its open questions are withdrawn.")

    def _register(self, options: dict[str, Any]) -> None:
        owners = [_person(name) for name in options["owner"]]
        try:
            agent = register_agent(
                slug=options["slug"],
                owners=owners,
                runtime_key="markers" if options["verb"] == "add" else options["runtime"],
                settings=_settings(options),
                wake=_wake(options),
                name=options["name"],
                title=options["title"],
                mission=options["mission"],
                lane=options["lane"],
                lifecycle=AgentState.ACTIVE if options["start"] else AgentState.DRAFT,
            )
        except ValidationError as error:
            raise CommandError(_in_words(error)) from error
        state = "started" if options["start"] else "connected; start it on its page"
        self.stdout.write(f"{agent.slug} is {state}: {base_url()}/agents/{agent.slug}/")


def _describe(add: ArgumentParser) -> None:
    add.add_argument("slug", help="a short name: lower-case letters, digits, hyphens")
    add.add_argument(
        "--owner", action="append", required=True, help="a user who answers it; repeatable"
    )
    add.add_argument("--name", default="", help="its display name")
    add.add_argument("--title", default="", help="its job, in one line")
    add.add_argument("--mission", default="", help="its goal")
    add.add_argument("--lane", default="", help="agents in the same lane share a rate limit")


def _say_how_it_runs(add: ArgumentParser) -> None:
    add.add_argument("command", nargs="+", help="the command to run, after --")
    add.add_argument("--cwd", default=None, help="the working directory")
    add.add_argument(
        "--env",
        action="append",
        default=[],
        help="an environment variable as NAME=VALUE; repeatable",
    )
    add.add_argument("--format", choices=["text", "acpx"], default="text", help="its output format")


def _say_when(add: ArgumentParser) -> None:
    when = add.add_mutually_exclusive_group()
    when.add_argument(
        "--continuous", action="store_true", help="run again and again, with back-off"
    )
    when.add_argument("--every", type=int, help="start every EVERY seconds")
    when.add_argument("--cron", help="start on a cron schedule, in UTC")
    when.add_argument("--on-message", action="store_true", help="start when a message mentions it")
    add.add_argument(
        "--start", action="store_true", help="start it now; otherwise it stays a draft"
    )


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the runtime: from the options of a command, or from JSON."""
    if options["verb"] == "add":
        env = dict(_pair(entry) for entry in options["env"])
        return {name: options[name] for name in ("command", "cwd", "format")} | {"env": env}
    try:
        value = json_input.read_json(options["options"])
    except ValueError as error:
        raise CommandError(f"--options is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise CommandError("--options must be a JSON object, such as {}.")
    return value


def _wake(options: dict[str, Any]) -> dict[str, Any]:
    if options["continuous"]:
        return {"kind": "continuous"}
    if options["every"] is not None:
        return {"kind": "schedule", "every_seconds": options["every"]}
    if options["cron"]:
        return {"kind": "schedule", "cron": options["cron"]}
    return {"kind": "on_message" if options["on_message"] else "manual"}


def _person(name: str) -> User:
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist as error:
        raise CommandError(
            f"There is no user “{name}”. Create one with createsuperuser."
        ) from error


def _pair(entry: str) -> tuple[str, str]:
    name, sign, value = entry.partition("=")
    if not sign or not name:
        raise CommandError(f"--env must be NAME=VALUE, not “{entry}”.")
    return name, value


def _in_words(error: ValidationError) -> str:
    return "\n".join(
        f"{field}: {message}"
        for field, messages in error.message_dict.items()
        for message in messages
    )
