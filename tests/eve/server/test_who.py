"""Who may do what on the wire: the owner, a colleague, a stranger, and an agent's own key."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory

from agents.models import Agent
from asks.lifecycle import AskStatus, Reason
from asks.models import Refusal, Verdict
from tests.eve.server.world import (
    REFUND,
    Caller,
    Talk,
    agents_key,
    key_for,
    last_refusal,
    refused,
    scripted_agent,
)
from workspace.accounts import api_keys
from workspace.protocols.eve.errors import EveProblem
from workspace.protocols.eve.server import service

pytestmark = pytest.mark.django_db

REQUESTS = RequestFactory()


def answer(talk: Talk) -> dict[str, str]:
    return {"requestId": str(talk.asks()[0].request_key), "optionId": "approve"}


@pytest.mark.parametrize("header", ["", "Bearer wrong", "Bearer ny_000000000000_" + "a" * 43, "x"])
def test_without_a_living_key_nothing_opens(header: str) -> None:
    request = REQUESTS.post("/eve/v1/session", headers={"Authorization": header})
    for what in (service.create_session, service.agent_info):
        with pytest.raises(EveProblem) as problem:
            what(request, b"{}") if what is service.create_session else what(request)  # type: ignore[call-arg]
        assert refused(problem.value) == (401, "unauthorized")
        assert problem.value.error == "Authorization is required for this route."
        assert problem.value.headers == {"WWW-Authenticate": "Bearer"}


def test_a_stranger_finds_nothing(caller: Caller, stranger: User) -> None:
    talk = caller.open(REFUND)
    theirs = scripted_agent(stranger, slug="theirs")
    them = Caller(key_for(theirs, stranger, name="sams"))

    for body in ({"message": "x"}, {"inputResponses": [answer(talk)]}):
        with pytest.raises(EveProblem) as problem:
            them.call(service.continue_session, talk.id, **body)
        assert refused(problem.value) == (409, "session_not_active")
    with pytest.raises(EveProblem) as problem:
        service.find_readable(them._requests.get("/"), talk.id)
    assert refused(problem.value) == (410, "session_expired")
    assert them.call(service.cancel_turn, talk.id)["status"] == "no_active_turn"
    assert them.call(service.reset_session, talk.id)["status"] == "no_active_session"
    assert talk.open_requests()


def test_an_owner_of_another_agent_finds_nothing(caller: Caller, owner: User) -> None:
    """A key for one agent reaches nothing of another, also where its person owns both."""
    talk = caller.open(REFUND)
    other = Caller(key_for(scripted_agent(owner, slug="other"), owner, name="other"))
    with pytest.raises(EveProblem) as problem:
        other.call(service.continue_session, talk.id, message="x")
    assert refused(problem.value) == (409, "session_not_active")


def test_an_agents_key_may_ask_for_work_and_never_answers(agent: Agent) -> None:
    machine = Caller(agents_key(agent))
    talk = machine.open(REFUND)

    with pytest.raises(EveProblem) as problem:
        talk.answer(answer(talk))

    assert problem.value.status == 403
    assert not Verdict.objects.exists()
    assert talk.asks()[0].status == AskStatus.OPEN
    assert "gents never answer" in last_refusal().detail


@pytest.mark.parametrize("said", ["approve", "Yes", "deny", "never mind"])
def test_an_agents_words_neither_answer_nor_pass_over(agent: Agent, said: str) -> None:
    talk = Caller(agents_key(agent)).open(REFUND)

    with pytest.raises(EveProblem) as problem:
        talk.say(said)

    assert refused(problem.value) == (403, "agents_never_answer")
    assert talk.asks()[0].status == AskStatus.OPEN
    assert Refusal.objects.filter(ask=talk.asks()[0], reason=Reason.NOT_ALLOWED).count() == 1


def test_an_agents_key_that_tries_again_and_again_has_to_wait(agent: Agent) -> None:
    talk = Caller(agents_key(agent)).open(REFUND)
    said = []
    for _ in range(25):
        with pytest.raises(EveProblem) as problem:
            talk.say("approve")
        said.append(refused(problem.value))

    assert said[0] == (403, "agents_never_answer")
    assert said[-1] == (429, "too_many_attempts")
    assert int(problem.value.headers["Retry-After"]) > 0
    assert talk.asks()[0].status == AskStatus.OPEN


@pytest.mark.parametrize(
    "what", [service.cancel_turn, service.clear_session, service.reset_session]
)
def test_an_agents_key_does_not_take_a_question_away(agent: Agent, what: object) -> None:
    talk = Caller(agents_key(agent)).open(REFUND)

    with pytest.raises(EveProblem) as problem:
        talk.control(what)

    assert refused(problem.value) == (403, "agents_never_answer")
    assert talk.open_requests()
    assert Refusal.objects.filter(ask=talk.asks()[0]).exists()


def test_an_agents_key_sees_only_what_it_opened(caller: Caller, agent: Agent) -> None:
    talk = caller.open("hello")
    machine = Caller(agents_key(agent))
    with pytest.raises(EveProblem) as problem:
        machine.call(service.continue_session, talk.id, message="x")
    assert refused(problem.value) == (409, "session_not_active")
    assert caller.call(service.continue_session, machine.open("hi").id, message="x")["ok"] is True


def test_a_persons_key_without_the_scope_answers_nothing(
    caller: Caller, agent: Agent, owner: User
) -> None:
    talk = caller.open(REFUND)
    reader = Caller(key_for(agent, owner, ["run:create", "run:read"], name="reader"))

    for body in ({"inputResponses": [answer(talk)]}, {"message": "approve"}, {"message": "well"}):
        with pytest.raises(EveProblem) as problem:
            talk.by(reader).send(**body)
        assert refused(problem.value) == (403, "forbidden")
    assert talk.open_requests()
    assert last_refusal().by == owner


def test_a_key_that_only_answers_starts_nothing(caller: Caller, agent: Agent, owner: User) -> None:
    talk = caller.open(REFUND)
    answers = Caller(key_for(agent, owner, ["ask:answer"], name="answers"))

    with pytest.raises(EveProblem) as problem:
        answers.call(service.create_session, message="x")
    assert refused(problem.value) == (403, "forbidden")
    with pytest.raises(EveProblem) as problem:
        talk.by(answers).send(message="x")
    assert refused(problem.value) == (403, "forbidden")
    talk.by(answers).answer(answer(talk))
    assert Verdict.objects.exists()


def test_somebody_who_is_no_owner_any_more_answers_nothing(
    caller: Caller, agent: Agent, owner: User
) -> None:
    talk = caller.open(REFUND)
    agent.owners.remove(owner)

    with pytest.raises(EveProblem) as problem:
        talk.answer(answer(talk))

    assert refused(problem.value) == (409, "session_not_active")
    assert not Verdict.objects.exists()


def test_a_revoked_key_reads_no_further(caller: Caller, agent: Agent, owner: User) -> None:
    talk = caller.open("hello")
    key, _ = api_keys.create_key(name="reads", scopes=["run:read"], agent=agent, person=owner)
    assert service.may_still_read(key, talk.id)
    api_keys.revoke_key("reads")
    assert not service.may_still_read(key, talk.id)


def test_a_key_of_no_such_agent_opens_nothing(owner: User) -> None:
    with pytest.raises(EveProblem) as problem:
        Caller(key_for(None, owner)).call(service.create_session, message="x")
    assert refused(problem.value) == (403, "forbidden")


def test_a_key_of_several_agents_names_one(caller: Caller, agent: Agent, owner: User) -> None:
    scripted_agent(owner, slug="other")
    token = key_for(None, owner, name="both")
    requests = RequestFactory(headers={"Authorization": f"Bearer {token}"})

    with pytest.raises(EveProblem) as problem:
        service.create_session(requests.post("/eve/v1/session"), b"{}")
    assert refused(problem.value) == (400, "agent_required")
    for name, status in (("a%00b", 400), ("nobody", 403), ("x" * 5000, 403)):
        with pytest.raises(EveProblem) as problem:
            service.create_session(requests.post(f"/eve/v1/session?agent={name}"), b"{}")
        assert problem.value.status == status
    said = service.create_session(requests.post(f"/eve/v1/session?agent={agent.slug}"), b"{}")
    assert caller.call(service.continue_session, said["sessionId"], message="x")["ok"] is True
