"""Read and write files on the shared volume: never outside it, never half a file.

A path is opened one name at a time from the volume's folder, each relative to the one before and
never through a symbolic link, so nothing that a client or an agent puts there leads outside.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from agents.text import json_input
from workspace.protocols.common.http import one_line_json

MAX_BYTES = 256 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Outside(ValueError):
    """A path that is not below the volume, or is not a valid path."""


class UnreadableItem(ValueError):
    """A file that is missing, is not a plain file, is too large, or is not JSON."""


class Missing(UnreadableItem):
    """There is no such file."""


@dataclass(frozen=True)
class Volume:
    """The folder ``root``. ``known_as`` is the clients' path to it, if different."""

    root: str
    known_as: str = ""

    def parts(self, path: str) -> tuple[str, ...]:
        """Return the names from the root down to a file. Raises Outside."""
        named = PurePosixPath(path)
        if "\0" in path or not named.is_absolute() or ".." in named.parts:
            raise Outside(f"{path!r} is not a plain absolute path.")
        for root in filter(None, (self.known_as, self.root, os.path.realpath(self.root))):
            if named.is_relative_to(root) and named != PurePosixPath(root):
                return named.relative_to(root).parts
        raise Outside(f"{path} is not below the volume.")

    def check(self, *paths: str) -> None:
        """Raise Outside unless all paths are below the volume, judged by their names alone."""
        for path in paths:
            self.parts(path)

    def read(self, path: str) -> object:
        """Return the JSON of a file. Raises UnreadableItem and Outside."""
        text = self.text(path)
        try:
            return json_input.read_json(text)
        except ValueError as error:
            raise UnreadableItem(f"{path}: {_why(error)}") from error

    def text(self, path: str) -> str:
        """Return the text of a plain UTF-8 file. Raises UnreadableItem and Outside."""
        *folders, name = self.parts(path)
        try:
            with self._folder(folders) as folder:
                return _read_plain(name, folder)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Missing(f"{path}: {_why(error)}") from error
        except (OSError, ValueError) as error:
            raise UnreadableItem(f"{path}: {_why(error)}") from error

    def write(self, path: str, value: object) -> None:
        """Write a file atomically, and create its folders. Raises OSError and Outside."""
        *folders, name = self.parts(path)
        with self._folder(folders, make=True) as folder:
            half = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
            try:
                _write_whole(half, folder, one_line_json(value).encode())
                os.rename(half, name, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(half, dir_fd=folder)
                raise

    def write_if_other(self, path: str, value: Mapping[str, object], apart_from: str = "") -> None:
        """Write unless the file already has this value, ignoring the field ``apart_from``."""
        try:
            current = self.read(path)
        except UnreadableItem:
            current = None
        if isinstance(current, dict) and _without(current, apart_from) == _without(
            value, apart_from
        ):
            return
        self.write(path, value)

    def remove(self, path: str) -> None:
        """Remove a file if it exists. Raises Outside."""
        *folders, name = self.parts(path)
        with suppress(OSError), self._folder(folders) as folder:
            os.unlink(name, dir_fd=folder)

    @contextmanager
    def _folder(self, names: list[str], *, make: bool = False) -> Iterator[int]:
        """Open a folder below the root. Only the root itself may be a symbolic link."""
        here = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in names:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=here)
                below = os.open(name, _FOLDER, dir_fd=here)
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)


def _read_plain(name: str, folder: int) -> str:
    """Read a small plain file. A pipe would block, and a device or a huge file would fill the memory."""
    descriptor = os.open(name, _PLAIN, dir_fd=folder)
    with open(descriptor, "rb") as file:  # noqa: PTH123 -- a descriptor, not a path
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is not a plain file")
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise ValueError(f"it is longer than {MAX_BYTES} bytes")
    return text.decode()


def _write_whole(name: str, folder: int, content: bytes) -> None:
    with open(os.open(name, _NEW, 0o644, dir_fd=folder), "wb") as file:  # noqa: PTH123
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _without(value: Mapping[str, object], name: str) -> dict[str, object]:
    return {key: inner for key, inner in value.items() if key != name}


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    if isinstance(error, json_input.TooDeep):
        return f"it is {error}"
    return (
        "it is not JSON" if isinstance(error, json.JSONDecodeError | UnicodeError) else str(error)
    )
