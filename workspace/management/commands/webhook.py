from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils import timezone

from workspace.management.database_command import DatabaseCommand
from workspace.models import OutboxKind, WebhookEndpoint
from workspace.models.outbox import new_uid
from workspace.notify import breaker, webhook
from workspace.notify.deliveries import Parcel
from workspace.notify.errors import Undelivered
from workspace.notify.safe_addresses import check_url

MOST_HOURS = 24 * 30


class Command(DatabaseCommand):
    help = "Signed webhooks: webhook add URL --owner USER · list · rotate|remove|resume|test ID"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(
            dest="verb", required=True, metavar="add|list|rotate|remove|resume|test"
        )
        add = verbs.add_parser(
            "add", help="create a webhook; the last line of the output is its secret"
        )
        add.add_argument("url")
        add.add_argument("--owner", required=True, help="the user whose agents it reports")
        add.add_argument(
            "--kinds", default="", help=f"a list of {', '.join(OutboxKind.values)} (all)"
        )
        rotate = verbs.add_parser(
            "rotate", help="create a new secret; it is the last line of the output"
        )
        rotate.add_argument("id", type=int)
        rotate.add_argument(
            "--overlap",
            type=_hours,
            default=24,
            help="hours during which the old secret signs too (24)",
        )
        verbs.add_parser("list", help="list the webhooks with their states, without secrets")
        for verb, description in _ON_ONE.items():
            verbs.add_parser(verb, help=description).add_argument("id", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verb"] in _ON_ONE:
            endpoint = _endpoint(options["id"])
            getattr(self, options["verb"])(endpoint)
        else:
            verbs = {"add": self.add, "list": self.list, "rotate": self.rotate}
            verbs[options["verb"]](options)

    def add(self, options: dict[str, Any]) -> None:
        kinds = [kind.strip() for kind in options["kinds"].split(",") if kind.strip()]
        if unknown := set(kinds) - set(OutboxKind.values):
            raise CommandError(f"There is no kind {', '.join(sorted(unknown))}.")
        try:
            check_url(options["url"])
            with transaction.atomic():
                endpoint = WebhookEndpoint.objects.create(
                    url=options["url"],
                    owner=_person(options["owner"]),
                    kinds=kinds,
                    secret=webhook.new_secret(),
                )
        except ValueError as error:
            raise CommandError(str(error)) from error
        except IntegrityError as error:
            raise CommandError("This user already has a webhook to that URL.") from error
        self.stdout.write(f"Created webhook {endpoint.pk}. Its signing secret:")
        self.stdout.write(endpoint.secret)

    def rotate(self, options: dict[str, Any]) -> None:
        """Create a new secret. A second rotation within the overlap discards the oldest secret."""
        endpoint, hours = _endpoint(options["id"]), options["overlap"]
        endpoint.former_secret, endpoint.secret = endpoint.secret, webhook.new_secret()
        endpoint.former_until = timezone.now() + timedelta(hours=hours)
        endpoint.save(update_fields=["secret", "former_secret", "former_until"])
        self.stdout.write(
            f"Webhook {endpoint.pk} signs with both secrets for {hours:g} hours. The new secret:"
            if hours
            else f"Webhook {endpoint.pk} signs only with the new secret:"
        )
        self.stdout.write(endpoint.secret)

    def list(self, options: dict[str, Any]) -> None:
        for endpoint in WebhookEndpoint.objects.select_related("owner"):
            kinds = ",".join(endpoint.kinds) or "all"
            self.stdout.write(
                f"{endpoint.pk}  {endpoint.url}  {endpoint.owner.get_username()}  {kinds}  "
                f"{_state(endpoint)}"
            )

    def remove(self, endpoint: WebhookEndpoint) -> None:
        self.stdout.write(f"Removed webhook {endpoint.pk}.")
        with transaction.atomic():
            breaker.hold_endpoint(endpoint.pk)
            endpoint.delete()

    def resume(self, endpoint: WebhookEndpoint) -> None:
        endpoint.active, endpoint.failures, endpoint.paused_until = True, 0, None
        endpoint.save(update_fields=["active", "failures", "paused_until"])
        self.stdout.write(f"Webhook {endpoint.pk} is active again and receives new events.")

    def test(self, endpoint: WebhookEndpoint) -> None:
        parcel = Parcel(
            delivery_id=0,
            attempt=1,
            uid=new_uid(),
            kind="webhook.test",
            at=timezone.now().isoformat(),
            actor="system",
            subject=f"webhook:{endpoint.pk}",
            payload={},
            endpoint_id=endpoint.pk,
            url=endpoint.url,
            secrets=endpoint.secrets,
        )
        try:
            asyncio.run(webhook.send_webhook(parcel))
        except Undelivered as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Webhook {endpoint.pk} accepted the test event {parcel.uid}.")


_ON_ONE = {
    "remove": "delete a webhook and its queued deliveries",
    "resume": "switch a webhook on again that failed too often",
    "test": "send a signed webhook.test event now",
}


def _hours(text: str) -> float:
    hours = float(text)
    if not 0 <= hours <= MOST_HOURS:
        raise ValueError
    return hours


def _endpoint(endpoint_id: int) -> WebhookEndpoint:
    try:
        return WebhookEndpoint.objects.get(pk=endpoint_id)
    except WebhookEndpoint.DoesNotExist as error:
        raise CommandError(f"There is no webhook {endpoint_id}.") from error


def _person(name: str) -> User:
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist as error:
        raise CommandError(f"There is no user “{name}”.") from error


def _state(endpoint: WebhookEndpoint) -> str:
    if not endpoint.active:
        return f"off ({endpoint.last_error})"
    if endpoint.failures:
        return f"failing, {endpoint.failures} in a row ({endpoint.last_error})"
    return "working"
