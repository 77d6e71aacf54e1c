"""Bind the files that an action names by their content: an approval covers exactly these bytes.

Only plain files in the agent's folder are read, and no symbolic link is followed. The card shows
why a file cannot be bound, in place of its digest.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agents.models import Agent
from agents.text.canonical_json import Json
from agents.text.storable import is_storable
from asks.drafts import ActionDraft
from asks.policies.versions import Ruling
from asks.signed_channel import safe_files

MOST_NAMES = 40
MOST_BYTES = 8 * 1024 * 1024
MISSING = "missing"
#: Followed by the reason, which is never translated: it is hashed with the action.
UNBOUND = "unbound: "


def hash_files(agent: Agent, action: ActionDraft, ruling: Ruling) -> dict[str, str]:
    """Return {path as named: "sha256:…", "missing" or "unbound: reason"} for the files of an action.

    The paths come from the draft and from the params that the policy lists in ``bind_files``.
    """
    bind = ruling.rule.bind_files if ruling.rule else ()
    names = dict.fromkeys([*action.files, *files_named_in(action.params, bind)])
    return {name: digest_file(agent, name) for name in list(names)[:MOST_NAMES]}


def rehash_files(agent: Agent, files: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of the same files now."""
    return {name: digest_file(agent, name) for name in files}


def digest_file(agent: Agent, name: str) -> str:
    """Return the digest of a file's present content, or the reason why it cannot be bound."""
    root = agent.settings.get("cwd") if isinstance(agent.settings, dict) else None
    if not isinstance(root, str) or not root:
        return f"{UNBOUND}the agent has no folder"
    try:
        parts = _parts(name, root)
        return f"sha256:{hashlib.sha256(_content(root, parts)).hexdigest()}"
    except FileNotFoundError:
        return MISSING
    except safe_files.UnreadableFile as why:
        return f"{UNBOUND}{why}"
    except OSError as error:
        return f"{UNBOUND}{(error.strerror or 'it cannot be read').lower()}"


def _parts(name: str, root: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute():
        if not path.is_relative_to(root):
            raise safe_files.UnreadableFile("it is outside the agent's folder")
        path = path.relative_to(root)
    if ".." in path.parts or not path.parts:
        raise safe_files.UnreadableFile("it is outside the agent's folder")
    return path.parts


def _content(root: str, parts: tuple[str, ...]) -> bytes:
    """Return the bytes of a file. No folder on the path is opened through a symbolic link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = inner
        os.lstat(parts[-1], dir_fd=handle)
        return safe_files.read_file(parts[-1], at=handle, most=MOST_BYTES)
    finally:
        os.close(handle)


def files_named_in(params: Json, bind: Iterable[str]) -> list[str]:
    """Return the file names in the params listed in ``bind``, in that order."""
    values = [params[name] for name in bind if isinstance(params, dict) and name in params]
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [name for text in flat if isinstance(text, str) for name in _words(text)]


def _words(text: str) -> list[str]:
    """Return a single path unchanged, or every word of a command that may be a path."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    words = words if len(words) > 1 else [text.strip()]
    return [word for word in words if word and not word.startswith("-") and is_storable(word)]
