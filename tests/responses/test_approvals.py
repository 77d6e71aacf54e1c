"""An approval on this wire: a call with its binding, or a request in the shape of MCP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import messages
from agents.models import Agent
from asks import answering
from asks.lifecycle import AskStatus, Meaning
from asks.models import Ask, Grant, GrantState, Verdict
from asks.policies import versions
from tests.responses.answers import nothing_was_dispatched, refused
from tests.responses.strict import has_approvals_of_mcp
from tests.responses.world import (
    REQUEST,
    Caller,
    body,
    brain,
    carry_all,
    hybrid_agent,
    key_for,
    result,
    row,
    words,
)
from workspace.protocols.responses.models import Response

pytestmark = pytest.mark.django_db

MCP = [{"type": "mcp", "server_label": "needs-you", "server_url": "https://example.com"}]
ACTION = {"operation": "refund", "params": {"amount": 10, "to": "anna"}}
SCRIPT = f"""
if "# The answer" in prompt:
    print(prompt.partition("# The answer")[2])
else:
    pathlib.Path("hitl_request.json").write_text(json.dumps(
        {{"request_id": "refund", "question": "Refund Anna?", "action": {ACTION!r}}}))
"""


@pytest.fixture
def refunder(owner: User, tmp_path: Path) -> Agent:
    return hybrid_agent(owner, command=brain(tmp_path, SCRIPT))


@pytest.fixture
def client(refunder: Agent, owner: User) -> Caller:
    return Caller(key_for(refunder, owner))


def approval(response: dict[str, Any]) -> dict[str, Any]:
    """The one approval of a response, as a call."""
    (item,) = [one for one in response["output"] if one.get("name") == "request_approval"]
    return {**item, "arguments": json.loads(item["arguments"])}


def request_of(response: dict[str, Any]) -> dict[str, Any]:
    """The one approval of a response, in the shape of MCP."""
    (item,) = response["output"]
    assert item["type"] == "mcp_approval_request"
    found: dict[str, Any] = item
    return found


def decision(paused: dict[str, Any], word: str = "Approve", **more: Any) -> dict[str, Any]:
    found = approval(paused)
    given = {"decision": word, "binding": found["arguments"]["binding"], **more}
    return result(found["call_id"], json.dumps(given))


def answered(client: Caller, paused: dict[str, Any], *items: Any, **more: Any) -> dict[str, Any]:
    return client.create(previous_response_id=paused["id"], input=list(items), **more)


def yes(request: str, *, approve: bool = True, **more: Any) -> dict[str, Any]:
    named = {"type": "mcp_approval_response", "approval_request_id": request}
    return {**named, "approve": approve, **more}


def test_an_approval_is_a_call_with_its_binding(client: Caller) -> None:
    paused = client.create(REQUEST)

    arguments = approval(paused)["arguments"]
    assert arguments["action"] == ACTION
    assert set(arguments["binding"]) == {"action_hash", "policy_version", "run_version"}
    assert arguments["options"] == ["Approve", "Deny"]
    assert arguments["request_event"]["data"]["question"] == "Refund Anna?"
    assert paused["envelope"]["status"] == "awaiting_human"


def test_a_bound_yes_is_told_with_its_action(client: Caller) -> None:
    paused = client.create(REQUEST)

    done = answered(client, paused, decision(paused, reason="She paid twice."))

    assert f"is approved, exactly as it is here: {json.dumps(ACTION)}" in words(done)
    verdict = Verdict.objects.get()
    assert (verdict.meaning, verdict.text) == (Meaning.APPROVE, "She paid twice.")
    assert answered(client, paused, decision(paused, reason="She paid twice."))["id"] == done["id"]


def test_a_bound_no_is_told_too(client: Caller) -> None:
    paused = client.create(REQUEST)

    assert "is not approved" in words(answered(client, paused, decision(paused, "Deny")))


def test_a_press_on_the_page_tells_the_same(client: Caller, owner: User) -> None:
    client.create(REQUEST)
    ask = Ask.objects.get()
    echo = {
        name: getattr(ask.gate, name) for name in ("action_hash", "policy_version", "run_version")
    }
    answering.answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo)
    carry_all()

    done = body(Response.objects.get(answers=ask).public_id)
    assert f"is approved, exactly as it is here: {json.dumps(ACTION)}" in words(done)


@pytest.mark.parametrize("output", ["Approve", "yes", '{"decision": "Approve"}', "{}"])
def test_a_yes_without_binding_approves_nothing(client: Caller, output: str) -> None:
    paused = client.create(REQUEST)
    count = Response.objects.count()

    no = refused(lambda: answered(client, paused, result(approval(paused)["call_id"], output)))

    assert no.status == 400
    assert no.code in ("unbindable", "unknown_option")
    assert Ask.objects.get().status == AskStatus.OPEN
    assert nothing_was_dispatched(count)


def test_a_binding_to_something_else_approves_nothing(client: Caller) -> None:
    paused = client.create(REQUEST)
    found = approval(paused)
    binding = {**found["arguments"]["binding"], "action_hash": "v1:" + "0" * 64}
    output = json.dumps({"decision": "Approve", "binding": binding})

    no = refused(lambda: answered(client, paused, result(found["call_id"], output)))

    assert (no.status, no.code) == (409, "stale")
    assert not Verdict.objects.exists()


def test_a_caller_with_our_mcp_tool_is_asked_in_its_shape(client: Caller) -> None:
    paused = client.create(REQUEST, tools=MCP)

    request = request_of(paused)
    assert has_approvals_of_mcp(paused)
    assert (request["server_label"], request["name"]) == ("needs-you", "refund")
    assert json.loads(request["arguments"]) == ACTION["params"]
    assert request["id"].startswith("mcpr_")

    done = answered(client, paused, yes(request["id"], reason="She paid twice."), tools=MCP)

    assert f"is approved, exactly as it is here: {json.dumps(ACTION)}" in words(done)
    assert Verdict.objects.get().text == "She paid twice."
    assert (
        answered(client, paused, yes(request["id"], reason="She paid twice."))["id"] == done["id"]
    )


def test_the_id_of_an_approval_names_its_response(client: Caller, stranger: User) -> None:
    """Clients refer to the request by its id, and need not say which response it was in."""
    paused = client.create(REQUEST, tools=MCP)
    name = request_of(paused)["id"]
    items = [{"type": "item_reference", "id": name}, yes(name)]
    theirs = Caller(key_for(hybrid_agent(stranger, "other"), stranger, name="stranger"))

    assert refused(lambda: theirs.send(input=items[1:])).code == "approval_request_not_found"
    assert "is approved" in words(client.create(input=items, tools=MCP))


def test_a_no_in_the_shape_of_mcp(client: Caller) -> None:
    paused = client.create(REQUEST, tools=MCP)

    done = answered(client, paused, yes(request_of(paused)["id"], approve=False), tools=MCP)

    assert "is not approved" in words(done)


def test_the_other_word_later_is_refused(client: Caller) -> None:
    paused = client.create(REQUEST, tools=MCP)
    name = request_of(paused)["id"]
    answered(client, paused, yes(name))

    no = refused(lambda: answered(client, paused, yes(name, approve=False)))

    assert (no.status, no.code) == (409, "already_answered")


@pytest.mark.parametrize("shape", ["call", "mcp"])
def test_an_id_from_before_a_change_of_the_policy_is_stale(
    client: Caller, refunder: Agent, owner: User, shape: str
) -> None:
    tools = MCP if shape == "mcp" else []
    paused = client.create(REQUEST, tools=tools)
    item = yes(request_of(paused)["id"]) if shape == "mcp" else decision(paused)
    versions.add_version(agent_id=refunder.pk, rules={}, why="A new year.", by=owner)

    for _ in range(2):
        no = refused(lambda: answered(client, paused, item, tools=tools))
        assert (no.status, no.code) == (409, "stale")
        assert no.headers["x-should-retry"] == "false"
    assert not Verdict.objects.exists()

    (named,) = client.look(paused)["envelope"]["questions"]
    assert named["status"] == "open"
    output = json.dumps({"decision": "Approve", "binding": named["binding"]})
    new = yes(named["approval_request_id"]) if shape == "mcp" else result(named["call_id"], output)
    assert "is approved" in words(answered(client, paused, new, tools=tools))


def test_an_old_approval_in_a_transcript_is_no_new_one(client: Caller) -> None:
    paused = client.create(REQUEST, tools=MCP)
    item = yes(request_of(paused)["id"])
    done = answered(client, paused, item, tools=MCP)
    more = {"role": "user", "content": json.dumps(REQUEST)}

    later = answered(client, done, item, more, tools=MCP)

    assert later["previous_response_id"] == done["id"]
    assert row(later).root is None
    no = refused(
        lambda: answered(client, done, yes(item["approval_request_id"], approve=False), more)
    )
    assert (no.status, no.code) == (400, "approval_request_not_found")


def test_an_agents_key_approves_nothing(refunder: Agent) -> None:
    theirs = Caller(key_for(refunder, None, ("run:create", "run:read"), name="program"))
    paused = theirs.create(REQUEST, tools=MCP)

    no = refused(lambda: answered(theirs, paused, yes(request_of(paused)["id"]), tools=MCP))

    assert (no.status, no.code) == (403, "not_permitted")
    assert Ask.objects.get().status == AskStatus.OPEN


@pytest.mark.parametrize(
    "changes",
    [
        {"action": "refund"},
        {"action": {"operation": ""}},
        {"action": {"operation": 7}},
        {"action": {"operation": "refund", "params": {"n": 1e400}}},
        {"action": {"operation": "refund", "extra": 1}},
        {"action": ACTION, "options": ["EU", "US"]},
    ],
)
def test_an_action_that_cannot_be_bound_fails_the_run(
    owner: User, tmp_path: Path, changes: dict[str, Any]
) -> None:
    text = json.dumps({"question": "Refund?", **changes})
    script = f"pathlib.Path('hitl_request.json').write_text({text!r})"
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, script)), owner))

    failed = caller.create(REQUEST)

    assert failed["status"] == "failed"
    assert failed["error"]["message"].startswith("hitl_request.json ")
    assert not Ask.objects.exists()


def test_a_confidential_agent_shows_no_action(owner: User, tmp_path: Path) -> None:
    agent = hybrid_agent(owner, command=brain(tmp_path, SCRIPT), confidential=True)

    failed = Caller(key_for(agent, owner)).create(REQUEST)

    assert failed["status"] == "failed"
    assert "anna" not in json.dumps(failed)


def press(owner: User) -> Ask:
    """The owner approves on the page. Nothing runs yet."""
    ask = Ask.objects.get()
    echo = {
        name: getattr(ask.gate, name) for name in ("action_hash", "policy_version", "run_version")
    }
    answering.answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo)
    return ask


def change_policy(ask: Ask, owner: User) -> None:
    versions.add_version(agent_id=ask.agent_id, rules={}, why="A new year.", by=owner)


def write(ask: Ask, owner: User) -> None:
    messages.post_message(session_id=ask.session_id, by=owner, text="Do NOT refund anything.")


@pytest.mark.parametrize("end", [change_policy, write])
def test_an_approval_that_has_ended_is_not_told(
    client: Caller, owner: User, end: Callable[[Ask, User], None]
) -> None:
    """What the executor checks for other agents is checked before the brain is told."""
    client.create(REQUEST)
    ask = press(owner)

    end(ask, owner)
    carry_all()

    told = words(body(Response.objects.get(answers=ask).public_id))
    assert "is not approved" in told
    assert "exactly as it is here" not in told
    assert '"Approve"' not in told


def test_what_was_told_counts_as_used(client: Caller, owner: User) -> None:
    client.create(REQUEST)
    ask = press(owner)

    carry_all()

    assert Grant.objects.get(ask=ask).state != GrantState.MINTED
