from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from agents.models import Agent
from workspace.accounts import api_keys
from workspace.management.database_command import DatabaseCommand
from workspace.models import ApiKey, Scope


class Command(DatabaseCommand):
    help = "API keys for programs: key create NAME --scope a,b · key list · key revoke NAME"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|list|revoke")
        create = verbs.add_parser(
            "create", help="create a key; the last line of the output is the key"
        )
        create.add_argument("name", help="the name of the key, for list and revoke")
        create.add_argument("--scope", required=True, help=f"a list of {', '.join(Scope.values)}")
        create.add_argument("--agent", help="restrict the key to the agent with this slug")
        create.add_argument("--owner", help="the user for whom the key acts; needed for ask:answer")
        verbs.add_parser("list", help="list the keys, without their secrets")
        revoke = verbs.add_parser("revoke", help="revoke a key at once and for good")
        revoke.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        {"create": self.create, "list": self.list, "revoke": self.revoke}[options["verb"]](options)

    def create(self, options: dict[str, Any]) -> None:
        agent = _agent(options["agent"]) if options["agent"] else None
        person = _person(options["owner"]) if options["owner"] else None
        if agent is None and person is None:
            raise CommandError("Say who uses the key: --agent SLUG, --owner USER, or both.")
        scopes = [scope.strip() for scope in options["scope"].split(",") if scope.strip()]
        try:
            key, token = api_keys.create_key(
                name=options["name"], scopes=scopes, agent=agent, person=person
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"Created the key “{key.name}” for {_whose(key)}. It is shown only once:")
        self.stdout.write(token)

    def list(self, options: dict[str, Any]) -> None:
        for key in ApiKey.objects.select_related("agent", "person"):
            used = _day(key.last_used_at, "never used", "last used ")
            state = _day(key.revoked_at, "active", "revoked ")
            scopes = ",".join(key.scopes)
            self.stdout.write(
                f"{key.name}  ny_{key.prefix}_…  {_whose(key)}  {scopes}  {state}  {used}"
            )

    def revoke(self, options: dict[str, Any]) -> None:
        if not api_keys.revoke_key(options["name"]):
            raise CommandError(f"There is no active key “{options['name']}”.")
        self.stdout.write(f"Revoked “{options['name']}”.")


def _agent(slug: str) -> Agent:
    try:
        return Agent.objects.get(slug=slug)
    except Agent.DoesNotExist as error:
        raise CommandError(f"There is no agent “{slug}”.") from error


def _person(name: str) -> User:
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist as error:
        raise CommandError(f"There is no user “{name}”.") from error


def _whose(key: ApiKey) -> str:
    names = [key.person.get_username()] if key.person else []
    names += [f"agent {key.agent.slug}"] if key.agent else []
    return " on ".join(names)


def _day(moment: datetime | None, never: str, before: str) -> str:
    return f"{before}{moment:%Y-%m-%d %H:%M}" if moment else never
