"""Reads files that somebody else may be changing: what is judged is exactly what was read.

Every file is opened once, relative to its folder's descriptor and never through a symbolic link; what
follows works on the bytes in memory. A file that changes while it is read is left for later.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager


class UnreadableFile(Exception):
    """A file that is not read, with why in words."""


class Changing(UnreadableFile):
    """A file that changed while it was read, or whose other half is not there yet. Try later."""


@contextmanager
def open_folder(path: str) -> Iterator[int]:
    """The descriptor of a folder. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def read_file(name: str, *, at: int, most: int) -> bytes:
    """The bytes of a plain file of a folder, at most so many. Raises Unreadable."""
    if "/" in name or name in ("", ".", ".."):
        raise UnreadableFile("its name leads out of the folder")
    try:
        # Without O_NONBLOCK a pipe of that name would make us wait for its writer for ever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(name, flags, dir_fd=at)
    except FileNotFoundError:
        raise Changing("it is not there") from None
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
        raise UnreadableFile("it is no plain file")
    if before.st_nlink > 1:
        raise UnreadableFile("it has a second name elsewhere")
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


def _marks(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_nlink)


def _now_elsewhere(name: str, at: int, opened: os.stat_result) -> bool:
    try:
        return not os.path.samestat(os.lstat(name, dir_fd=at), opened)
    except OSError:
        return True
