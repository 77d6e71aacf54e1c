from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.lifecycle import AgentState
from agents.models import Agent
from agents.registration import register_agent
from agents.running import runtime
from agents.text import json_input
from asks.retirement import retire_agent


class Command(BaseCommand):
    help = (
        "Connect an agent: agent add SLUG --owner USER -- COMMAND … for a local command, "
        "agent connect SLUG --owner USER --runtime KEY --settings JSON for any other protocol. "
        "Retire one for good: agent retire SLUG --by USER"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|connect|retire")
        add = verbs.add_parser("add", help="connect an agent that a local command runs")
        _describe(add)
        _say_how_it_runs(add)
        _say_when(add)
        connect = verbs.add_parser("connect", help="connect an agent of another protocol")
        _describe(connect)
        connect.add_argument("--runtime", required=True, choices=runtime.runtime_keys())
        connect.add_argument("--settings", default="{}", help="the runtime's own, as JSON")
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
        self.stdout.write(f"{agent.slug} is {state}: /agents/{agent.slug}/")


def _describe(add: ArgumentParser) -> None:
    add.add_argument("slug", help="a short name: lower-case letters, digits, hyphens")
    add.add_argument("--owner", action="append", required=True, help="who answers it; repeatable")
    add.add_argument("--name", default="", help="what it is called on the pages")
    add.add_argument("--title", default="", help="what it does, in a line")
    add.add_argument("--mission", default="", help="what it is to achieve")
    add.add_argument("--lane", default="", help="agents of one lane share a rate limit")


def _say_how_it_runs(add: ArgumentParser) -> None:
    add.add_argument("command", nargs="+", help="the command, after --")
    add.add_argument("--cwd", default=None, help="the folder it runs in")
    add.add_argument("--env", action="append", default=[], help="NAME=VALUE; repeatable")
    add.add_argument("--format", choices=["text", "acpx"], default="text", help="what it prints")


def _say_when(add: ArgumentParser) -> None:
    when = add.add_mutually_exclusive_group()
    when.add_argument("--continuous", action="store_true", help="works on and on, with back-off")
    when.add_argument("--every", type=int, help="starts every so many seconds")
    when.add_argument("--cron", help="starts by a cron line, in UTC")
    when.add_argument("--on-message", action="store_true", help="starts when a message names it")
    add.add_argument("--start", action="store_true", help="active at once; else a draft")


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """The settings of its runtime: those of a command from its options, all others as JSON."""
    if options["verb"] == "add":
        env = dict(_pair(entry) for entry in options["env"])
        return {name: options[name] for name in ("command", "cwd", "format")} | {"env": env}
    try:
        found = json_input.read_json(options["settings"])
    except ValueError as error:
        raise CommandError(f"--settings is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise CommandError("--settings wants an object: {}.")
    return found


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
        raise CommandError(f"There is no user “{name}”. createsuperuser makes one.") from error


def _pair(entry: str) -> tuple[str, str]:
    name, sign, value = entry.partition("=")
    if not sign or not name:
        raise CommandError(f"--env wants NAME=VALUE, not “{entry}”.")
    return name, value


def _in_words(error: ValidationError) -> str:
    return "\n".join(
        f"{field}: {message}"
        for field, messages in error.message_dict.items()
        for message in messages
    )
