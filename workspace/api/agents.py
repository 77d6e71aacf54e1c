"""Agents over the API: look at one, connect, edit, share, and move it through its life."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from agents import controls
from agents.lifecycle import AgentState
from agents.mending import masking
from agents.mending.checks import AgentUnfit, check_agent
from agents.mending.editing import HOW_IT_RUNS, AgentBusy, AgentEdit, StaleEdit, edit_agent
from agents.mending.owners import change_owners
from agents.models import Agent
from agents.registration import connect_agent
from agents.text.storable import is_storable, make_storable
from asks import access
from asks.ledger.agent_records import changes_of
from asks.retirement import restore_agent, retire_agent
from workspace.accounts import api_keys
from workspace.api import agent_shapes
from workspace.api.agent_shapes import AgentDetailShape
from workspace.api.asks import person_of
from workspace.api.door import Call
from workspace.api.problems import ApiProblem, FieldError, not_found
from workspace.models import ApiKey, Scope
from workspace.pages.mending.told import prompt_of

MOST = 200
WORDS = ("name", "title", "mission", "contract", "lane")
REWIRING = (
    "What runs an agent can be any command on this server. Changing it takes the permission to add "
    "agents."
)


def list_agents(call: Call) -> agent_shapes.AgentList:
    """Return the agents that a key reaches, by slug."""
    found = _reached(call.key).prefetch_related("owners").order_by("slug")[:MOST]
    return agent_shapes.AgentList(agents=[_shape(agent, call.key) for agent in found])


def get_agent(call: Call) -> AgentDetailShape:
    return _shape(_agent(call), call.key)


def get_told(call: Call) -> agent_shapes.ToldShape:
    """Return what the next turn would tell the agent. Only its owners read that."""
    person = person_of(call.key)
    agent = _agent(call)
    if not access.agents_of(person).filter(pk=agent.pk).exists():
        raise not_found("There is no such agent.")
    prompt, problem = prompt_of(agent, person)
    return agent_shapes.ToldShape(prompt=prompt, problem=problem)


def post_agent(call: Call) -> AgentDetailShape:
    """Connect an agent as a draft that the key's person owns."""
    body: agent_shapes.AgentBody = call.body
    person = person_of(call.key)
    if not access.may_rewire(person) or call.key.agent_id is not None:
        raise ApiProblem(403, "not_allowed", REWIRING)
    try:
        made = connect_agent(
            by=person,
            insist=body.insist,
            slug=body.slug,
            owners=[person],
            runtime_key=body.runtime,
            settings=body.settings,
            wake=body.wake_policy,
            lifecycle=AgentState.DRAFT,
            **{name: getattr(body, name) for name in WORDS},
        )
    except ValidationError as error:
        raise _problem(error) from error
    return _saved(made, call.key)


def patch_agent(call: Call) -> AgentDetailShape:
    """Edit an agent, if nobody else has since the version that was read."""
    body: agent_shapes.AgentEditBody = call.body
    agent, person = _agent(call), person_of(call.key)
    edit = AgentEdit(
        wake_policy=body.wake_policy,
        runtime=body.runtime,
        settings=_settings(body, agent),
        **{name: getattr(body, name) for name in WORDS},
    )
    if any(name in edit.wanted() for name in HOW_IT_RUNS) and not access.may_rewire(person):
        raise ApiProblem(403, "not_allowed", REWIRING)
    try:
        saved = edit_agent(
            agent_id=agent.pk, version=body.version, by=person, edit=edit, insist=body.insist
        )
    except StaleEdit as stale:
        raise _stale(stale) from stale
    except ValidationError as error:
        raise _problem(error) from error
    return _saved(saved, call.key)


def _settings(body: agent_shapes.AgentEditBody, agent: Agent) -> dict[str, object] | None:
    if body.settings is None:
        return None
    same = body.runtime in (None, agent.runtime)
    merged = {**(agent.settings if same else {}), **body.settings}
    return {name: value for name, value in merged.items() if value is not None}


def post_owners(call: Call) -> AgentDetailShape:
    """Change who owns an agent."""
    body: agent_shapes.OwnersBody = call.body
    agent, person = _agent(call), person_of(call.key)
    try:
        changed = change_owners(
            agent_id=agent.pk,
            by=person,
            add=_people(body.add, "add"),
            groups=_groups(body.add_groups),
            remove=_people(body.remove, "remove"),
            version=body.version,
        )
    except StaleEdit as stale:
        raise _stale(stale) from stale
    except ValidationError as error:
        raise _problem(error) from error
    return _shape(changed, call.key)


def _steer(verb: Callable[..., object], to: AgentState) -> Callable[[Call], AgentDetailShape]:
    """Make the handler of a verb. Repeating it is fine; it must not be impossible."""

    def handler(call: Call) -> AgentDetailShape:
        agent = _agent(call)
        verb(agent_id=agent.pk, by=person_of(call.key))
        agent.refresh_from_db()
        if agent.lifecycle != to:
            raise ApiProblem(409, "state", f"This agent is {agent.lifecycle}, so it stays that.")
        return _shape(agent, call.key)

    return handler


post_pause = _steer(controls.pause_agent, AgentState.PAUSED)
post_resume = _steer(controls.resume_agent, AgentState.ACTIVE)
post_retirement = _steer(retire_agent, AgentState.RETIRED)
post_restoration = _steer(restore_agent, AgentState.PAUSED)


def post_retry(call: Call) -> agent_shapes.RetriedShape:
    """Start every failing session of an agent."""
    started = controls.retry_failing(agent_id=_agent(call).pk, by=person_of(call.key))
    return agent_shapes.RetriedShape(started=started)


def _reached(key: ApiKey) -> QuerySet[Agent]:
    """Return the agents that a key reaches. One that may edit reaches all that its person may change."""
    if key.person is None or Scope.AGENT_EDIT not in key.scopes:
        return api_keys.agents_of(key)
    mine = access.agents_steered_by(key.person)
    return mine.filter(pk=key.agent_id) if key.agent_id is not None else mine


def _agent(call: Call) -> Agent:
    found = _reached(call.key).filter(slug=call.ids["slug"]).first()
    if found is None:
        raise not_found("There is no such agent.")
    return found


def _shape(agent: Agent, key: ApiKey, notes: Iterable[str] = ()) -> AgentDetailShape:
    edits = key.person is not None and Scope.AGENT_EDIT in key.scopes
    return AgentDetailShape(
        slug=agent.slug,
        name=agent.name,
        title=agent.title,
        mission=agent.mission,
        contract=agent.contract,
        lane=agent.lane,
        lifecycle=AgentState(agent.lifecycle),
        version=agent.version,
        runtime=agent.runtime,
        settings=masking.mask_settings(agent.settings) if edits else None,
        wake_policy=agent.wake_policy,
        owners=sorted(owner.get_username() for owner in agent.owners.all()),
        path=f"/agents/{agent.slug}/",
        notes=list(notes),
    )


def _saved(agent: Agent, key: ApiKey) -> AgentDetailShape:
    agent.refresh_from_db()
    found = check_agent(agent.runtime, agent.settings)
    return _shape(agent, key, [f"{one.setting}: {one.text}".lstrip(": ") for one in found])


def _people(names: list[str], field: str) -> list[User]:
    found = {one.username: one for one in User.objects.filter(username__in=_storable(names))}
    missing = [name for name in names if name not in found]
    if missing:
        raise ValidationError({field: f"There is no user “{make_storable(missing[0][:150])}”."})
    return list(found.values())


def _groups(names: list[str]) -> list[Group]:
    found = {one.name: one for one in Group.objects.filter(name__in=_storable(names))}
    missing = [name for name in names if name not in found]
    if missing:
        raise ValidationError(
            {"add_groups": f"There is no group “{make_storable(missing[0][:150])}”."}
        )
    return list(found.values())


def _storable(names: list[str]) -> list[str]:
    return [name for name in names if is_storable(name)]


def _problem(error: ValidationError) -> ApiProblem:
    errors = [
        FieldError(field=field, where="body", detail=message)
        for field, messages in error.message_dict.items()
        for message in messages
    ]
    detail = " ".join(one.detail for one in errors)[:1000]
    if isinstance(error, AgentBusy):
        return ApiProblem(409, "busy", detail, errors=errors)
    reason = "unfit" if isinstance(error, AgentUnfit) else "shape"
    return ApiProblem(422, reason, detail, errors=errors)


def _stale(stale: StaleEdit) -> ApiProblem:
    """Say what others changed since, field by field."""
    errors = [
        FieldError(
            field=one.field,
            where="body",
            detail=f"{one.by} changed it from {one.old!r} to {one.new!r}."[:2000],
        )
        for one in changes_of(stale.agent, since_version=stale.seen)
    ]
    detail = f"Somebody changed this agent: it is at version {stale.agent.version}."
    return ApiProblem(409, "changed", detail, errors=errors)
