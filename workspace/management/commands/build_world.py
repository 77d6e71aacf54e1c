from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from workspace.demo.worlds import WORLDS
from workspace.management.database_command import DatabaseCommand


class Command(DatabaseCommand):
    help = "Create sample data: people, and agents that speak the real protocols."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("world", choices=sorted(WORLDS))

    def handle(self, *args: Any, **options: Any) -> None:
        made = WORLDS[options["world"]]()
        self.stdout.write(", ".join(made) if made else "This world already exists completely.")
