"""Register agents and open their sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction
from pydantic import ValidationError as ShapeError

from agents import next_run, wake_policy, wakes
from agents.db import statements
from agents.events.log import record_event
from agents.lifecycle import AgentState
from agents.locking import LockedSession, mark_locked, share_lock_agent
from agents.mending import checks, masking
from agents.mending.changes import AgentChange, record_change
from agents.models import Agent, Session
from agents.running import runtime
from agents.text.storable import is_storable, make_storable

_TEXTS = ("slug", "name", "title", "mission", "contract", "runtime", "lane")
#: Slugs that /agents/<slug>/ would never reach, because a page has that address.
RESERVED_SLUGS = frozenset({"new"})


class AgentRetired(Exception):
    """A session cannot be opened for a retired agent."""


@transaction.atomic
def register_agent(
    *,
    slug: str,
    owners: Iterable[AbstractBaseUser],
    runtime_key: str,
    settings: dict[str, Any],
    wake: dict[str, Any] | None = None,
    name: str = "",
    lifecycle: AgentState = AgentState.DRAFT,
    **fields: str,
) -> Agent:
    """Validate and create an agent with its home session. Raises ValidationError, by field.

    ``fields`` are title, mission, contract and lane.
    """
    agent = Agent(
        slug=slug,
        name=name or name_of_slug(slug),
        runtime=runtime_key,
        wake_policy=wake or {"kind": "manual"},
        lifecycle=lifecycle,
        **fields,
    )
    owners = list(owners)
    if not owners:
        raise ValidationError({"owners": "Somebody must answer for an agent: name an owner."})
    _check_slug(slug)
    agent.settings = checked_settings(runtime_key, settings)
    check_wake_policy(agent.wake_policy)
    check_fields(agent)
    agent.save()
    agent.owners.set([owner.pk for owner in owners])
    open_session(agent, is_home=True)
    return agent


def connect_agent(
    *,
    by: AbstractBaseUser | None,
    insist: bool = False,
    **wanted: Any,  # noqa: ANN401 -- those of register_agent
) -> Agent:
    """Check that an agent could start, register it, and record who connected it.

    ``wanted`` is that of ``register_agent``. Raises ValidationError, and AgentUnfit unless ``insist``.
    """
    settings = checked_settings(wanted["runtime_key"], wanted["settings"])
    if not insist:
        checks.refuse_faults(checks.check_agent(wanted["runtime_key"], settings))
    with transaction.atomic():
        agent = register_agent(**wanted)
        fields = masking.differences_of_settings({}, agent.settings)
        fields["runtime"] = ["", agent.runtime]
        fields["owners"] = [[], sorted(owner.get_username() for owner in agent.owners.all())]
        record_change(AgentChange(agent, "connected", by, fields))
    return agent


def name_of_slug(slug: str) -> str:
    """Return the display name of an agent that was given none."""
    return slug.replace("-", " ").capitalize()


def check_fields(agent: Agent) -> None:
    """Raise ValidationError, by field, if the agent's columns cannot be stored as they are."""
    _check_texts(agent)
    agent.full_clean()


def _check_slug(slug: str) -> None:
    if slug in RESERVED_SLUGS:
        raise ValidationError({"slug": f"“{slug}” is the address of a page. Choose another name."})


def checked_settings(runtime_key: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Validate a runtime's settings; return them with their defaults. Raises ValidationError."""
    try:
        model = runtime.find_runtime(runtime_key).settings_model
    except LookupError as error:
        raise ValidationError({"runtime": str(error)}) from error
    try:
        checked = model.model_validate(settings).model_dump(mode="json")
    except ShapeError as error:
        raise ValidationError({"settings": _messages(error)}) from error
    if make_storable(checked) != checked:
        raise ValidationError({"settings": "They contain a character that cannot be stored."})
    return checked


def _check_texts(agent: Agent) -> None:
    texts = {name: str(getattr(agent, name)) for name in _TEXTS}
    bad = [name for name, text in texts.items() if not is_storable(text)]
    if bad:
        raise ValidationError(dict.fromkeys(bad, "It contains a character that cannot be stored."))


def check_wake_policy(stored: dict[str, Any]) -> None:
    """Raise ValidationError if this is not a wake policy."""
    try:
        wake_policy.parse_wake_policy(stored)
    except ShapeError as error:
        raise ValidationError({"wake_policy": _messages(error)}) from error


def _messages(error: ShapeError) -> list[str]:
    return [
        f"{'.'.join(str(part) for part in detail['loc']) or 'settings'}: "
        f"{detail['msg'].removeprefix('Value error, ')}"
        for detail in error.errors()
    ]


@transaction.atomic
def open_session(
    agent: Agent,
    *,
    title: str = "",
    is_home: bool = False,
    external_id: str = "",
    begin: Callable[[LockedSession], object] | None = None,
) -> Session:
    """Open a session of an agent. The agent's wake policy decides when a home session is due.

    ``begin`` is called with the new session before its first run is queued; it may wake the session.
    Raises AgentRetired.
    """
    session = _new_session(agent, title=title, is_home=is_home, external_id=external_id)
    wakes.set_first_wake(session)
    record_event(session, "state", actor="system", text="The session was opened.")
    if begin is not None:
        begin(session)
    next_run.queue_next_run(session)
    return session


def _new_session(agent: Agent, **fields: object) -> LockedSession:
    """Insert a session. It counts as locked: nobody else sees it before the transaction ends."""
    locked = share_lock_agent(agent.pk)
    if locked.lifecycle == AgentState.RETIRED:
        raise AgentRetired("This agent is retired and starts nothing more.")
    session = statements.insert(Session(agent=locked, **fields))
    return mark_locked(session, at=locked.locked_at)
