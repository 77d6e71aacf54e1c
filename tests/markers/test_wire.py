"""The grammar: what is a marker, what is not, and what is said about the difference."""

from __future__ import annotations

import pytest

from agents.lifecycle import Outcome
from agents.running.runtime import Ignored, Mail, Noticed, Reported
from tests.markers.reading import ignored, labels, notices, prompts, read, read_pieces, reports
from workspace.protocols.markers.reader import Reader

# Outcomes.


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.case("aoa-46")
def test_every_outcome_is_read(outcome: Outcome) -> None:
    assert read(f"All done.\nOUTCOME: {outcome.value}\n")[1].outcome is outcome


@pytest.mark.case("C113", "aoa-46")
def test_no_outcome_is_no_work() -> None:
    assert read("I looked around and shipped it.\n")[1].outcome is Outcome.NO_WORK


@pytest.mark.case("aoa-46", "X16")
def test_an_unknown_outcome_is_no_work_and_is_said() -> None:
    landed, reading = read("OUTCOME: SPLENDID\n")
    assert reading.outcome is Outcome.NO_WORK
    assert ignored(landed) == {"OUTCOME: SPLENDID": "it names no known outcome"}


@pytest.mark.case("aoa-47")
def test_the_last_outcome_wins_over_the_menu_and_over_earlier_ones() -> None:
    menu = "OUTCOME: WORK_DONE | NO_WORK | BLOCKED | RATE_LIMITED | RETRYABLE_ERROR\n"
    assert read(f"{menu}OUTCOME: WORK_DONE\nOUTCOME: BLOCKED\n{menu}")[1].outcome is Outcome.BLOCKED


@pytest.mark.parametrize(
    "line",
    [
        "OUTCOME: BLOCKED.",
        "OUTCOME: BLOCKED!",
        "OUTCOME: blocked",
        "Outcome: Blocked.",
        "outcome: BLOCKED",
        "**OUTCOME:** BLOCKED",
        "**OUTCOME**: BLOCKED",
        "**OUTCOME: BLOCKED**",
        "OUTCOME: **BLOCKED**",
        "OUTCOME: `BLOCKED`",
        "__OUTCOME:__ BLOCKED",
        "- OUTCOME: BLOCKED",
        "3. OUTCOME: BLOCKED",
        "## OUTCOME: BLOCKED",
        "   OUTCOME:BLOCKED",
        "OUTCOME: BLOCKED - no key",
        "OUTCOME: BLOCKED (waiting for the owner)",
        "OUTCOME: BLOCKED. I need the region.",
        "OUTCOME\uff1aBLOCKED",
    ],
)
@pytest.mark.case("X16")
def test_an_outcome_may_be_decorated(line: str) -> None:
    assert read(line)[1].outcome is Outcome.BLOCKED


@pytest.mark.parametrize("words", ["work done", "WORK-DONE", "Work_Done."])
def test_an_outcome_may_be_spelled_with_blanks(words: str) -> None:
    assert read(f"OUTCOME: {words}")[1].outcome is Outcome.WORK_DONE


@pytest.mark.parametrize("words", ["BLOCKED, NO_WORK or WORK_DONE", "BLOCKEDNESS", "NO_WORK_DONE"])
def test_what_only_contains_an_outcome_is_none(words: str) -> None:
    landed, reading = read(f"OUTCOME: {words}")
    assert reading.outcome is Outcome.NO_WORK
    assert len(ignored(landed)) == 1


# Informing and acting.


@pytest.mark.case("aoa-54")
def test_reports_and_notices_land_with_their_line_and_before_the_end() -> None:
    reader = Reader()
    assert reader.feed("REPORT: Counted ") == []
    assert reader.feed("rows.\nNOTIFY: Two") == [Reported("Counted rows.")]
    assert reader.feed(" are odd.\n") == [Noticed("Two are odd.")]


@pytest.mark.case("aoa-53")
def test_a_half_line_waits_and_lands_at_the_end() -> None:
    reader = Reader()
    assert reader.feed("REPORT: no newline") == []
    assert reader.finish().landed == (Reported("no newline"),)


@pytest.mark.case("aoa-54")
def test_acting_markers_wait_for_the_end() -> None:
    reader = Reader()
    assert reader.feed("ASK: q?\nSEND: @bob hi\nOUTCOME: BLOCKED\nASK: r?\n") == []
    reading = reader.finish()
    assert prompts(reading) == ["q?", "r?"]
    assert reading.mails == (Mail("bob", "hi"),)


@pytest.mark.case("aoa-55")
def test_the_same_report_lands_once() -> None:
    landed, _ = read("REPORT: still going\nREPORT: still going\nNOTIFY: still going\n")
    assert (reports(landed), notices(landed)) == (["still going"], ["still going"])


@pytest.mark.parametrize(
    ("line", "mail"),
    [
        ("SEND: @bob please look", Mail("bob", "please look")),
        ("SEND: @Release-Bot, ship it", Mail("release-bot", "ship it")),
        ("**SEND:** @bob: hi", Mail("bob", "hi")),
    ],
)
@pytest.mark.case("aoa-57")
def test_mail_is_addressed(line: str, mail: Mail) -> None:
    assert read(line)[1].mails == (mail,)


@pytest.mark.parametrize(
    "line", ["SEND: bob hi", "SEND: @bob", "SEND: @<agent> <words>", "SEND: @b <words>"]
)
def test_mail_without_an_address_or_words_is_said(line: str) -> None:
    landed, reading = read(line)
    assert reading.mails == ()
    assert list(ignored(landed)) == [line]


def test_more_than_ten_asks_are_said() -> None:
    landed, reading = read("".join(f"ASK: question {i}?\n" for i in range(12)))
    assert prompts(reading) == [f"question {i}?" for i in range(10)]
    assert ignored(landed) == {
        f"ASK: question {i}?": "a turn may ask at most 10 questions" for i in (10, 11)
    }


def test_more_than_fifty_reports_and_notices_are_said() -> None:
    landed, _ = read("".join(f"REPORT: r{i}\nNOTIFY: n{i}\n" for i in range(26)))
    assert len(reports(landed)) + len(notices(landed)) == 50
    assert set(ignored(landed)) == {"REPORT: r25", "NOTIFY: n25"}


def test_more_than_twenty_mails_are_said() -> None:
    landed, reading = read("".join(f"SEND: @bob message {i}\n" for i in range(21)))
    assert len(reading.mails) == 20
    assert ignored(landed) == {"SEND: @bob message 20": "a turn may send at most 20 messages"}


def test_a_flood_of_ignored_lines_is_counted_not_dropped() -> None:
    landed, _ = read("".join(f"OUTCOME: WHATEVER{i}\n" for i in range(1_000)))
    assert len(landed) == 51
    assert landed[-1] == Ignored(
        "950 more lines", "they also looked like markers and were not taken"
    )


# What is not a marker.


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "```text", "~~~ python", "  ```", "- ```"])
@pytest.mark.case("C113", "aoa-51")
def test_nothing_inside_a_fence_is_a_marker(fence: str) -> None:
    close = fence.strip("- ").rstrip("abcdefghijklmnopqrstuvwxyz ")
    inside = "ASK: a?\nOPTIONS: x | y\nREPORT: r\nNOTIFY: n\nSEND: @bob hi\nOUTCOME: BLOCKED"
    landed, reading = read(f"Before.\n{fence}\n{inside}\n{close}\nAfter.\nOUTCOME: WORK_DONE\n")
    assert (reading.asks, reading.mails, reading.outcome) == ((), (), Outcome.WORK_DONE)
    assert reports(landed) + notices(landed) == []
    assert ignored(landed) == dict.fromkeys(inside.split("\n"), "it is inside a code fence")
    assert inside in reading.report


@pytest.mark.case("aoa-51")
def test_an_outcome_in_a_fence_counts_neither_before_nor_after() -> None:
    fenced = "```\nOUTCOME: BLOCKED\n```\n"
    assert read(f"{fenced}OUTCOME: WORK_DONE\n")[1].outcome is Outcome.WORK_DONE
    assert read(f"OUTCOME: WORK_DONE\n{fenced}")[1].outcome is Outcome.WORK_DONE


@pytest.mark.parametrize(
    "inner", ["~~~", "``", "``` not a close", "`````nor this", "~~~~~~~", "- ```"]
)
def test_a_fence_is_closed_only_by_its_own_kind_and_length(inner: str) -> None:
    _, reading = read(f"```\n{inner}\nASK: inside?\n```\nASK: outside?\n")
    assert prompts(reading) == ["outside?"]


def test_a_longer_fence_holds_shorter_ones() -> None:
    _, reading = read("````\n```\nASK: a?\n```\nASK: b?\n````\nASK: c?\n")
    assert prompts(reading) == ["c?"]


def test_backticks_in_one_line_open_no_fence() -> None:
    assert prompts(read("```ASK: x?``` is how to ask.\nASK: Real?\n")[1]) == ["Real?"]


@pytest.mark.case("X16")
def test_an_unclosed_fence_is_no_fence() -> None:
    text = "```\nexample\n\nREPORT: done\nASK: Which region?\nOPTIONS: eu | us\nOUTCOME: BLOCKED.\n"
    reader = Reader()
    assert reader.feed(text) == []
    reading = reader.finish()
    assert reading.landed == (Reported("done"),)
    assert (labels(reading), reading.outcome) == ([["eu", "us"]], Outcome.BLOCKED)


def test_after_an_unclosed_fence_a_closed_one_still_counts() -> None:
    text = "````\nASK: a?\n\n```\nASK: b?\n```\n~~~\nASK: c?\n"
    landed, reading = read(text)
    assert prompts(reading) == ["a?", "c?"]
    assert ignored(landed) == {"ASK: b?": "it is inside a code fence"}


def test_many_unclosed_fences_are_read_in_one_go() -> None:
    _, reading = read(
        "".join(f"{'`' * (3 + i % 7)}x{i}\n" for i in range(30_000)) + "ASK: still here?\n"
    )
    assert prompts(reading) == ["still here?"]


@pytest.mark.parametrize("quoted", ["> ASK: x?", ">ASK: x?", "  > > ASK: x?", "> **ASK:** x?"])
@pytest.mark.case("X16")
def test_a_quoted_line_is_not_a_marker(quoted: str) -> None:
    landed, reading = read(f"{quoted}\nOUTCOME: WORK_DONE\n")
    assert reading.asks == ()
    assert ignored(landed) == {quoted.strip(): "it is quoted with >"}


def test_inline_code_is_not_a_marker() -> None:
    landed, reading = read("`OUTCOME: BLOCKED`\n`ASK: x?`\n")
    assert (reading.asks, reading.outcome) == ((), Outcome.NO_WORK)
    assert set(ignored(landed).values()) == {"it is formatted as code"}


@pytest.mark.case("X16", "C113")
def test_a_marker_in_the_middle_of_a_line_is_said() -> None:
    landed, reading = read("Finished. OUTCOME: WORK_DONE\n")
    assert reading.outcome is Outcome.NO_WORK
    assert ignored(landed) == {"Finished. OUTCOME: WORK_DONE": "a marker must start its line"}


@pytest.mark.parametrize(
    "line",
    [
        "I asked: which region?",
        "TASK: sweep",
        "ASKING: no",
        "The report: fine",
        "ASK which region?",
        "Basket: 3",
        "The OUTCOME is good",
    ],
)
def test_prose_is_prose_and_nothing_is_said_about_it(line: str) -> None:
    landed, reading = read(f"{line}\n")
    assert (landed, reading.asks, reading.report) == ([], (), line)


# The report of the turn.


@pytest.mark.case("aoa-51")
def test_the_report_is_the_text_without_its_markers() -> None:
    text = "Hello.\nREPORT: x\n\n\n\n\nMore.  \n```\nASK: example\n```\nOUTCOME: WORK_DONE\n"
    assert read(text)[1].report == "Hello.\n\nMore.\n```\nASK: example\n```"


@pytest.mark.case("aoa-55")
def test_a_turn_of_markers_only_has_no_report() -> None:
    assert read("REPORT: x\n\nASK: q?\nmore\nOPTIONS: a | b\nOUTCOME: BLOCKED\n")[1].report == ""


def test_a_long_report_is_cut_at_four_thousand_characters() -> None:
    report = read("x" * 3_000 + "\n" + "y" * 3_000)[1].report
    assert (len(report), report[-1]) == (4_001, "…")


@pytest.mark.case("C113")
def test_crlf_text_reads_like_lf_text() -> None:
    text = "REPORT: a\nASK: q?\nmore\n\nOPTIONS: x | y\n```\nASK: no\n```\nOUTCOME: BLOCKED\n"
    landed, reading = read(text)
    assert read(text.replace("\n", "\r\n")) == (landed, reading)


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert prompts(read("ASK: a\ud83d?\n")[1]) == ["a\ufffd?"]


@pytest.mark.case("C113")
def test_a_marker_split_over_every_character_is_read() -> None:
    text = "**REPORT:** grüße\r\nASK: Which?\r\nOPTIONS: a\\|b | c\r\nOUTCOME: BLOCKED.\r\n"
    assert read_pieces(text) == read(text)


def test_asks_of_different_runs_have_different_keys_and_of_one_run_the_same() -> None:
    def keys(prefix: str) -> list[str]:
        reader = Reader(prefix)
        reader.feed("ASK: a?\nASK: b?\n")
        return [ask.request_key for ask in reader.finish().asks]

    assert len({*keys("run1:"), *keys("run1:"), *keys("run2:")}) == 4
