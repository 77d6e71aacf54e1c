"""Read files that another process may be changing.

Every file is opened once, relative to the descriptor of its folder, and never through a symbolic link.
The caller works on the bytes in memory, so it judges exactly the bytes that were read. A file that
changes during the read is left for later.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager


class UnreadableFile(Exception):
    """A file that cannot be read. The message is the reason, such as “it is a symbolic link”."""


class Changing(UnreadableFile):
    """A file that is missing or changed during the read. Try again later."""


@contextmanager
def open_folder(path: str) -> Iterator[int]:
    """Open a folder and yield its descriptor. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def read_file(name: str, *, at: int, most: int) -> bytes:
    """Return the content of a regular file in the folder ``at``.

    Raises UnreadableFile, in particular if the file is larger than ``most`` bytes.
    """
    if "/" in name or name in ("", ".", ".."):
        raise UnreadableFile("its name points outside the folder")
    try:
        # Without O_NONBLOCK, opening a named pipe would block until a writer opens it.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(name, flags, dir_fd=at)
    except FileNotFoundError:
        raise Changing("it does not exist") from None
    except OSError as error:
        raise UnreadableFile(_why(error, name, at)) from error
    try:
        return _read_open(handle, name, at, most)
    finally:
        os.close(handle)


def _why(error: OSError, name: str, at: int) -> str:
    try:
        if stat.S_ISLNK(os.lstat(name, dir_fd=at).st_mode):
            return "it is a symbolic link"
    except OSError:
        pass
    return (error.strerror or "it cannot be opened").lower()


def _read_open(handle: int, name: str, at: int, most: int) -> bytes:
    before = os.fstat(handle)
    if not stat.S_ISREG(before.st_mode):
        raise UnreadableFile("it is not a regular file")
    if before.st_nlink > 1:
        raise UnreadableFile("it has a second hard link")
    if before.st_size > most:
        raise UnreadableFile(f"it is larger than {most} bytes")
    content = b""
    while piece := os.read(handle, most + 1 - len(content)):
        content += piece
    if _marks(os.fstat(handle)) != _marks(before) or len(content) != before.st_size:
        raise Changing("it changed while it was read")
    if _now_elsewhere(name, at, before):
        raise Changing("it was replaced while it was read")
    return content


def _marks(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_nlink)


def _now_elsewhere(name: str, at: int, opened: os.stat_result) -> bool:
    try:
        return not os.path.samestat(os.lstat(name, dir_fd=at), opened)
    except OSError:
        return True
