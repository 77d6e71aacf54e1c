"""Edit an agent: what it is told, when it works, and how it runs. Its slug never changes.

An edit names the version that its author saw. If another edit came between, nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from agents import actors, controls, next_run, registration, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import LIVE_RUNS, SessionState
from agents.locking import LockedAgent, LockedSession, lock_agent, lock_sessions
from agents.mending import checks, masking
from agents.mending.changes import AgentChange, record_change
from agents.models import Agent, Run

#: What decides how an agent runs: a change of it may run anything on the worker's machine.
HOW_IT_RUNS = ("runtime", "settings")


class StaleEdit(Exception):
    """Somebody changed the agent since the author of an edit looked at it."""

    def __init__(self, seen: int, agent: Agent) -> None:
        super().__init__(f"{agent.slug} is at version {agent.version}, not {seen}.")
        self.seen, self.agent = seen, agent


class AgentBusy(ValidationError):
    """The runtime cannot be changed, because a run goes on or waits for an answer."""


@dataclass(frozen=True, kw_only=True)
class AgentEdit:
    """The fields to change; None leaves a field as it is.

    ``settings`` are the whole settings of the runtime. A value of ``env`` that is the mask stays.
    """

    name: str | None = None
    title: str | None = None
    mission: str | None = None
    contract: str | None = None
    lane: str | None = None
    wake_policy: dict[str, Any] | None = None
    runtime: str | None = None
    settings: dict[str, Any] | None = None

    def wanted(self) -> dict[str, Any]:
        """Return the fields that the edit names."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in named.items() if value is not None}


def edit_agent(
    *, agent_id: int, version: int, by: AbstractBaseUser, edit: AgentEdit, insist: bool = False
) -> Agent:
    """Check an edit and apply it; return the agent. An edit that changes nothing records nothing.

    Raises StaleEdit, ValidationError per field, and AgentUnfit unless ``insist``. The checks ask other
    servers, so they run before the agent is locked.
    """
    before = Agent.objects.get(pk=agent_id)
    _check_version(before, version)
    wanted = _checked(before, edit)
    if not insist and any(name in wanted for name in HOW_IT_RUNS):
        found = checks.check_agent(
            wanted.get("runtime", before.runtime), wanted.get("settings", before.settings)
        )
        checks.refuse_faults(found)
    return _apply(agent_id, version, by, wanted) if wanted else before


def _check_version(agent: Agent, version: int) -> None:
    if agent.version != version:
        raise StaleEdit(version, agent)


def _checked(before: Agent, edit: AgentEdit) -> dict[str, Any]:
    """Return the fields that really change, validated. Raises ValidationError."""
    wanted = edit.wanted()
    if "settings" in wanted:
        wanted["settings"] = masking.unmask_settings(wanted["settings"], before.settings)
    if "runtime" in wanted or "settings" in wanted:
        key = wanted.get("runtime", before.runtime)
        wanted["settings"] = registration.checked_settings(
            key, wanted.get("settings", before.settings)
        )
    if "wake_policy" in wanted:
        registration.check_wake_policy(wanted["wake_policy"])
    if "name" in wanted and not wanted["name"].strip():
        wanted["name"] = registration.name_of_slug(before.slug)
    return {name: value for name, value in wanted.items() if getattr(before, name) != value}


@transaction.atomic
def _apply(agent_id: int, version: int, by: AbstractBaseUser, wanted: dict[str, Any]) -> Agent:
    agent = lock_agent(agent_id)
    _check_version(agent, version)
    old = {name: getattr(agent, name) for name in wanted}
    if "settings" in old:
        old["settings"] = _with_defaults(agent)
    for name, value in wanted.items():
        setattr(agent, name, value)
    registration.check_fields(agent)
    agent.version += 1
    agent.save(update_fields=[*wanted, "version"])
    sessions = _lock_living(agent)
    if "runtime" in wanted:
        _refuse_while_at_work(agent)
    _tell_sessions(sessions, wanted, by)
    # After this line the sessions are read again: the recorder may change them.
    record_change(AgentChange(agent, "edited", by, _differences(old, wanted)))
    if any(name in wanted for name in HOW_IT_RUNS):
        controls.retry_failing(agent_id=agent.pk, by=by)
    return agent


def _with_defaults(agent: Agent) -> dict[str, Any]:
    """Return the stored settings as they count, so that a default is not taken for a change."""
    try:
        return registration.checked_settings(agent.runtime, agent.settings)
    except ValidationError:
        return dict(agent.settings)


def _lock_living(agent: LockedAgent) -> list[LockedSession]:
    living = agent.sessions.exclude(state=SessionState.ENDED).values_list("pk", flat=True)
    return list(lock_sessions(living).values())


def _refuse_while_at_work(agent: Agent) -> None:
    live = Run.objects.filter(session__agent=agent, status__in=LIVE_RUNS).first()
    if live is not None:
        words = _(
            "A run is {state}. The runtime can be changed once nothing runs or waits for an answer."
        )
        raise AgentBusy({"runtime": words.format(state=live.get_status_display().lower())})


def _differences(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list[Any]]:
    """Return {field: [old, new]}, with each setting as a field of its own: ``settings.command``."""
    flat_old, flat_new = dict(old), dict(new)
    settings = flat_old.pop("settings", {}), flat_new.pop("settings", {})
    return {
        **masking.differences(flat_old, flat_new),
        **masking.differences_of_settings(*settings),
    }


def _tell_sessions(
    sessions: list[LockedSession], wanted: dict[str, Any], by: AbstractBaseUser
) -> None:
    """Show the change in the home session's thread, and let a new wake policy take effect."""
    names = ", ".join(sorted(wanted))
    for session in sessions:
        if not session.is_home:
            continue
        text = _("The agent was edited: {names}.").format(names=names)
        record_event(session, "state", actor=actors.human(by), text=text)
        if "wake_policy" in wanted and transitions.live_run(session) is None:
            wakes.follow_new_policy(session)
        next_run.queue_next_run(session)
