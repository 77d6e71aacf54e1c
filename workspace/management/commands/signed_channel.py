from __future__ import annotations

import json
import shlex
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from asks.lifecycle import AskStatus
from asks.models import Ask, Gate, Option
from asks.signed_channel import decision_files, document
from asks.signed_channel.sshsig import NAMESPACE
from workspace.management.database_command import DatabaseCommand


class Command(DatabaseCommand):
    help = "Decide by signature: signed_channel show ASK [--option KEY], signed_channel scan"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="show|scan")
        show = verbs.add_parser("show", help="print the exact bytes to sign, and how to sign them")
        show.add_argument("ask", type=int)
        show.add_argument("--option", help="print only the bytes for this answer")
        verbs.add_parser("scan", help="process new files now")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, options["verb"])(options)

    def show(self, options: dict[str, Any]) -> None:
        ask = Ask.objects.select_related("agent", "gate").filter(pk=options["ask"]).first()
        gate = getattr(ask, "gate", None)
        if ask is None or gate is None or not ask.money_critical:
            raise CommandError(f"Question {options['ask']} is not decided by signature.")
        if ask.status != AskStatus.OPEN:
            raise CommandError(f"Question {ask.pk} is already {ask.status}.")
        if options["option"] is None:
            return self._explain(ask, gate)
        option = ask.options.filter(key=options["option"]).first()
        if option is None:
            raise CommandError("That option was not offered.")
        # Bytes, because a text stream could change line ends.
        sys.stdout.flush()
        sys.stdout.buffer.write(document.decision_document(ask, gate, option))
        sys.stdout.buffer.flush()
        return None

    def _explain(self, ask: Ask, gate: Gate) -> None:
        folder = settings.SIGNED_CHANNEL or "the folder that SIGNED_CHANNEL names"
        for option in ask.options.all():
            self._explain_option(ask, gate, option)
        self.stdout.write(f"Then put the .json and its .json.sig into {folder}.")

    def _explain_option(self, ask: Ask, gate: Gate, option: Option) -> None:
        name = f"ask-{ask.pk}-{option.position + 1}.json"
        text = document.decision_document(ask, gate, option).decode()
        # Labels and keys come from an agent, so they are escaped for terminal and shell.
        self.stdout.write(f"To answer {json.dumps(option.label)}, sign exactly this:\n\n{text}")
        key = shlex.quote(option.key) if option.key.isprintable() else "KEY"
        self.stdout.write(f"  manage.py signed_channel show {ask.pk} --option {key} > {name}")
        self.stdout.write(f"  ssh-keygen -Y sign -n {NAMESPACE} -f ~/.ssh/id_ed25519 {name}\n")

    def scan(self, options: dict[str, Any]) -> None:
        if not settings.SIGNED_CHANNEL:
            raise CommandError("There is no signed channel: SIGNED_CHANNEL does not name a folder.")
        try:
            seen = decision_files.scan_folder()
        except decision_files.ChannelError as error:
            raise CommandError(str(error)) from error
        for file in sorted(seen, key=lambda file: file.name):
            self.stdout.write(f"{file.name}: {file.why}")
        took = sum(file.answered for file in seen)
        self.stdout.write(f"New files: {len(seen)}. Took effect: {took}.")
