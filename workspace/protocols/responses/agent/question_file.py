"""Read the question that a brain left in its run directory. Fail closed.

Only a missing file means that there is no question. A file that is unreadable, not a plain file or
not a valid question fails the turn. Error messages never quote the file.
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
#: Hard links expected. A file with a second link may belong to somebody else, and is not read.
_ONE_NAME = 1
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class BadQuestion(Exception):
    """The question file is invalid or unreadable. The message says why and never quotes the file."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{NAME} {why}")


@dataclass(frozen=True)
class FileQuestion:
    """A brain's question.

    ``wish``: the id that the brain chose, unchecked. ``essentials``: data given back with the answer.
    ``action``: what an approval releases; None if this is a question.
    """

    text: str
    options: tuple[str, ...] = ()
    wish: object = None
    essentials: Json = field(default_factory=dict)
    action: Json | None = None


def read_question_file(directory: PinnedDirectory) -> FileQuestion | None:
    """Return the question of the turn that just ended, or None. Raises BadQuestion."""
    try:
        directory.check()
        raw = _bytes(directory.fd)
        directory.check()
    except DirectoryLost as error:
        raise BadQuestion(f"could not be checked. {error}") from error
    return None if raw is None else _question(_parsed(raw))


def _bytes(directory: int) -> bytes | None:
    """Return the file's content, or None if it is missing. O_NONBLOCK keeps a pipe from blocking."""
    try:
        fd = os.open(NAME, _READ, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        link = error.errno in (errno.ELOOP, errno.EMLINK)
        raise BadQuestion("is a link." if link else "cannot be read.") from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != _ONE_NAME:
            raise BadQuestion("is not a plain file with a single name.")
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
        value = json_input.read_json_strictly(raw)
    except ValueError as error:
        raise BadQuestion("is not JSON in UTF-8.") from error
    if not isinstance(value, dict):
        raise BadQuestion("is not a JSON object.")
    if make_storable(value) != value:
        raise BadQuestion("contains a character or number that cannot be stored.")
    return value


def _question(fields: Json) -> FileQuestion:
    text = fields.get("question")
    if not isinstance(text, str) or is_blank(text):
        raise BadQuestion("has no question text.")
    if len(text) > MAX_QUESTION:
        raise BadQuestion(f"has a question of more than {MAX_QUESTION} characters.")
    return FileQuestion(
        text.strip(),
        _options(fields.get("options")),
        fields.get("request_id"),
        _essentials(fields),
        _action(fields),
    )


def _action(fields: Json) -> Json | None:
    """Return the action of an approval. Its options are ours: a label alone releases nothing."""
    given = fields.get("action")
    if given is None:
        return None
    operation = given.get("operation") if isinstance(given, dict) else None
    if not isinstance(operation, str) or set(given) - {"operation", "params"}:
        raise BadQuestion("has an action that is not an operation with its params.")
    if fields.get("options"):
        raise BadQuestion("has an action and options. An approval has options of its own.")
    return {"operation": operation, "params": given.get("params")}


def _options(given: object) -> tuple[str, ...]:
    if given is None or given == []:
        return ()
    if not isinstance(given, list) or len(given) > MAX_OPTIONS:
        raise BadQuestion(f"has options that are not a list of at most {MAX_OPTIONS}.")
    if not all(
        isinstance(one, str) and not is_blank(one) and len(one) <= MAX_OPTION for one in given
    ):
        raise BadQuestion(f"has an option that is not a text of 1 to {MAX_OPTION} characters.")
    if len(set(given)) < len(given):
        raise BadQuestion("has the same option twice.")
    return tuple(given)


def _essentials(fields: Json) -> Json:
    given = fields.get("essentials") or {}
    if not isinstance(given, dict) or len(compact_json(given)) > MAX_ESSENTIALS:
        raise BadQuestion(
            f"has essentials that are not an object of at most {MAX_ESSENTIALS} bytes."
        )
    return given
