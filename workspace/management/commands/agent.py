from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from agents import controls
from agents.lifecycle import AgentState
from agents.mending import masking
from agents.mending.checks import AgentUnfit, check_agent
from agents.mending.editing import StaleEdit, edit_agent
from agents.mending.owners import change_owners, hand_over_agents
from agents.models import Agent
from agents.registration import connect_agent
from agents.running import runtime
from asks.retirement import restore_agent, retire_agent
from workspace.local.address import base_url
from workspace.management.agent_options import (
    describe_agent,
    edit_in,
    group_named,
    in_words,
    person_named,
    say_how_it_runs,
    say_what_changes,
    say_when,
    settings_in,
    wake_in,
)
from workspace.management.database_command import DatabaseCommand

#: What `manage.py agent VERB SLUG --by USER` calls, and what it says.
STEERING: dict[str, tuple[Callable[..., object], str, str]] = {
    "pause": (controls.pause_agent, "start nothing until it is resumed", "{} is paused."),
    "resume": (controls.resume_agent, "let it start again", "{} is resumed."),
    "retire": (
        retire_agent,
        "end its sessions and withdraw its questions",
        "{} is retired. Its open questions are withdrawn.",
    ),
    "restore": (restore_agent, "bring a retired agent back, paused", "{} is restored, paused."),
}
INSIST = "save it although a check fails: the worker may run on another machine"


class Command(DatabaseCommand):
    help = (
        "Connect an agent: agent add SLUG --owner USER -- COMMAND … for a local command, "
        "agent connect SLUG --owner USER --runtime KEY --options JSON for another protocol. "
        "Mend one: agent show, check, edit, owners, pause, resume, retire, restore SLUG; "
        "agent hand-over --from USER --to USER"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        add = verbs.add_parser("add", help="connect an agent that runs as a local command")
        describe_agent(add)
        say_how_it_runs(add)
        connect = verbs.add_parser("connect", help="connect an agent that speaks another protocol")
        describe_agent(connect)
        connect.add_argument("--runtime", required=True, choices=runtime.runtime_keys())
        # Not --settings: Django takes that from every command line, as a module's name.
        connect.add_argument("--options", default="{}", help="the settings of the runtime, as JSON")
        for one in (add, connect):
            say_when(one)
            one.add_argument(
                "--start", action="store_true", help="start it now; otherwise it stays a draft"
            )
            one.add_argument("--insist", action="store_true", help=INSIST)
        edit = verbs.add_parser("edit", help="change what it is, when it works and how it runs")
        describe_agent(edit, owners=False)
        say_what_changes(edit)
        say_when(edit)
        edit.add_argument("--manual", action="store_true", help="only a person starts it")
        edit.add_argument("--insist", action="store_true", help=INSIST)
        _by(edit)
        self._add_steering(verbs.add_parser)

    def _add_steering(self, add_parser: Callable[..., ArgumentParser]) -> None:
        for verb, (_, words, _done) in STEERING.items():
            steer = add_parser(verb, help=words)
            steer.add_argument("slug", help="the agent's short name")
            _by(steer)
        for verb, words in (
            ("show", "print what it is, as JSON without secrets"),
            ("check", "check that it could start here"),
        ):
            add_parser(verb, help=words).add_argument("slug", help="the agent's short name")
        owners = add_parser("owners", help="change who owns it")
        owners.add_argument("slug", help="the agent's short name")
        owners.add_argument("--add", action="append", default=[], help="a user; repeatable")
        owners.add_argument("--add-group", action="append", default=[], help="all of a group")
        owners.add_argument("--remove", action="append", default=[], help="a user; repeatable")
        _by(owners)
        hand = add_parser("hand-over", help="give all agents of one user to another")
        hand.add_argument("--from", dest="leaver", required=True, help="who leaves")
        hand.add_argument("--to", required=True, help="who takes over")
        _by(hand)

    def handle(self, *args: Any, **options: Any) -> None:
        verb = options["verb"]
        try:
            if verb in ("add", "connect"):
                self._connect(options)
            elif verb == "hand-over":
                self._hand_over(options)
            else:
                by = person_named(options["by"]) if options.get("by") else None
                self._mend(verb, _agent(options["slug"]), options, by)
        except AgentUnfit as error:
            raise CommandError(
                f"{in_words(error)}\nTo save it all the same, add --insist."
            ) from error
        except ValidationError as error:
            raise CommandError(in_words(error)) from error

    def _mend(self, verb: str, agent: Agent, options: dict[str, Any], by: User | None) -> None:
        if verb == "show":
            self.stdout.write(json.dumps(_shown(agent), ensure_ascii=False, indent=1))
        elif verb == "check":
            self._check(agent)
        elif by is None:
            raise CommandError("Say with --by who does it.")
        elif verb == "edit":
            self._edit(agent, options, by=by)
        elif verb == "owners":
            self._change_owners(agent, options, by=by)
        else:
            self._steer(agent, verb, by=by)

    def _connect(self, options: dict[str, Any]) -> None:
        agent = connect_agent(
            by=None,
            insist=options["insist"],
            slug=options["slug"],
            owners=[person_named(name) for name in options["owner"]],
            runtime_key="markers" if options["verb"] == "add" else options["runtime"],
            settings=settings_in(options),
            wake=wake_in(options),
            lifecycle=AgentState.ACTIVE if options["start"] else AgentState.DRAFT,
            **{name: options[name] for name in ("name", "title", "mission", "contract", "lane")},
        )
        state = "started" if options["start"] else "connected; start it on its page"
        self.stdout.write(f"{agent.slug} is {state}: {base_url()}/agents/{agent.slug}/")

    def _edit(self, agent: Agent, options: dict[str, Any], *, by: User) -> None:
        try:
            edited = edit_agent(
                agent_id=agent.pk,
                version=agent.version,
                by=by,
                edit=edit_in(options, agent),
                insist=options["insist"],
            )
        except StaleEdit as error:
            raise CommandError(f"{error} Somebody changed it at the same time.") from error
        said = "is saved" if edited.version > agent.version else "is as it was"
        self.stdout.write(f"{agent.slug} {said}.")

    def _steer(self, agent: Agent, verb: str, *, by: User) -> None:
        """Move an agent to another state. Raise CommandError if it is in that state already."""
        move, _, done = STEERING[verb]
        move(agent_id=agent.pk, by=by)
        before, agent.lifecycle = agent.lifecycle, Agent.objects.get(pk=agent.pk).lifecycle
        if agent.lifecycle == before:
            again = " already" if verb == "retire" else ""
            raise CommandError(f"{agent.slug} is {before}{again}.")
        self.stdout.write(done.format(agent.slug))

    def _check(self, agent: Agent) -> None:
        found = check_agent(agent.runtime, agent.settings)
        for one in found:
            word = "fault" if one.is_fault else "note"
            self.stdout.write(f"{word}: {one.setting or agent.runtime}: {one.text}")
        if any(one.is_fault for one in found):
            raise CommandError(f"{agent.slug} could not start here.")
        self.stdout.write(f"{agent.slug} could start here.")

    def _change_owners(self, agent: Agent, options: dict[str, Any], *, by: User) -> None:
        changed = change_owners(
            agent_id=agent.pk,
            by=by,
            add=[person_named(name) for name in options["add"]],
            groups=[group_named(name) for name in options["add_group"]],
            remove=[person_named(name) for name in options["remove"]],
        )
        names = changed.owners.order_by("username").values_list("username", flat=True)
        self.stdout.write(f"{agent.slug} is owned by {', '.join(names)}.")

    def _hand_over(self, options: dict[str, Any]) -> None:
        leaver, to = person_named(options["leaver"]), person_named(options["to"])
        moved = hand_over_agents(person=leaver, to=to, by=person_named(options["by"]))
        names = ", ".join(agent.slug for agent in moved) or "nothing"
        self.stdout.write(f"{to.get_username()} took over {names}.")


def _by(parser: ArgumentParser) -> None:
    parser.add_argument("--by", required=True, help="the user who does it, for the ledger")


def _agent(slug: str) -> Agent:
    agent = Agent.objects.filter(slug=slug).first()
    if agent is None:
        raise CommandError(f"There is no agent “{slug}”.")
    return agent


def _shown(agent: Agent) -> dict[str, Any]:
    return {
        "slug": agent.slug,
        "name": agent.name,
        "title": agent.title,
        "mission": agent.mission,
        "contract": agent.contract,
        "lane": agent.lane,
        "lifecycle": agent.lifecycle,
        "version": agent.version,
        "runtime": agent.runtime,
        "settings": masking.mask_record("settings", agent.settings),
        "wake_policy": agent.wake_policy,
        "owners": list(agent.owners.order_by("username").values_list("username", flat=True)),
    }
