"""Questions and their options: how they are written, and what becomes of them."""

from __future__ import annotations

import pytest

from agents.lifecycle import Outcome
from agents.running.runtime import Ignored
from asks.lifecycle import AskKind, Meaning, Style
from tests.markers.reading import ignored, labels, prompts, read, reports
from workspace.protocols.markers.instructions import closing_text

# Questions.


@pytest.mark.case("aoa-48")
def test_two_asks_the_first_with_three_options_the_second_without() -> None:
    text = "ASK: Which region?\nOPTIONS: eu | us | apac\nASK: What name?\nOUTCOME: BLOCKED\n"
    _, reading = read(text)
    assert prompts(reading) == ["Which region?", "What name?"]
    assert labels(reading) == [["eu", "us", "apac"], []]
    assert [ask.free_text for ask in reading.asks] == [False, True]
    assert {ask.kind for ask in reading.asks} == {AskKind.QUESTION}
    assert {option.meaning for ask in reading.asks for option in ask.options} == {Meaning.ANSWER}


@pytest.mark.parametrize(
    "line",
    [
        "ASK: Which region?",
        "Ask: Which region?",
        "ask: Which region?",
        "  ASK:   Which region?  ",
        "**ASK:** Which region?",
        "**ASK**: Which region?",
        "**ASK: Which region?**",
        "*ASK:* Which region?",
        "__ASK__: Which region?",
        "- ASK: Which region?",
        "* ASK: Which region?",
        "- **ASK:** Which region?",
        "1. ASK: Which region?",
        "2) ASK: Which region?",
        "### ASK: Which region?",
        "ASK : Which region?",
        "ASK: Which\0 region?",
        "ASK: Which region?\r",
    ],
)
@pytest.mark.case("C113", "X16")
def test_an_ask_may_be_decorated(line: str) -> None:
    assert prompts(read(f"{line}\nOUTCOME: BLOCKED\n")[1]) == ["Which region?"]


def test_decoration_inside_the_question_stays() -> None:
    assert prompts(read("ASK: **EU** or _US_?")[1]) == ["**EU** or _US_?"]
    assert prompts(read("ASK:**EU** or US?")[1]) == ["**EU** or US?"]


@pytest.mark.case("X16")
def test_a_question_goes_on_over_lines_up_to_a_blank_one() -> None:
    text = "ASK: Which region?\nEU holds the ledger,\n- US is cheaper.\n\nI will wait.\n"
    _, reading = read(text)
    assert prompts(reading) == ["Which region?\nEU holds the ledger,\n- US is cheaper."]
    assert reading.report == "I will wait."


def test_a_question_goes_on_up_to_the_next_marker() -> None:
    _, reading = read("ASK: Which\nregion?\nOPTIONS: eu | us\nASK: And\nwhen?\nOUTCOME: BLOCKED")
    assert prompts(reading) == ["Which\nregion?", "And\nwhen?"]
    assert labels(reading) == [["eu", "us"], []]


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\n\n\n"])
def test_a_question_may_start_below_its_marker(gap: str) -> None:
    assert prompts(read(f"**ASK:**{gap}Which region?\nOUTCOME: BLOCKED")[1]) == ["Which region?"]


def test_a_question_may_carry_a_fenced_block_with_blank_lines_and_markers_in_it() -> None:
    block = "```sh\nrm -rf x\n\nASK: not me\n```"
    landed, reading = read(f"ASK: May I run this?\n{block}\nOPTIONS: yes | no\n")
    assert prompts(reading) == [f"May I run this?\n{block}"]
    assert labels(reading) == [["yes", "no"]]
    assert ignored(landed) == {"ASK: not me": "it is inside a code fence"}


@pytest.mark.parametrize("blank", ["", "   ", "\u200b\u200d", "\u2060"])
def test_an_ask_without_a_question_is_said(blank: str) -> None:
    landed, reading = read(f"ASK: {blank}\n\nOUTCOME: BLOCKED\n")
    assert reading.asks == ()
    assert list(ignored(landed).values()) == ["it asks nothing"]


@pytest.mark.case("X16")
def test_a_question_may_start_with_a_bracket() -> None:
    text = "ASK: <tenant-7> wants a refund, may I?\nASK: <https://example.com/pull/5>\n"
    assert prompts(read(text)[1]) == [
        "<tenant-7> wants a refund, may I?",
        "<https://example.com/pull/5>",
    ]


@pytest.mark.case("aoa-51")
def test_a_placeholder_is_no_question_and_takes_its_options_with_it() -> None:
    landed, reading = read(
        "ASK: <your question>\nOPTIONS: <first> | <second>\nREPORT: <one line>\n"
    )
    assert reading.asks == ()
    assert reports(landed) == []
    assert set(ignored(landed).values()) == {"it is the example from the instructions"}


@pytest.mark.case("aoa-49")
def test_the_instructions_echoed_back_land_nothing() -> None:
    landed, reading = read(closing_text("scout") + "\n")
    assert (reading.asks, reading.mails, reading.outcome) == ((), (), Outcome.NO_WORK)
    assert [one for one in landed if not isinstance(one, Ignored)] == []


def test_asking_the_same_twice_is_one_ask_and_the_options_win() -> None:
    text = "ASK: Which region?\n\nASK: Which region?\nOPTIONS: eu | us\nASK: Which region?\n"
    assert labels(read(text)[1]) == [["eu", "us"]]


@pytest.mark.case("C91")
def test_a_question_of_sixteen_thousand_characters_is_whole() -> None:
    question = (
        "May I run this?\n"
        + "\n".join(f"line {i:04} " + "x" * 90 for i in range(170))
        + "\nrm -rf /"
    )
    assert len(question) > 16_000
    assert prompts(read(f"ASK: {question}\nOUTCOME: BLOCKED")[1]) == [question]


def test_a_question_that_is_too_long_is_refused_aloud_never_cut() -> None:
    landed, reading = read("ASK: " + "x" * 20_001)
    assert reading.asks == ()
    [(line, why)] = ignored(landed).items()
    assert why == "the question has 20001 characters; at most 20000 are allowed"
    assert len(line) < 400


# Options.


def test_option_keys_are_slugs_that_stay_the_same() -> None:
    _, reading = read(
        "ASK: q?\nOPTIONS: EU | Only if the source is cited! | Größe | 漢字 | eu? | ?\n"
    )
    assert [option.key for option in reading.asks[0].options] == [
        "eu",
        "only-if-the-source-is-cited",
        "groe",
        "opt4",
        "eu-2",
        "opt6",
    ]


@pytest.mark.case("C113")
def test_a_pipe_in_a_label_is_escaped() -> None:
    assert labels(read(r"ASK: q?" + "\n" + r"OPTIONS: a\|b | C:\dir | d" + "\r\n")[1]) == [
        ["a|b", r"C:\dir", "d"]
    ]


def test_empty_labels_are_dropped() -> None:
    assert labels(read("ASK: q?\nOPTIONS: | a || b |\n")[1]) == [["a", "b"]]


@pytest.mark.parametrize(
    "line", ["OPTIONS: yes", "OPTIONS: yes | yes", "OPTIONS: |", "OPTIONS: (!) | a"]
)
@pytest.mark.case("aoa-50")
def test_less_than_two_options_are_answered_in_words(line: str) -> None:
    landed, reading = read(f"ASK: q?\n{line}\n")
    assert [(ask.options, ask.free_text) for ask in reading.asks] == [((), True)]
    assert any("the owner answers in free text" in why for why in ignored(landed).values())


def test_options_may_follow_after_blank_lines_and_prose() -> None:
    text = "ASK: q?\n\n\nI would take the first.\n\n**OPTIONS:** a | b\n"
    assert labels(read(text)[1]) == [["a", "b"]]


def test_options_may_be_a_list_below() -> None:
    text = "ASK: q?\nOPTIONS:\n- EU (today)\n- US | Canada\n* delete (!)\n\n- not an option\n"
    _, reading = read(text)
    assert labels(reading) == [["EU (today)", "US | Canada", "delete"]]
    assert reading.report == "- not an option"


def test_options_without_a_question_and_a_second_set_are_said() -> None:
    landed, reading = read("OPTIONS: a | b\nASK: q?\nOPTIONS: c | d\nOPTIONS: e | f\n")
    assert labels(reading) == [["c", "d"]]
    assert ignored(landed) == {
        "OPTIONS: a | b": "no ASK precedes it",
        "OPTIONS: e | f": "the question before it already has its options",
    }


def test_a_destructive_option_is_marked() -> None:
    _, reading = read("ASK: Delete 1,240 stale branches?\nOPTIONS: keep | delete them (!)\n")
    assert [(o.key, o.label, o.style) for o in reading.asks[0].options] == [
        ("keep", "keep", Style.DEFAULT),
        ("delete-them", "delete them", Style.DANGER),
    ]


@pytest.mark.parametrize("dots", ["...", "…"])
def test_dots_among_the_options_allow_own_words(dots: str) -> None:
    _, reading = read(f"ASK: q?\nOPTIONS: EU | US | {dots}\n")
    assert (labels(reading), reading.asks[0].free_text) == ([["EU", "US"]], True)


@pytest.mark.parametrize("count", [2, 4, 60])
def test_many_options_and_long_ones_are_offered(count: int) -> None:
    offered = ["x" * 4_000, "y", *(f"option {i}" for i in range(count - 2))]
    assert labels(read(f"ASK: q?\nOPTIONS: {' | '.join(offered)}\n")[1]) == [offered]


def test_more_than_sixty_options_become_a_question_in_words_and_it_is_said() -> None:
    landed, reading = read("ASK: q?\nOPTIONS: " + " | ".join(f"o{i}" for i in range(61)))
    assert [(ask.options, ask.free_text) for ask in reading.asks] == [((), True)]
    assert list(ignored(landed).values()) == [
        "it offers 61 options; at most 60 are allowed; the owner answers in free text"
    ]


def test_a_label_that_is_too_long_is_said() -> None:
    landed, reading = read("ASK: q?\nOPTIONS: a | " + "x" * 4_001)
    assert reading.asks[0].options == ()
    assert "4001 characters; at most 4000 are allowed" in next(iter(ignored(landed).values()))
