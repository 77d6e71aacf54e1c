"""The edges of the door: addresses, ids, scopes, and the words of a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent, Run
from asks import answering
from asks.policies import versions
from tests.responses.answers import refused
from tests.responses.world import (
    REQUEST,
    Caller,
    Refused,
    ask_of,
    body,
    brain,
    carry_all,
    hybrid_agent,
    key_for,
    words,
)
from workspace.accounts.api_keys import KeyRefused
from workspace.models import Scope
from workspace.protocols.responses.agent.failures import with_detail, words_for_caller
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server import service

pytestmark = pytest.mark.django_db

READS = (service.retrieve_response, service.list_input_items)
NAMES = [
    "\0",
    "a\0b",
    "resp_\0",
    "%00",
    "a\nb",
    "resp_" + "0" * 48 + "\n",
    "x" * 9999,
    "…",
]


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/v1/models",
        "/v1/chat/completions",
        "/v1/responses/",
        "/v1/responses/compact",
        "/v1/responses/input_tokens",
        "/v1/responses/resp_1/nothing",
        "/v1/responses/resp_1/cancel/",
        "/v1/a%0Ab",
    ],
)
def test_an_address_that_is_not_served_says_so_in_json(
    client: Client, method: str, path: str
) -> None:
    sent = getattr(client, method)(path)

    assert sent.status_code == 404
    assert sent.headers["content-type"] == "application/json"
    assert sent.json()["error"]["code"] == "unsupported_endpoint"


@pytest.mark.parametrize("name", NAMES)
def test_an_id_that_cannot_be_is_not_found(caller: Caller, name: str) -> None:
    for verb in (*READS, service.cancel_response, service.delete_response):
        assert refused(lambda verb=verb: caller.call(verb, name)).status == 404


@pytest.mark.parametrize("name", [name for name in NAMES if name.isprintable()][:3])
def test_a_previous_id_that_cannot_be_is_not_found(caller: Caller, name: str) -> None:
    no = refused(lambda: caller.send(input="x", previous_response_id=name[:200]))

    assert (no.status, no.code) == (400, "previous_response_not_found")


#: The scopes that open each verb, alone.
OPENS = {
    service.retrieve_response: {Scope.RUN_READ},
    service.list_input_items: {Scope.RUN_READ},
    service.cancel_response: {Scope.RUN_CREATE},
    service.delete_response: set(),
}


@pytest.mark.parametrize("scope", list(Scope))
def test_each_scope_opens_what_it_says(
    caller: Caller, agent: Agent, owner: User, scope: Scope
) -> None:
    theirs = Caller(key_for(agent, owner, (scope,), name="theirs"))
    done = caller.create("hello")

    for verb, scopes in OPENS.items():
        opened = _opens(theirs, verb, done["id"])
        assert opened == (scope in scopes), (verb, scope)
    assert _starts(theirs) == (scope == Scope.RUN_CREATE)
    assert Response.objects.get(public_id=done["id"]).deleted_at is None


def _opens(caller: Caller, verb: Any, name: str) -> bool:
    try:
        caller.call(verb, name)
    except KeyRefused:
        return False
    except Refused as no:
        # A finished response cannot be cancelled.
        return no.status == 400
    return True


def _starts(caller: Caller) -> bool:
    try:
        caller.send(input="hello")
    except (KeyRefused, Refused):
        return False
    return True


def test_deleting_needs_both_scopes(agent: Agent, owner: User) -> None:
    both = Caller(key_for(agent, owner, (Scope.RUN_CREATE, Scope.RUN_READ), name="both"))

    assert both.call(service.delete_response, both.create("hello")["id"])["deleted"] is True


TRACEBACK = "raise RuntimeError('secret at ' + os.getcwd())"


@pytest.mark.parametrize("place", ["command", "postprocess"])
def test_a_traceback_is_for_the_owner_alone(owner: User, tmp_path: Path, place: str) -> None:
    crash, fine = brain(tmp_path, TRACEBACK), brain(tmp_path, "print('done')")
    settings: dict[str, Any] = {"command": fine, place: crash}
    caller = Caller(key_for(hybrid_agent(owner, **settings), owner))

    failed = caller.create(REQUEST)

    told = json.dumps(failed["error"])
    assert failed["status"] == "failed"
    assert "Traceback" not in told
    assert "secret" not in told
    assert "/" not in told
    assert "Traceback" in Run.objects.get().error


def test_a_command_that_is_not_there_is_not_named(owner: User) -> None:
    caller = Caller(key_for(hybrid_agent(owner, command=["/nowhere/secret-brain"]), owner))

    failed = caller.create(REQUEST)

    assert failed["error"]["message"].startswith("The brain could not be started.")
    assert "secret-brain" not in failed["error"]["message"]
    assert "/nowhere/secret-brain" in Run.objects.get().error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("", "The run failed."),
        ("It broke.", "It broke."),
        ("It broke in /srv/app.", "It broke in …"),
        (with_detail("It broke.", "out of ideas"), "It broke. out of ideas"),
        (with_detail("It broke.", "no such file: /srv/x"), "It broke."),
        (with_detail("It broke.", r"no such file: C:\srv\x"), "It broke."),
        (with_detail("It broke.", "Traceback\n  File x\nE"), "It broke."),
    ],
)
def test_a_caller_gets_words(error: str, said: str) -> None:
    assert words_for_caller(error) == said


def test_a_confidential_question_of_a_policy_is_answered_on_the_page(
    caller: Caller, agent: Agent, owner: User
) -> None:
    """The event of the answer has none of its words. They come from the rows."""
    rules = {"terms": {"confidential": True}}
    versions.add_version(agent_id=agent.pk, rules=rules, why="Quietly.", by=owner)
    paused = caller.ask()
    ask = ask_of(paused)
    assert ask.confidential

    answering.answer_ask(ask_id=ask.pk, by=owner, option=ask.options.get(label="EU").key)
    carry_all()

    assert "Reconciled EU" in words(body(Response.objects.get(answers=ask).public_id))
