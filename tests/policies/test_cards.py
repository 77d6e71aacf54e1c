"""What a card says of the rules that its answer is under, and who gets to read it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.db.expressions import database_now
from agents.lifecycle import Outcome
from agents.models import Agent, Session
from asks.answering import answer_ask
from asks.models import Ask, Refusal, Verdict
from tests.factories import AgentFactory, draft, echo_of, home_of, turn_of, verdict_on
from tests.pages.html import Element, read
from tests.policies.world import asked, group_of, in_force, refund
from workspace.models import OutboxItem
from workspace.notify import payloads
from workspace.pages.account import reauthentication

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def card_of(person: User, ask: Ask, path: str = "/") -> Element:
    return read(signed_in(person).get(path).content).one("article", id=f"ask-{ask.pk}")


def test_how_many_must_approve_and_who_has(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    words = card_of(colleague, ask).words
    assert "2 of 2 must approve. The first rejection decides. Nobody has voted yet." in words
    response = signed_in(owner).post(
        f"/asks/{ask.pk}/answer", {**echo_of(ask), "option": "approve"}, headers=HTMX
    )
    assert response.status_code == 200
    assert "You voted Approve once. 1 of 2 approve" in read(response.content).words
    assert "olga voted: Approve once" in card_of(colleague, ask).words
    mine = card_of(owner, ask, f"/asks/{ask.pk}/")
    assert "You voted Approve once. 1 of 2. Still needed: " in mine.words
    assert not mine.all("button", name="option")


def test_a_card_on_the_screen_goes_when_its_reader_has_voted(
    agent: Agent, session: Session, owner: User
) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    sent = read(signed_in(owner).get(f"/queue/changes?have=ask-{ask.pk}").content)
    assert "Waits for others" in sent.one("article", id=f"ask-{ask.pk}").words


@pytest.mark.case("C80")
def test_four_eyes_kept_and_waived_are_both_said(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    in_force(agent, refund(four_eyes="required"))
    ask = asked(session)
    assert "Started for olga, so somebody else must answer" in card_of(colleague, ask).words
    mine = card_of(owner, ask, f"/asks/{ask.pk}/")
    assert "somebody else must answer (four eyes)" in mine.words
    assert not mine.all("button", name="option")

    alone = AgentFactory(owners=[owner])
    in_force(alone, refund(four_eyes="unless_alone"))
    waived = asked(home_of(alone))
    words = card_of(owner, waived).words
    assert "nobody else can answer: policy version 1 waives the second pair of eyes." in words
    verdict_on(waived, owner)


def test_whose_group_answers_is_said_and_the_owner_only_reads(
    agent: Agent, session: Session, owner: User, stranger: User
) -> None:
    group_of("finance", stranger)
    in_force(agent, refund(answered_by="group:finance"))
    ask = asked(session)
    assert "The group finance answers this." in card_of(stranger, ask).words
    mine = card_of(owner, ask, f"/asks/{ask.pk}/")
    assert "It waits for finance." in mine.words
    assert not mine.all("button", name="option")
    assert "Nothing waits on you" in read(signed_in(owner).get("/").content).words


def test_a_reason_is_asked_for_where_it_is_needed(
    agent: Agent, session: Session, owner: User
) -> None:
    in_force(agent, refund(reason_for=["danger"]))
    ask = asked(session)
    client = signed_in(owner)
    first = client.post(f"/asks/{ask.pk}/answer", {**echo_of(ask), "option": "deny"}, headers=HTMX)
    form = read(first.content).one("form", action=f"/asks/{ask.pk}/answer")
    assert form.one("textarea", name="text")
    second = client.post(
        f"/asks/{ask.pk}/answer", {**form.fields(), "option": "deny"}, headers=HTMX
    )
    assert second.status_code == 422
    again = read(second.content).one("form", action=f"/asks/{ask.pk}/answer")
    assert "Say why you choose “Reject”." in read(second.content).words
    filled = {**again.fields(), "text": "Fraud.", "option": "deny"}
    assert client.post(f"/asks/{ask.pk}/answer", filled, headers=HTMX).status_code == 200
    assert Verdict.objects.get().text == "Fraud."


class TestProving:
    """A sensitive answer wants a recent proof of who gives it."""

    @pytest.fixture
    def ask(self, agent: Agent, session: Session, owner: User) -> Ask:
        owner.set_password("horse battery staple")
        owner.save()
        in_force(agent, refund(reauthenticate_within=10))
        return asked(session)

    @pytest.fixture
    def client(self, owner: User, ask: Ask) -> Client:  # noqa: ARG002 -- it sets the password first
        """Signed in eleven minutes ago, with the password that they have now."""
        client = signed_in(owner)
        session = client.session
        session[reauthentication.KEY] = (database_now() - timedelta(minutes=11)).isoformat()
        session.save()
        return client

    def approve(self, client: Client, ask: Ask) -> Element:
        fields = {**echo_of(ask), "option": "approve"}
        return read(client.post(f"/asks/{ask.pk}/answer", fields, headers=HTMX).content)

    def test_after_too_long_it_is_asked_for_and_then_counts(self, client: Client, ask: Ask) -> None:
        card = self.approve(client, ask).one("article", id=f"ask-{ask.pk}")
        assert "signed in within the last 10 minutes" in card.words
        link = card.one("a", href=f"/prove?next=/asks/{ask.pk}/")
        assert link.words == "Prove who you are"
        assert not Verdict.objects.exists()
        proved = client.post(str(link.attrs["href"]), {"password": "horse battery staple"})
        assert proved.headers["Location"] == f"/asks/{ask.pk}/"
        self.approve(client, ask)
        assert Verdict.objects.exists()

    def test_a_wrong_password_proves_nothing(self, client: Client, ask: Ask) -> None:
        page = client.post(f"/prove?next=/asks/{ask.pk}/", {"password": "guess"})
        assert page.status_code == 422
        assert "That is not your password." in read(page.content).words
        self.approve(client, ask)
        assert not Verdict.objects.exists()

    def test_many_wrong_ones_are_throttled(self, client: Client, ask: Ask) -> None:
        for _ in range(8):
            client.post("/prove", {"password": "guess"})
        page = client.post("/prove", {"password": "horse battery staple"})
        assert page.status_code in {403, 422, 429}
        self.approve(client, ask)
        assert not Verdict.objects.exists()

    @pytest.mark.usefixtures("ask")
    @pytest.mark.parametrize(
        "elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"]
    )
    def test_it_leads_nowhere_else(self, client: Client, elsewhere: str) -> None:
        proved = client.post(f"/prove?next={elsewhere}", {"password": "horse battery staple"})
        assert proved.headers["Location"] == "/"

    @pytest.mark.parametrize("kept", ["", "yesterday", 7, None])
    def test_a_login_that_says_no_time_proves_nothing(
        self, client: Client, ask: Ask, kept: object
    ) -> None:
        session = client.session
        session[reauthentication.KEY] = kept
        session.save()
        self.approve(client, ask)
        assert not Verdict.objects.exists()
        assert Refusal.objects.latest("pk").reason == "reauthenticate"


class TestConfidential:
    """What is confidential is read only by those who answer it."""

    SECRET = "Dismiss Jane Roe?"

    @pytest.fixture
    def ask(self, agent: Agent, session: Session, stranger: User) -> Ask:
        group_of("hr", stranger)
        in_force(agent, refund(answered_by="group:hr", confidential=True))
        return asked(session, prompt=self.SECRET)

    def test_the_owner_does_not_read_it_anywhere(
        self, ask: Ask, session: Session, owner: User
    ) -> None:
        client = signed_in(owner)
        assert client.get(f"/asks/{ask.pk}/").status_code == 404
        for path in (
            "/",
            f"/sessions/{session.pk}/",
            "/decisions/",
            "/backlog/",
            "/agents/ledger/",
        ):
            assert "Jane Roe" not in client.get(path).content.decode(), path
        assert "A confidential question." in client.get(f"/sessions/{session.pk}/").content.decode()

    def test_who_answers_reads_it(self, ask: Ask, stranger: User) -> None:
        words = card_of(stranger, ask).words
        assert self.SECRET in words
        assert "Confidential: only those who answer it can read it." in words

    def test_nor_once_it_is_answered(
        self, ask: Ask, session: Session, owner: User, stranger: User
    ) -> None:
        answer_ask(
            ask_id=ask.pk, by=stranger, option="deny", text="Not Jane Roe!", echo=echo_of(ask)
        )
        page = signed_in(owner).get(f"/sessions/{session.pk}/").content.decode()
        assert "Jane Roe" not in page
        assert "Jane Roe" not in signed_in(owner).get("/decisions/").content.decode()

    def test_nothing_of_it_leaves_the_machine(self, ask: Ask) -> None:
        item = OutboxItem.objects.get(kind="ask.opened", subject=f"ask:{ask.pk}")
        told = payloads.ask_payload(item.payload, "ask.opened", Ask.objects.get(pk=ask.pk))
        path = f"/asks/{ask.pk}/"
        assert told["ask"] == {
            "id": ask.pk, "path": path, "confidential": True, "status": "open",
        }  # fmt: skip
        assert "Jane Roe" not in str(told)

    def test_an_owners_own_confidential_question_is_theirs(
        self, agent: Agent, session: Session, owner: User
    ) -> None:
        in_force(agent, confidential=True)
        run = turn_of(session, Outcome.BLOCKED, asks=(draft(prompt=self.SECRET),))
        assert self.SECRET in card_of(owner, run.asks.get()).words
