"""Reading, answering and withdrawing asks over the API, as each of the cast."""

from __future__ import annotations

import json

import pytest
from pytest_django import DjangoAssertNumQueries

from agents.models import Run
from asks import withdrawing
from asks.models import Ask, Refusal, Verdict
from tests.api import world
from tests.api.calling import Caller
from tests.api.world import Cast
from workspace.accounts import api_keys
from workspace.models import ApiKey, OutboxItem

pytestmark = pytest.mark.django_db


def test_an_owner_reads_an_ask_whole(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.approval())
    said = as_owner.get(f"/api/asks/{ask.pk}")
    assert said.status == 200
    assert said.json["binding"] == world.echo_of(ask)
    assert said.json["action"] == {
        "operation": "refund",
        "params": {"order": 1182, "amount": 48},
        "gate": 0,
        "params_schema": None,
        "may_edit": False,
    }
    assert said.json["options"][0] == {
        "key": "yes",
        "label": "Approve",
        "detail": "",
        "style": "default",
        "meaning": "approve",
    }
    assert (said.json["status"], said.json["gated"], said.json["verdict"]) == ("open", False, None)
    assert said.json["agent"]["slug"] == cast.agent.slug
    assert said.headers["Cache-Control"] == "no-store"


def test_a_gated_ask_is_flagged(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.approval(money_critical=True))
    assert as_owner.get(f"/api/asks/{ask.pk}").json["gated"] is True


def test_open_asks_are_listed_longest_wait_first(cast: Cast, as_owner: Caller) -> None:
    first = world.asked(cast.agent, world.question(), world.words())
    second = world.agent_of(cast.owner)
    last = world.asked(second)
    said = as_owner.get("/api/asks")
    assert [ask["id"] for ask in said.json["asks"]] == [first.pk, first.pk + 1, last.pk]
    assert said.json["next"] is None


def test_asks_are_filtered(cast: Cast, as_owner: Caller) -> None:
    question = world.asked(cast.agent, world.question(), world.approval())
    approval = Ask.objects.get(pk=question.pk + 1)
    elsewhere = world.asked(world.agent_of(cast.owner))
    withdrawing.withdraw_ask(ask_id=question.pk, by=cast.owner)

    def found(query: str) -> list[int]:
        said = as_owner.get(f"/api/asks?{query}")
        assert said.status == 200, said.json
        return [ask["id"] for ask in said.json["asks"]]

    assert found("") == [approval.pk, elsewhere.pk]
    assert found("status=withdrawn") == [question.pk]
    assert found("status=all") == [question.pk, approval.pk, elsewhere.pk]
    assert found("kind=approval") == [approval.pk]
    assert found(f"agent={cast.agent.slug}") == [approval.pk]
    assert found("agent=nobody") == []
    assert found(f"session={elsewhere.session_id}") == [elsewhere.pk]
    assert found("session=9223372036854775807") == []


def test_pages_follow_each_other_without_gap_or_double(cast: Cast, as_owner: Caller) -> None:
    world.turn(cast.agent, *(world.question(f"Which of {n}?") for n in range(7)))
    seen: list[int] = []
    query = "limit=3"
    for size in (3, 3, 1):
        said = as_owner.get(f"/api/asks?{query}").json
        assert len(said["asks"]) == size
        seen += [ask["id"] for ask in said["asks"]]
        query = f"limit=3&after={said['next']}"
    assert said["next"] is None
    assert seen == sorted(Ask.objects.values_list("pk", flat=True))


def test_an_ask_that_closes_meanwhile_does_not_shift_the_pages(
    cast: Cast, as_owner: Caller
) -> None:
    world.turn(cast.agent, *(world.question(f"Which of {n}?") for n in range(4)))
    first = as_owner.get("/api/asks?limit=2").json
    withdrawing.withdraw_ask(ask_id=first["asks"][0]["id"], by=cast.owner)
    second = as_owner.get(f"/api/asks?limit=2&after={first['next']}").json
    assert len(second["asks"]) == 2


@pytest.mark.parametrize("count", [1, 12])
def test_a_page_costs_the_same_whatever_its_length(
    cast: Cast, as_owner: Caller, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    world.turn(cast.agent, *(world.approval() for _ in range(count)))
    as_owner.get("/api/asks")  # notes the key's use
    with django_assert_num_queries(4):  # the key, the asks, their options, their votes
        assert len(as_owner.get("/api/asks").json["asks"]) == count


@pytest.mark.parametrize("who", ["as_owner", "as_colleague"])
def test_an_owner_answers_with_the_binding_echoed(
    cast: Cast, who: str, request: pytest.FixtureRequest
) -> None:
    caller: Caller = request.getfixturevalue(who)
    ask = world.asked(cast.agent, world.approval())
    shown = caller.get(f"/api/asks/{ask.pk}").json
    body = {"option": "yes", "text": "go ahead", "binding": shown["binding"]}
    said = caller.post(f"/api/asks/{ask.pk}/answer", body)
    assert said.status == 200, said.json
    verdict = Verdict.objects.get(ask=ask)
    person = cast.owner if who == "as_owner" else cast.colleague
    assert (verdict.decided_by, verdict.option.key, verdict.via) == (person, "yes", "api")  # type: ignore[union-attr]
    assert said.json["repeated"] is False
    assert said.json["ask"]["status"] == "answered"
    assert said.json["ask"]["verdict"]["decided_by"] == person.username
    assert said.json["ask"]["verdict"]["text"] == "go ahead"
    assert Run.objects.filter(session=cast.session, status="queued", cause="human").exists()
    assert OutboxItem.objects.filter(kind="ask.answered").count() == 1


def test_the_identical_answer_again_is_200_and_one_verdict(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.approval())
    body = {"option": "yes", "binding": world.echo_of(ask)}
    first, second = (as_owner.post(f"/api/asks/{ask.pk}/answer", body) for _ in range(2))
    assert (first.status, second.status) == (200, 200)
    assert second.json["repeated"] is True
    assert second.json["ask"]["verdict"] == first.json["ask"]["verdict"]
    assert Verdict.objects.filter(ask=ask).count() == 1


def test_words_answer_a_question_without_options(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.words())
    text = "Schreib „Grüße“ 😀\n<b>{{ x }}</b>"
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", {"text": text})
    assert said.status == 200
    assert said.json["ask"]["verdict"]["text"] == text


def test_an_owner_withdraws_with_a_reason(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent)
    said = as_owner.post(f"/api/asks/{ask.pk}/cancel", {"reason": "done by hand"})
    assert said.status == 200
    assert (said.json["ask"]["status"], said.json["ask"]["close_reason"]) == (
        "withdrawn",
        "done by hand",
    )
    assert as_owner.post(f"/api/asks/{ask.pk}/cancel").status == 200
    assert not Verdict.objects.exists()


def test_a_cancel_needs_no_body(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent)
    assert as_owner.send("POST", f"/api/asks/{ask.pk}/cancel").status == 200


def test_a_gated_ask_can_be_withdrawn_and_mints_nothing(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.approval(money_critical=True))
    assert as_owner.post(f"/api/asks/{ask.pk}/cancel").status == 200
    assert not Verdict.objects.exists()


@pytest.mark.case("C71")
@pytest.mark.parametrize("verb", ["answer", "cancel"])
def test_an_agents_key_never_answers_and_its_attempt_is_kept(
    cast: Cast, as_agent: Caller, verb: str
) -> None:
    ask = world.asked(cast.agent, world.approval())
    body = {"option": "yes", "binding": world.echo_of(ask)} if verb == "answer" else {}
    said = as_agent.post(f"/api/asks/{ask.pk}/{verb}", body)
    assert said.status == 403
    assert said.json["reason"] == "agents_never_answer"
    assert Ask.objects.get(pk=ask.pk).status == "open"
    refusal = Refusal.objects.get()
    assert (refusal.ask, refusal.by, refusal.reason, refusal.via) == (
        ask,
        None,
        "not_allowed",
        "api",
    )
    assert "Attempted self-approval" in refusal.detail
    assert ApiKey.objects.get().name in refusal.detail


def test_an_agents_attempt_says_nothing_about_what_exists(cast: Cast, as_agent: Caller) -> None:
    theirs = world.asked(cast.other)
    mine = world.asked(cast.agent)
    said = [as_agent.post(f"/api/asks/{pk}/answer") for pk in (theirs.pk, mine.pk, 10**12)]
    assert len({answer.body for answer in said}) == 1


@pytest.mark.case("C72")
@pytest.mark.parametrize(
    "field",
    ["by", "decided_by", "user", "author", "completed_by_email", "via", "via_key", "session_key"],
)
def test_a_body_never_says_who_answers(cast: Cast, as_owner: Caller, field: str) -> None:
    """It is turned down by name, and the same answer without it is the key's person's."""
    ask = world.asked(cast.agent)
    said = as_owner.post(
        f"/api/asks/{ask.pk}/answer", {"option": "eu", field: cast.colleague.username}
    )
    assert said.status == 422
    assert [error["field"] for error in said.json["errors"]] == [field]
    assert not Verdict.objects.exists()
    as_owner.post(f"/api/asks/{ask.pk}/answer", {"option": "eu"})
    assert Verdict.objects.get().decided_by == cast.owner


def test_headers_never_say_who_answers(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent)
    name = cast.colleague.username
    as_owner.post(
        f"/api/asks/{ask.pk}/answer", {"option": "eu"}, Remote_User=name, X_Forwarded_User=name
    )
    assert Verdict.objects.get().decided_by == cast.owner


def test_a_stranger_sees_and_moves_nothing(cast: Cast, as_stranger: Caller) -> None:
    ask = world.asked(cast.agent)
    theirs = world.asked(cast.other)
    listed = as_stranger.get("/api/asks?status=all").json["asks"]
    assert [found["id"] for found in listed] == [theirs.pk]
    missing = as_stranger.get("/api/asks/999999999")
    for said in (
        as_stranger.get(f"/api/asks/{ask.pk}"),
        as_stranger.post(f"/api/asks/{ask.pk}/answer", {"option": "eu"}),
        as_stranger.post(f"/api/asks/{ask.pk}/cancel"),
    ):
        assert (said.status, said.json) == (404, missing.json)
    assert Ask.objects.get(pk=ask.pk).status == "open"
    assert Refusal.objects.filter(ask=ask, by=cast.stranger, reason="not_found").count() == 2


def test_an_agents_key_reads_its_own_agents_asks_only(cast: Cast, as_agent: Caller) -> None:
    mine, theirs = world.asked(cast.agent), world.asked(cast.other)
    assert [ask["id"] for ask in as_agent.get("/api/asks").json["asks"]] == [mine.pk]
    assert as_agent.get(f"/api/asks/{mine.pk}").status == 200
    assert as_agent.get(f"/api/asks/{theirs.pk}").status == 404


def test_a_persons_key_on_one_agent_reaches_no_other(cast: Cast) -> None:
    second = world.agent_of(cast.owner)
    mine, other = world.asked(cast.agent), world.asked(second)
    caller = Caller(world.key_of(cast.owner, cast.agent))
    assert [ask["id"] for ask in caller.get("/api/asks").json["asks"]] == [mine.pk]
    for said in (
        caller.get(f"/api/asks/{other.pk}"),
        caller.post(f"/api/asks/{other.pk}/answer", {"option": "eu"}),
        caller.post(f"/api/asks/{other.pk}/cancel"),
    ):
        assert said.status == 404
    assert Refusal.objects.filter(ask=other, by=cast.owner, reason="not_found").count() == 2
    assert caller.post(f"/api/asks/{mine.pk}/answer", {"option": "eu"}).status == 200


def test_a_person_who_lost_the_agent_lost_it_here_too(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent)
    cast.agent.owners.remove(cast.owner)
    assert as_owner.get("/api/asks").json["asks"] == []
    assert as_owner.post(f"/api/asks/{ask.pk}/answer", {"option": "eu"}).status == 404


def test_a_key_revoked_mid_way_ends_there(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.approval())
    shown = as_owner.get(f"/api/asks/{ask.pk}").json
    api_keys.revoke_key(ApiKey.objects.get(person=cast.owner).name)
    body = {"option": "yes", "binding": shown["binding"]}
    assert as_owner.post(f"/api/asks/{ask.pk}/answer", body).status == 401
    assert Ask.objects.get(pk=ask.pk).status == "open"


def test_reading_without_the_scope_is_no_attempt_to_answer(cast: Cast) -> None:
    ask = world.asked(cast.agent)
    caller = Caller(world.key_of(agent=cast.agent, scopes=("run:create",)))
    assert caller.get(f"/api/asks/{ask.pk}").status == 403
    assert caller.get("/api/asks").status == 403
    assert not Refusal.objects.exists()


def test_a_key_without_the_scope_is_refused_and_kept(cast: Cast) -> None:
    ask = world.asked(cast.agent)
    caller = Caller(world.key_of(cast.owner, scopes=("run:read",)))
    said = caller.post(f"/api/asks/{ask.pk}/answer", {"option": "eu"})
    assert (said.status, said.json["reason"]) == (403, "scope")
    refusal = Refusal.objects.get()
    assert (refusal.by, refusal.reason) == (cast.owner, "not_allowed")
    assert "self-approval" not in refusal.detail


def test_params_come_out_as_they_went_in(cast: Cast, as_owner: Caller) -> None:
    params = {"z": 1e21, "b": 0.1, "a": [1, "é", None, True], "n": {"deep": {"er": -0.5}}}
    ask = world.asked(cast.agent, world.approval(params=params))
    said = as_owner.get(f"/api/asks/{ask.pk}")
    assert said.json["action"]["params"] == params
    assert json.loads(said.body)["action"]["params"]["z"] == 1e21
