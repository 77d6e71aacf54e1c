"""Reads the question that a brain left in its run directory. It fails closed.

Only a missing file means that there is no question. One that cannot be read, is no plain file, or
says nothing that a person could be asked makes the turn a failed one. The words of an error never
quote the file.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field

from agents.text import json_input
from agents.text.storable import is_blank, make_storable
from workspace.protocols.responses.agent.run_directory import DirectoryLost, PinnedDirectory
from workspace.protocols.responses.wire import Json, compact_json

NAME = "hitl_request.json"
MAX_BYTES = 64 * 1024
MAX_QUESTION = 4_000
MAX_OPTIONS, MAX_OPTION = 20, 400
MAX_ESSENTIALS = 4_096
#: A file by another name too may be somebody else's: reading it could show what is not the brain's.
_ONE_NAME = 1
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class BadQuestion(Exception):
    """The question file is there and no question; or nobody can tell. Says which, quotes nothing."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{NAME} {why}")


@dataclass(frozen=True)
class FileQuestion:
    """What a brain asks. ``wish`` is the id it chose, as it wrote it; ``essentials`` come back."""

    text: str
    options: tuple[str, ...] = ()
    wish: object = None
    essentials: Json = field(default_factory=dict)


def read_question_file(directory: PinnedDirectory) -> FileQuestion | None:
    """The question of the turn that just ended, if there is one. Raises BadQuestion."""
    try:
        directory.check()
        raw = _bytes(directory.fd)
        directory.check()
    except DirectoryLost as error:
        raise BadQuestion(f"could not be looked for. {error}") from error
    return None if raw is None else _question(_parsed(raw))


def _bytes(directory: int) -> bytes | None:
    """The file's content. A pipe does not hold us up: it is opened without waiting."""
    try:
        fd = os.open(NAME, _READ, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        link = error.errno in (errno.ELOOP, errno.EMLINK)
        raise BadQuestion("is a link." if link else "cannot be read.") from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != _ONE_NAME:
            raise BadQuestion("is not a plain file of its own.")
        return _whole(fd)
    except OSError as error:
        raise BadQuestion("cannot be read.") from error
    finally:
        os.close(fd)


def _whole(fd: int) -> bytes:
    with os.fdopen(os.dup(fd), "rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise BadQuestion(f"has more than {MAX_BYTES} bytes.")
    return raw


def _parsed(raw: bytes) -> Json:
    try:
        found = json_input.read_json_strictly(raw)
    except ValueError as error:
        raise BadQuestion("is not JSON in UTF-8.") from error
    if not isinstance(found, dict):
        raise BadQuestion("holds no JSON object.")
    if make_storable(found) != found:
        raise BadQuestion("holds a character or number that cannot be kept.")
    return found


def _question(found: Json) -> FileQuestion:
    text = found.get("question")
    if not isinstance(text, str) or is_blank(text):
        raise BadQuestion("has no question text.")
    if len(text) > MAX_QUESTION:
        raise BadQuestion(f"asks in more than {MAX_QUESTION} characters.")
    return FileQuestion(
        text.strip(), _options(found.get("options")), found.get("request_id"), _essentials(found)
    )


def _options(given: object) -> tuple[str, ...]:
    if given is None or given == []:
        return ()
    if not isinstance(given, list) or len(given) > MAX_OPTIONS:
        raise BadQuestion(f"has options that are no list of {MAX_OPTIONS} at the most.")
    if not all(
        isinstance(one, str) and not is_blank(one) and len(one) <= MAX_OPTION for one in given
    ):
        raise BadQuestion(f"has an option that is no text of 1 to {MAX_OPTION} characters.")
    if len(set(given)) < len(given):
        raise BadQuestion("has the same option twice.")
    return tuple(given)


def _essentials(found: Json) -> Json:
    given = found.get("essentials") or {}
    if not isinstance(given, dict) or len(compact_json(given)) > MAX_ESSENTIALS:
        raise BadQuestion(
            f"has essentials that are no object of {MAX_ESSENTIALS} bytes at the most."
        )
    return given
