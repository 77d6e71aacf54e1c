"""Say what is wrong in sentences, by name, the most serious first."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from workspace.health.look import Health

DATABASE = gettext_noop("The database does not answer.")
DISK = gettext_noop("The disk of the database is full: nothing can be recorded.")
BEHIND = gettext_noop(
    "The database is not at this version's migrations: run the migrations, or start the version "
    "that belongs to it."
)
AHEAD = gettext_noop(
    "The database belongs to a newer version than this web process: restart it with that version."
)
WORKER = gettext_noop("No worker runs: agents start nothing until one does. Answers are kept.")
QUEUE = gettext_noop(
    "The queue is stalled: a worker is alive, but it has started nothing for over a minute."
)


def what_is_wrong(health: Health) -> dict[str, str]:
    """Return {name: sentence} of everything that prevents work; empty when all is well."""
    if not health.database_answers:
        return {"database": _(DATABASE)}
    if health.disk_is_full:
        return {"disk": _(DISK)}
    wrong = {}
    if health.behind:
        wrong["migrations"] = _(BEHIND)
    elif health.ahead:
        wrong["version"] = _(AHEAD)
    if not health.worker_is_alive:
        wrong["worker"] = _(WORKER)
    if health.queue_is_stalled:
        wrong["queue"] = _(QUEUE)
    return wrong
