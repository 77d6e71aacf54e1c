"""The options of `manage.py agent` that describe an agent, and what they come to."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from agents.mending.editing import AgentEdit
from agents.models import Agent
from agents.running import runtime
from agents.text import json_input


def describe_agent(add: ArgumentParser, *, owners: bool = True) -> None:
    """Add the options that say what an agent is. Those of an edit have no defaults."""
    missing = "" if owners else None
    add.add_argument("slug", help="a short name: lower-case letters, digits, hyphens")
    if owners:
        add.add_argument(
            "--owner", action="append", required=True, help="a user who answers it; repeatable"
        )
    add.add_argument("--name", default=missing, help="its display name")
    add.add_argument("--title", default=missing, help="its job, in one line")
    add.add_argument("--mission", default=missing, help="its goal")
    add.add_argument("--contract", default=missing, help="how it works, and what it must ask")
    add.add_argument("--lane", default=missing, help="agents in the same lane share a rate limit")


def say_how_it_runs(add: ArgumentParser) -> None:
    add.add_argument("command", nargs="+", help="the command to run, after --")
    add.add_argument("--cwd", default=None, help="the working directory")
    add.add_argument(
        "--env",
        action="append",
        default=[],
        help="an environment variable as NAME=VALUE; repeatable",
    )
    add.add_argument("--format", choices=["text", "acpx"], default="text", help="its output format")


def say_what_changes(edit: ArgumentParser) -> None:
    """Add the options of an edit that change how an agent runs."""
    edit.add_argument("--runtime", choices=runtime.runtime_keys(), help="another runtime")
    edit.add_argument("--options", help="settings of the runtime to change, as JSON")
    edit.add_argument("--env", action="append", default=[], help="NAME=VALUE; repeatable")
    edit.add_argument("--cwd", help="the working directory")
    edit.add_argument("--command", help="another command, as one argument: 'claude -p'")


def say_when(add: ArgumentParser) -> None:
    when = add.add_mutually_exclusive_group()
    when.add_argument(
        "--continuous", action="store_true", help="run again and again, with back-off"
    )
    when.add_argument("--every", type=int, help="start every EVERY seconds")
    when.add_argument("--cron", help="start on a cron schedule, in UTC")
    when.add_argument("--on-message", action="store_true", help="start when a message mentions it")


def settings_in(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the runtime: from the options of a command, or from JSON."""
    if options["verb"] == "add":
        own = {name: options[name] for name in ("command", "cwd", "format")}
        return own | {"env": _environment(options)}
    return _object(options["options"])


def edit_in(options: dict[str, Any], agent: Agent) -> AgentEdit:
    """Return the edit that the options name."""
    words = {name: options[name] for name in ("name", "title", "mission", "contract", "lane")}
    wake = wake_in(options)
    return AgentEdit(
        **words,
        wake_policy=wake if wake["kind"] != "manual" or options["manual"] else None,
        runtime=options["runtime"],
        settings=_changed_settings(options, agent),
    )


def _changed_settings(options: dict[str, Any], agent: Agent) -> dict[str, Any] | None:
    """Return the stored settings with the changes; None if there are none.

    Another runtime starts with its own defaults.
    """
    changed = _object(options["options"]) if options["options"] else {}
    if options["command"]:
        changed["command"] = _words(options["command"])
    if options["cwd"] is not None:
        changed["cwd"] = options["cwd"]
    same = options["runtime"] in (None, agent.runtime)
    stored = dict(agent.settings) if same else {}
    if options["env"]:
        changed["env"] = {**stored.get("env", {}), **_environment(options)}
    if not changed and same:
        return None
    return {**stored, **changed}


def wake_in(options: dict[str, Any]) -> dict[str, Any]:
    if options["continuous"]:
        return {"kind": "continuous"}
    if options["every"] is not None:
        return {"kind": "schedule", "every_seconds": options["every"]}
    if options["cron"]:
        return {"kind": "schedule", "cron": options["cron"]}
    return {"kind": "on_message" if options["on_message"] else "manual"}


def person_named(name: str) -> User:
    """Return the user of that name. Raises CommandError."""
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist as error:
        raise CommandError(
            f"There is no user “{name}”. Create one with createsuperuser."
        ) from error


def group_named(name: str) -> Group:
    """Return the group of that name. Raises CommandError."""
    found = Group.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no group “{name}”.")
    return found


def in_words(error: ValidationError) -> str:
    return "\n".join(
        f"{field}: {message}"
        for field, messages in error.message_dict.items()
        for message in messages
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value = json_input.read_json(text)
    except ValueError as error:
        raise CommandError(f"--options is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise CommandError("--options must be a JSON object, such as {}.")
    return value


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise CommandError(f"--command cannot be read: {error}.") from error


def _environment(options: dict[str, Any]) -> dict[str, str]:
    return dict(_pair(entry) for entry in options["env"])


def _pair(entry: str) -> tuple[str, str]:
    name, sign, value = entry.partition("=")
    if not sign or not name:
        raise CommandError(f"--env must be NAME=VALUE, not “{entry}”.")
    return name, value
