"""Notify every web process when a login ends or a right is lost.

A periodic check (`hub.REVALIDATE`) finds changes without a signal, such as expiry.
"""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.contrib.auth.signals import user_logged_out
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.dispatch import receiver
from django.http import HttpRequest

from agents.events import notify
from agents.models import Agent


@receiver(user_logged_out, dispatch_uid="live.logged_out")
def _logged_out(*, request: HttpRequest | None, **_: object) -> None:
    # Sent before the session is flushed: its key is still there.
    key = request.session.session_key if request is not None else None
    if key:
        notify.notify_login_ended(key)


@receiver(post_save, sender=User, dispatch_uid="live.person_changed")
def _person_changed(
    *, instance: User, created: bool, update_fields: frozenset[str] | None, **_: object
) -> None:
    """Report a changed user: deactivation or a new password ends logins."""
    if not created and set(update_fields or ()) != {"last_login"}:
        notify.notify_rights_changed(instance.pk)


@receiver(post_delete, sender=User, dispatch_uid="live.person_deleted")
def _person_deleted(*, instance: User, **_: object) -> None:
    if instance.pk is not None:
        notify.notify_rights_changed(instance.pk)


@receiver(m2m_changed, sender=Agent.owners.through, dispatch_uid="live.owners_changed")
def _owners_changed(
    *, instance: Agent | User, action: str, pk_set: set[int] | None, **_: object
) -> None:
    if action not in {"post_add", "post_remove", "pre_clear"}:
        return
    people = {instance.pk} if isinstance(instance, User) else pk_set or _owners(instance)
    for user_id in people:
        notify.notify_rights_changed(user_id)
        notify.notify_queue_changed(user_id)


@receiver(m2m_changed, sender=User.groups.through, dispatch_uid="live.groups_changed")
def _groups_changed(
    *, instance: Group | User, action: str, pk_set: set[int] | None, **_: object
) -> None:
    """Report a changed group: its members answer its asks."""
    if action not in {"post_add", "post_remove", "pre_clear"}:
        return
    members = {instance.pk} if isinstance(instance, User) else pk_set or _members(instance)
    for user_id in members:
        notify.notify_queue_changed(user_id)


def _members(group: Group) -> set[int]:
    return set(group.user_set.values_list("pk", flat=True))


def _owners(agent: Agent) -> set[int]:
    return set(agent.owners.values_list("pk", flat=True))
