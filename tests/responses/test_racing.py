"""Four callers answer one question at once, on real connections: one verdict, one child, one run."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents.models import Run
from asks.models import Verdict
from tests.factories import UserFactory
from tests.responses.world import (
    REQUEST,
    Caller,
    Refused,
    asked,
    hybrid_agent,
    key_for,
    result,
)
from workspace.protocols.responses.models import Response

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(callers: list[Caller], paused: dict[str, Any], answers: list[str]) -> list[str]:
    """What each caller gets when all of them send together: the child's id, or the refusal's code."""
    together, got = threading.Barrier(len(callers)), []

    def send(caller: Caller, answer: str) -> None:
        together.wait()
        try:
            made = caller.send(
                previous_response_id=paused["id"], input=[result(asked(paused)["call_id"], answer)]
            )
            got.append(made["id"])
        except Refused as refused:
            got.append(refused.code or "")
        finally:
            connection.close()

    threads = [
        threading.Thread(target=send, args=pair) for pair in zip(callers, answers, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


@pytest.mark.case("responses-C32", "responses-C34", "C40", "C41")
@pytest.mark.parametrize("by_several", [False, True])
def test_four_racing_answers_make_one_child(by_several: bool) -> None:
    owners: list[User] = [UserFactory() for _ in range(4)]
    agent = hybrid_agent(owners[0])
    agent.owners.set(owners)
    people = owners if by_several else owners[:1] * 4
    callers = [
        Caller(key_for(agent, person, name=f"key {place}")) for place, person in enumerate(people)
    ]
    paused = callers[0].create(REQUEST | {"scenario": "ask"})

    got = at_once(callers, paused, ["EU", "US", "EU", "US"])

    children = {one for one in got if one.startswith("resp_")}
    assert len(children) == 1
    assert got.count("already_answered") == (3 if by_several else 2)
    assert Verdict.objects.count() == 1
    assert Response.objects.count() == 2
    assert Run.objects.count() == 2
