"""The question file: only a missing one means no question; everything else that is wrong fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workspace.protocols.responses.agent import question_file
from workspace.protocols.responses.agent.question_file import BadQuestion, FileQuestion
from workspace.protocols.responses.agent.run_directory import (
    DirectoryInUse,
    PinnedDirectory,
    pin_directory,
    sweep_run_directories,
    sweep_run_directories_if_due,
)

GOOD = {"request_id": "ledger", "question": "Which ledger?", "options": ["EU", "US"]}
NOBODY = 65534


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[PinnedDirectory]:
    with pin_directory(tmp_path / "run") as held:
        yield held


def leave(directory: PinnedDirectory, content: object) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (directory.path / question_file.NAME).write_text(text)


def refused(directory: PinnedDirectory) -> str:
    with pytest.raises(BadQuestion) as caught:
        question_file.read_question_file(directory)
    return str(caught.value)


@pytest.mark.case("responses-S1")
def test_without_a_file_there_is_no_question(directory: PinnedDirectory) -> None:
    (directory.path / "ledger.json").write_text("{}")

    assert question_file.read_question_file(directory) is None


def test_a_question_is_read_whole(directory: PinnedDirectory) -> None:
    leave(directory, GOOD | {"essentials": {"rows": 3}, "unknown": 1})

    assert question_file.read_question_file(directory) == FileQuestion(
        "Which ledger?", ("EU", "US"), "ledger", {"rows": 3}
    )


def a_directory(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link(path: Path) -> None:
    path.with_name("elsewhere").write_text(json.dumps(GOOD))
    path.symlink_to("elsewhere")


def a_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def a_second_name(path: Path) -> None:
    path.with_name("elsewhere").write_text(json.dumps(GOOD))
    os.link(path.with_name("elsewhere"), path)


@pytest.mark.case("responses-S2", "C111")
@pytest.mark.parametrize("put", [a_directory, a_pipe, a_link, a_dangling_link, a_second_name])
def test_what_is_no_plain_file_fails(
    directory: PinnedDirectory, put: Callable[[Path], None]
) -> None:
    put(directory.path / question_file.NAME)

    assert question_file.NAME in refused(directory)


@pytest.mark.case("responses-S2")
def test_a_file_that_may_not_be_read_fails(tmp_path: Path) -> None:
    """In a process of its own, since root may read anything."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / question_file.NAME).write_text(json.dumps(GOOD))
    (folder / question_file.NAME).chmod(0)
    for path in (folder, *folder.parents[:4]):
        path.chmod(path.stat().st_mode | 0o055)
    reader = (
        "import os, sys; from pathlib import Path\n"
        "from workspace.protocols.responses.agent import question_file as q\n"
        "from workspace.protocols.responses.agent.run_directory import PinnedDirectory\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.geteuid() or os.seteuid(int(sys.argv[2]))\n"
        "try: print(q.read_question_file(PinnedDirectory(Path(sys.argv[1]), fd, is_new=False)))\n"
        "except q.BadQuestion as error: print('refused:', error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", reader, str(folder), str(NOBODY)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert said == "refused: hitl_request.json cannot be read.\n"


@pytest.mark.case("responses-S3", "C111")
@pytest.mark.parametrize(
    "raw",
    [
        b"{not json",
        b"",
        b'{"question": "caf\xe9"}',
        b"\xef\xbb\xbf{}",
        b'{"question": "a", "question": "b"}',
        b'{"question": "' + b"a" * question_file.MAX_BYTES + b'"}',
        b"[" * 20_000,
        b'{"question": "a\\u0000b"}',
        b'{"question": "\\ud800"}',
        b'{"question": "a", "x": NaN}',
    ],
)
def test_what_is_no_json_that_can_be_kept_fails(directory: PinnedDirectory, raw: bytes) -> None:
    (directory.path / question_file.NAME).write_bytes(raw)

    refused(directory)


@pytest.mark.case("responses-S4")
@pytest.mark.parametrize("content", [[1], "text", 3, None, True])
def test_what_is_no_object_fails(directory: PinnedDirectory, content: object) -> None:
    leave(directory, json.dumps(content))

    assert "not a JSON object" in refused(directory)


@pytest.mark.case("responses-S5")
@pytest.mark.parametrize("text", [None, "", "  \n", "\u200b", 7, ["Which?"], "a" * 4001])
def test_a_question_without_words_fails(directory: PinnedDirectory, text: object) -> None:
    leave(directory, {"request_id": "x", "question": text})

    refused(directory)


@pytest.mark.case("responses-S5")
def test_a_missing_question_fails(directory: PinnedDirectory) -> None:
    leave(directory, {"request_id": "x", "options": ["EU", "US"]})

    refused(directory)


@pytest.mark.case("responses-S6")
@pytest.mark.parametrize(
    "options",
    [
        "EU",
        {"EU": 1},
        ["EU", ""],
        ["EU", " "],
        ["EU", 1],
        ["EU", "EU"],
        ["a" * 401],
        list("ab" * 11),
    ],
)
def test_options_that_are_no_choice_fail(directory: PinnedDirectory, options: object) -> None:
    leave(directory, GOOD | {"options": options})

    refused(directory)


@pytest.mark.parametrize("options", [["Understood"], [str(n) for n in range(20)]])
def test_one_option_and_twenty_are_a_choice(directory: PinnedDirectory, options: list[str]) -> None:
    leave(directory, GOOD | {"options": options})

    found = question_file.read_question_file(directory)
    assert found is not None
    assert found.options == tuple(options)


@pytest.mark.parametrize("essentials", [["EU"], "EU", {"rows": "a" * 4096}])
def test_essentials_that_are_none_fail(directory: PinnedDirectory, essentials: object) -> None:
    leave(directory, GOOD | {"essentials": essentials})

    refused(directory)


def removed(directory: PinnedDirectory) -> None:
    directory.path.rmdir()


def moved_away(directory: PinnedDirectory) -> None:
    directory.path.rename(directory.path.with_name("away"))


def replaced(directory: PinnedDirectory) -> None:
    moved_away(directory)
    directory.path.mkdir()


def replaced_by_a_link(directory: PinnedDirectory) -> None:
    moved_away(directory)
    directory.path.symlink_to("away")


@pytest.mark.case("responses-S7")
@pytest.mark.parametrize("do", [removed, moved_away, replaced, replaced_by_a_link])
def test_a_directory_that_is_not_the_pinned_one_fails(
    directory: PinnedDirectory, do: Callable[[PinnedDirectory], None]
) -> None:
    do(directory)

    assert "could not be checked" in refused(directory)


@pytest.mark.case("responses-S9")
@pytest.mark.parametrize("content", ['{"secret-word"', {"question": 1, "secret-word": 2}])
def test_no_error_quotes_the_file(directory: PinnedDirectory, content: Any) -> None:
    leave(directory, content)

    assert "secret" not in refused(directory)


@pytest.mark.case("responses-S8")
@pytest.mark.parametrize("put", [a_directory, a_pipe, a_link, a_second_name])
def test_whatever_was_left_over_is_removed(
    directory: PinnedDirectory, put: Callable[[Path], None]
) -> None:
    put(directory.path / question_file.NAME)

    directory.remove(question_file.NAME)

    assert question_file.read_question_file(directory) is None


def test_an_emptied_directory_is_the_same_and_empty(directory: PinnedDirectory) -> None:
    (directory.path / "kept").mkdir()
    (directory.path / "kept" / "file").write_text("x")
    (directory.path / "link").symlink_to("/")

    directory.empty()

    assert not any(Path(directory.path).iterdir())
    assert Path("/").exists()
    assert question_file.read_question_file(directory) is None


def test_two_turns_never_share_a_directory(tmp_path: Path) -> None:
    with (
        pin_directory(tmp_path / "run"),
        pytest.raises(DirectoryInUse),
        pin_directory(tmp_path / "run"),
    ):
        pass


def test_a_link_in_place_of_a_run_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(tmp_path)

    with pytest.raises(OSError, match="run"), pin_directory(tmp_path / "run"):
        pass


def test_idle_directories_are_swept_and_those_in_use_are_not(tmp_path: Path) -> None:
    for name in ("old", "young", "held"):
        (tmp_path / name).mkdir()
    with pin_directory(tmp_path / "held"):
        for name in ("old", "held"):
            os.utime(tmp_path / name, (0, 0))
        assert sweep_run_directories(tmp_path, older_than=60) == [tmp_path / "old"]

    assert sorted(path.name for path in tmp_path.iterdir()) == ["held", "young"]


def test_it_is_not_swept_again_at_once(tmp_path: Path) -> None:
    sweep_run_directories_if_due(tmp_path, older_than=3600)
    (tmp_path / "old").mkdir()
    os.utime(tmp_path / "old", (0, 0))

    sweep_run_directories_if_due(tmp_path, older_than=3600)
    assert (tmp_path / "old").exists()
    sweep_run_directories_if_due(tmp_path, older_than=0)
    assert not (tmp_path / "old").exists()
