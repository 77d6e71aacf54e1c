"""What holds for every text an agent may write, however it is cut and however often it is read."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.running.runtime import Ignored
from tests.markers.reading import ignored, pieces, prompts, read, read_pieces, reports
from workspace.protocols.markers import grammar
from workspace.protocols.markers.fences import Fences
from workspace.protocols.markers.lines import LineFeed
from workspace.protocols.markers.questions import split_options
from workspace.protocols.markers.reader import Reader

LINES = st.sampled_from(
    [
        *("", "  ", "prose", "漢字 🙂", "> quoted", "- item", "`ASK: x`", "> ASK: quoted?"),
        *("```", "~~~", "````", "```py", "- ```", "    ~~~~"),
        *("ASK: which?", "**ASK:** which?", "Ask: else?", "ASK:", "ASK: <your question>"),
        *("OPTIONS: a | b", r"OPTIONS: a\|b | c (!) | ...", "OPTIONS:", "OPTIONS: one"),
        *("REPORT: counted", "- NOTIFY: odd", "REPORT: <one line>", "REPORT:", "report: low"),
        *("SEND: @bob hi", "SEND: nobody", "OUTCOME: BLOCKED.", "OUTCOME: WORK_DONE", "OUTCOME: X"),
    ]
)
ENDS = st.sampled_from(["\n", "\r\n"])
TEXTS = st.one_of(
    st.lists(st.tuples(LINES, ENDS).map("".join), max_size=14).map("".join),
    st.lists(st.tuples(LINES, ENDS).map("".join), max_size=14).map(
        lambda parts: "".join(parts)[:-1]
    ),
    st.text(max_size=60),
    st.text("ASKOPTINUCME:|`~>\n\r -*_\0\\(!)<ab\ud83d", max_size=80),
)
CUTS = st.lists(st.integers(0, 400), max_size=12)


@given(TEXTS, CUTS)
@example("REPORT: a\r\n```\nASK: x?\r\n", [9, 10, 11, 12, 13, 14])
@example("ASK: a\0b?\r\nOPTIONS: x | y", [7, 8, 9])
@pytest.mark.case("C113")
def test_any_way_of_cutting_the_text_reads_the_same(text: str, cuts: list[int]) -> None:
    assert read_pieces(pieces(text, cuts)) == read(text)


@given(TEXTS)
def test_one_character_at_a_time_reads_the_same(text: str) -> None:
    assert read_pieces(text) == read(text)


@given(TEXTS, st.integers(0, 400))
def test_what_landed_early_is_the_beginning_of_what_lands_at_all(text: str, cut: int) -> None:
    early = Reader().feed(text[:cut])
    assert read(text)[0][: len(early)] == early


@given(st.lists(LINES.filter(lambda line: "```" not in line and "~~~" not in line), max_size=14))
@pytest.mark.case("C113", "aoa-55")
def test_fed_thrice_it_lands_once(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in ["", *lines, "", "OUTCOME: NO_WORK"])
    once, reading = read(text)
    thrice, again = read(text * 3)
    assert reports(thrice) == reports(once)
    assert [one for one in thrice if not isinstance(one, Ignored)] == [
        one for one in once if not isinstance(one, Ignored)
    ]
    assert again.asks == reading.asks
    assert again.mails == reading.mails


@given(TEXTS, st.integers(0, 400))
@pytest.mark.case("aoa-53", "X10")
def test_reading_it_again_from_the_start_gives_the_same_keys(text: str, cut: int) -> None:
    """A reader that was lost with its worker leaves nothing that a second one would land anew."""
    lost = Reader("run 7:")
    lost.feed(text[:cut])
    first, second = Reader("run 7:"), Reader("run 7:")
    first.feed(text)
    second.feed(text)
    assert [ask.request_key for ask in first.finish().asks] == [
        ask.request_key for ask in second.finish().asks
    ]


@given(TEXTS)
def test_every_line_is_a_marker_or_prose_or_told(text: str) -> None:
    """A line that a marker can be read from never vanishes: it lands, acts, or is told."""
    landed, reading = read(text)
    told = ignored(landed)
    asked = "\n".join(prompts(reading))
    for line in LineFeed().feed(text + "\n"):
        marker = grammar.read_marker(line)
        if marker and marker.kind in ("REPORT", "NOTIFY") and marker.text:
            assert (
                marker.text in [one.text for one in landed if not isinstance(one, Ignored)]
                or line.strip() in told
                or line in asked
            )


@given(TEXTS)
def test_placing_the_lines_keeps_all_of_them_in_order(text: str) -> None:
    fences, lines = Fences(), LineFeed().feed(text + "\n")
    placed = [one for line in lines for one in fences.feed(line)] + fences.finish()
    assert [one.line for one in placed] == lines


@given(TEXTS)
def test_what_was_read_can_be_stored(text: str) -> None:
    landed, reading = read(text)
    shown = [one.line if isinstance(one, Ignored) else one.text for one in landed]
    shown += [reading.report, *prompts(reading), *(mail.text for mail in reading.mails)]
    for words in shown:
        assert "\0" not in words
        words.encode()


@given(st.lists(st.text("ab|\\ ", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=5))
def test_escaped_labels_come_back(labels: list[str]) -> None:
    if any(label.endswith("\\") or "\\|" in label for label in labels):
        return
    written = " | ".join(label.replace("|", r"\|") for label in labels)
    assert split_options(written) == labels


@given(st.lists(st.text(min_size=1, max_size=30), min_size=2, max_size=20))
def test_option_keys_are_unique_and_depend_only_on_the_line(labels: list[str]) -> None:
    line = " | ".join(label.replace("|", r"\|").replace("\n", " ") for label in labels)
    text = f"ASK: q?\nOPTIONS: {line}\n"
    keys = [[option.key for option in ask.options] for ask in read(text)[1].asks]
    assert keys == [[option.key for option in ask.options] for ask in read(text)[1].asks]
    for of_one in keys:
        assert len(set(of_one)) == len(of_one)
        assert all(0 < len(key) <= 60 for key in of_one)
