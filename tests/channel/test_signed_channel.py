"""A valid signature over the exact binding by an owner decides; nothing else changes anything."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.models import Event, Run, Session
from asks import answering
from asks.ledger import verify
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, LedgerRecord, Refusal, SignedFile, Verdict
from asks.refusals import Refused
from asks.signed_channel import decision_files
from tests.channel.signing import Channel, shown
from tests.ledger.world import Draft, agent_of, ask_of, echo_of, person, take_turn

pytestmark = pytest.mark.django_db


def turned_down(ask: Ask, reason: Reason, words: str) -> Refusal:
    """The one refusal that the scan records, after which everything is as it was."""
    before = _state(ask)
    (seen,) = decision_files.scan_folder()
    assert not seen.answered
    refusal = Refusal.objects.get()
    assert (refusal.reason, refusal.via) == (reason, "signed")
    assert words in refusal.detail
    assert words in seen.why
    assert _state(ask) == before
    assert LedgerRecord.objects.get(kind="refusal").subject == f"refusal:{refusal.pk}"
    assert decision_files.scan_folder() == []
    assert Refusal.objects.count() == 1
    return refusal


def _state(ask: Ask) -> tuple[object, ...]:
    session = Session.objects.get(pk=ask.session_id)
    runs = list(Run.objects.filter(session=session).values("status", "open_asks"))
    asks = list(Ask.objects.values("status", "closed_at", "closed_by", "superseded_by"))
    return (asks, runs, session.status, session.open_asks, Verdict.objects.count())


def test_a_signature_over_exactly_this_is_the_verdict(
    channel: Channel, ask: Ask, owner: User
) -> None:
    channel.decide(ask)
    assert decision_files.scan_folder() == [
        decision_files.Seen(f"ask-{ask.pk}.json", "It is the verdict.", answered=True)
    ]
    verdict = Verdict.objects.get(ask=ask)
    assert (verdict.decided_by, verdict.via, verdict.meaning) == (owner, "signed", "approve")
    assert verdict.echo == echo_of(ask)
    assert Run.objects.filter(session=ask.session_id, status="queued").exists()
    proof = json.loads(LedgerRecord.objects.get(kind="verdict").body)["facts"]["proof"]
    assert proof["principal"] == "mia"
    assert proof["document"].encode() == shown(ask)
    assert proof["signature"].startswith("-----BEGIN SSH SIGNATURE-----")
    verify.verify_ledger()


def test_it_happens_once_however_often_the_folder_is_read(channel: Channel, ask: Ask) -> None:
    channel.decide(ask, "no")
    assert decision_files.scan_for_worker() == 1
    assert decision_files.scan_for_worker() == 0
    (channel.folder / f"ask-{ask.pk}.json").rename(channel.folder / "copy.json")
    (channel.folder / f"ask-{ask.pk}.json.sig").rename(channel.folder / "copy.json.sig")
    assert decision_files.scan_for_worker() == 0
    assert Verdict.objects.count() == 1
    assert Verdict.objects.get().meaning == "deny"
    assert Refusal.objects.count() == 0


def test_a_signer_may_be_known_by_their_address(channel: Channel, ask: Ask, owner: User) -> None:
    channel.allowed.write_text("")
    channel.allow("mia", "MIA@example.com", f'namespaces="{"needs-you-verdict"}"')
    channel.decide(ask)
    assert decision_files.scan_for_worker() == 1
    assert Verdict.objects.get().decided_by == owner


def test_the_folder_is_read_and_never_written(channel: Channel, ask: Ask) -> None:
    channel.decide(ask)
    channel.put("junk.json", b"{}")
    before = {path.name: path.stat() for path in channel.folder.iterdir()}
    folder = channel.folder.stat()
    decision_files.scan_folder()
    after = {path.name: path.stat() for path in channel.folder.iterdir()}
    assert {n: (s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for n, s in before.items()} == {
        n: (s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for n, s in after.items()
    }
    assert channel.folder.stat().st_mtime_ns == folder.st_mtime_ns


@pytest.mark.parametrize("place", [0, 40, -3])
def test_a_changed_byte_is_a_bad_signature(channel: Channel, ask: Ask, place: int) -> None:
    path = channel.decide(ask)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    turned_down(ask, Reason.UNPROVEN, "Nothing was approved")


@pytest.mark.case("C35")
def test_a_garbled_signature_proves_nothing(channel: Channel, ask: Ask, session: Session) -> None:
    channel.decide(ask)
    (channel.folder / f"ask-{ask.pk}.json.sig").write_text("looks good to me")
    refusal = turned_down(ask, Reason.UNPROVEN, f"ask-{ask.pk}.json: ")
    assert (refusal.ask, refusal.by) == (ask, None)
    event = Event.objects.filter(session=session, kind="refused").get()
    assert (event.actor, event.text) == ("unknown", refusal.detail)


def test_another_namespace_is_another_promise(channel: Channel, ask: Ask) -> None:
    channel.put("a.json", shown(ask), namespace="git")
    turned_down(ask, Reason.UNPROVEN, "namespace")


def test_an_unknown_signer_is_nobody(channel: Channel, ask: Ask) -> None:
    channel.decide(ask, signer="mallory")
    turned_down(ask, Reason.UNPROVEN, "No principal matched")


def test_a_key_that_is_no_longer_valid(channel: Channel, ask: Ask) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=2)
    channel.allowed.write_text("")
    channel.allow("mia", "mia", f'valid-before="{yesterday:%Y%m%d}"')
    channel.decide(ask)
    refusal = turned_down(ask, Reason.UNPROVEN, "expired")
    assert refusal.by is None


def test_a_key_that_is_not_valid_yet(channel: Channel, ask: Ask) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=2)
    channel.allowed.write_text("")
    channel.allow("mia", "mia", f'valid-after="{tomorrow:%Y%m%d}"')
    channel.decide(ask)
    turned_down(ask, Reason.UNPROVEN, "not yet valid")


def test_a_key_for_another_namespace_only(channel: Channel, ask: Ask) -> None:
    channel.allowed.write_text("")
    channel.allow("mia", "mia", 'namespaces="git"')
    channel.decide(ask)
    turned_down(ask, Reason.UNPROVEN, "Nothing was approved")


def test_a_pattern_names_nobody(channel: Channel, ask: Ask) -> None:
    channel.allowed.write_text("")
    channel.allow("mia", "*@example.com")
    channel.decide(ask)
    turned_down(ask, Reason.UNPROVEN, "not among the allowed signers")


def test_a_signer_whom_nobody_here_is(channel: Channel, ask: Ask) -> None:
    channel.allow("stranger")
    channel.decide(ask, signer="stranger")
    turned_down(ask, Reason.UNPROVEN, "no user has the name or address stranger")


def test_a_name_that_two_people_have(channel: Channel, ask: Ask) -> None:
    User.objects.create_user("impostor", email="mia")
    channel.decide(ask)
    turned_down(ask, Reason.UNPROVEN, "more than one user")


def test_a_person_who_has_left(channel: Channel, ask: Ask, owner: User) -> None:
    owner.is_active = False
    owner.save()
    channel.decide(ask)
    turned_down(ask, Reason.UNPROVEN, "no user has")


@pytest.mark.case("C75")
def test_a_signer_who_owns_another_agent(channel: Channel, ask: Ask, session: Session) -> None:
    colleague = person("carl")
    agent_of(colleague)
    channel.allow("carl")
    channel.decide(ask, signer="carl")
    refusal = turned_down(ask, Reason.NOT_FOUND, "There is no such question")
    assert refusal.by == colleague
    assert not Event.objects.filter(session=session, kind="refused").exists()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (("params", "amount"), "999999.00"),
        (("operation",), "payout"),
        (("binding", "action_hash"), "v1:" + "0" * 64),
        (("binding", "policy_version"), 7),
        (("binding", "run_version"), "9.9"),
        (("question",), "May I say hello?"),
        (("option_label",), "Deny it"),
        (("agent",), "somebody-else"),
        (("gate",), 12),
        (("opened_at",), "2020-01-01T00:00:00.000000Z"),
    ],
)
def test_a_signature_over_anything_else(
    channel: Channel, ask: Ask, part: tuple[str, ...], value: object, owner: User
) -> None:
    said = json.loads(shown(ask))
    inner = said
    for name in part[:-1]:
        inner = inner[name]
    inner[part[-1]] = value
    channel.put("a.json", (json.dumps(said, indent=2, sort_keys=True) + "\n").encode())
    assert turned_down(ask, Reason.STALE, "does not match the question").by == owner


def test_the_same_words_written_otherwise_are_not_what_was_shown(
    channel: Channel, ask: Ask
) -> None:
    channel.put("a.json", json.dumps(json.loads(shown(ask))).encode())
    turned_down(ask, Reason.STALE, "does not match the question")


def test_an_option_that_was_not_offered(channel: Channel, ask: Ask) -> None:
    channel.put("a.json", shown(ask).replace(b'"option": "yes"', b'"option": "maybe"'))
    turned_down(ask, Reason.UNKNOWN_OPTION, "not offered")


@pytest.mark.case("C35")
@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\x00\xff", b"[" * 100_000])
def test_a_signed_file_that_is_no_decision(channel: Channel, ask: Ask, content: bytes) -> None:
    channel.put("a.json", content)
    turned_down(ask, Reason.NOT_FOUND, "does not name a question")


def test_a_question_that_is_not_decided_by_signature(
    channel: Channel, owner: User, session: Session
) -> None:
    (plain,) = ask_of(session, owner, Draft())
    channel.decide(plain)
    turned_down(plain, Reason.NOT_FOUND, "does not name a question")


@pytest.mark.case("C34")
def test_an_older_binding_is_not_replayed_on_what_replaced_it(
    channel: Channel, ask: Ask, owner: User, session: Session
) -> None:
    """The world moves: the signature is stale, the question is asked anew, and must be signed anew."""
    old = shown(ask)
    take_turn(session, owner)
    channel.put("old.json", old)
    assert decision_files.scan_for_worker() == 0
    ask.refresh_from_db()
    assert ask.status == AskStatus.SUPERSEDED
    fresh = ask.superseded_by
    assert fresh is not None
    channel.put("again.json", old)
    assert decision_files.scan_for_worker() == 0
    assert {refusal.reason for refusal in Refusal.objects.all()} == {Reason.STALE}
    assert Ask.objects.get(pk=fresh.pk).status == AskStatus.OPEN
    channel.decide(fresh)
    assert decision_files.scan_for_worker() == 1
    verify.verify_ledger()


def test_a_question_that_was_withdrawn_meanwhile(channel: Channel, ask: Ask, owner: User) -> None:
    from asks import withdrawing

    withdrawing.withdraw_ask(ask_id=ask.pk, by=owner)
    channel.decide(ask)
    turned_down(ask, Reason.CLOSED, "already withdrawn")


def test_a_question_that_expired_meanwhile(channel: Channel, ask: Ask) -> None:
    Ask.objects.filter(pk=ask.pk).update(expires_at=ask.opened_at)
    ask.refresh_from_db()
    channel.decide(ask)
    turned_down(ask, Reason.EXPIRED, "Nobody answered in time")


def test_a_signed_file_is_judged_again_when_the_allowed_signers_change(
    channel: Channel, ask: Ask
) -> None:
    channel.decide(ask, signer="second-key")
    turned_down(ask, Reason.UNPROVEN, "No principal matched")
    channel.allow("second-key", "mia")
    assert decision_files.scan_for_worker() == 1


@pytest.mark.case("C79")
def test_every_other_door_stays_shut(channel: Channel, ask: Ask, owner: User) -> None:
    """Whatever a page or a program hands in, even the words of a proof, no grant is minted."""
    for via in ("page", "api", "signed"):
        refused = answering.answer_ask(
            ask_id=ask.pk, by=owner, option="yes", echo=echo_of(ask), via=via
        )
        assert isinstance(refused, Refused)
        assert refused.reason == Reason.GATED
    with pytest.raises(TypeError):
        answering.answer_ask(ask_id=ask.pk, by=owner, option="yes", proof="mia")  # type: ignore[call-arg]
    channel.decide(ask)
    assert decision_files.scan_for_worker() == 1


def test_without_a_folder_there_is_no_channel(settings: Settings) -> None:
    settings.SIGNED_CHANNEL = ""
    assert decision_files.scan_folder() == []


def test_what_was_judged_is_kept(channel: Channel, ask: Ask) -> None:
    channel.decide(ask)
    channel.put("junk.json", b"{}")
    decision_files.scan_folder()
    kept = {file.name: file for file in SignedFile.objects.all()}
    assert kept[f"ask-{ask.pk}.json"].verdict == Verdict.objects.get(ask=ask)
    assert kept["junk.json"].refusal == Refusal.objects.get()
    assert kept["junk.json"].principal == "mia"
