"""Run local commands: nothing is inherited, output is streamed, and the whole group is ended.

A command gets exactly the environment, folder and standard input of its ``Command``, and leads its
own session and process group. It ends when its first process ends; anything that process has left
running in the background is then ended, too.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from agents.running.process_groups import (
    GRACE_SECONDS,
    MARK_VARIABLE,
    POLL_SECONDS,
    identity_of,
    is_group_alive,
    kill_if_same,
    new_mark,
    signal_group,
)

__all__ = [
    "Command",
    "CouldNotStartError",
    "Exited",
    "Spawned",
    "Wrote",
    "kill_if_same",
    "minimal_env",
    "run_command",
]

MINIMAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
STDERR_TAIL_BYTES = 8192
CHUNKS_IN_HAND = 64

Cause = Literal["exit", "timeout", "output_limit"]


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command to run. ``cwd`` must exist; ``env`` is the whole environment (see ``minimal_env``)."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    wall_clock_seconds: float = 1800.0
    output_limit_bytes: int = 8 * 1024 * 1024
    grace_seconds: float = GRACE_SECONDS


@dataclass(frozen=True)
class Spawned:
    """The command has started. Pass ``identity`` to ``kill_if_same``."""

    identity: dict[str, Any]


@dataclass(frozen=True)
class Wrote:
    """A piece of standard output, with whole characters only."""

    text: str


@dataclass(frozen=True)
class Exited:
    """The command has ended.

    ``code`` is negative for a signal, ``stderr`` is the tail of standard error, and ``cause`` says
    what ended the command.
    """

    code: int
    stderr: str
    cause: Cause


class CouldNotStartError(Exception):
    """The command could not be started; the message tells its owner why."""


def minimal_env(
    allowed: Iterable[str] = (), extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a fixed PATH and locale, plus the ``allowed`` variables of our environment and ``extra``."""
    passed = {name: os.environ[name] for name in allowed if name in os.environ}
    return {"PATH": MINIMAL_PATH, "LANG": "C.UTF-8"} | passed | dict(extra or {})


async def run_command(command: Command) -> AsyncGenerator[Spawned | Wrote | Exited, None]:
    """Run a command; yield Spawned first, Wrote for each output, Exited last.

    However this generator ends (exhausted, closed, cancelled), nothing of the command is left
    running. Close it with ``contextlib.aclosing``: Python closes an abandoned generator only at some
    later time. Raises CouldNotStartError.
    """
    child = await _start(command)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    try:
        yield Spawned(child.identity)
        while chunk := await child.next_chunk():
            if text := decode(chunk):
                yield Wrote(text)
        if text := decode(b"", True):
            yield Wrote(text)
        yield await child.exited()
    finally:
        await child.end()


class _Child(asyncio.SubprocessProtocol):
    """One running command, as an asyncio protocol. Its limits apply even if nobody reads its output."""

    def __init__(self, command: Command, mark: str) -> None:
        self._command = command
        self._mark = mark
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._stderr_closed = asyncio.Event()
        self._stderr = bytearray()
        self._written = 0
        self._cause: Cause = "exit"
        self._timers: list[asyncio.TimerHandle] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._group = 0
        self._finished = False
        self._transport: asyncio.SubprocessTransport
        self.identity: dict[str, Any]

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._group = self._transport.get_pid()
        self.identity = identity_of(self._group, self._mark)
        self._later(self._command.wall_clock_seconds, lambda: self._stop("timeout"))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        room = self._command.output_limit_bytes - self._written
        self._written += len(data)
        if fd == 2:
            self._stderr = (self._stderr + data)[-STDERR_TAIL_BYTES:]
        elif room > 0:
            self._chunks.put_nowait(data[:room])
            self._throttle()
        if self._written > self._command.output_limit_bytes:
            self._stop("output_limit")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        if fd == 1:
            self._chunks.put_nowait(b"")
        elif fd == 2:
            self._stderr_closed.set()

    def process_exited(self) -> None:
        self._gone.set()
        self._tasks.append(asyncio.ensure_future(self._clear_up()))

    # Called by run_command().

    async def next_chunk(self) -> bytes:
        """Return the next bytes of standard output; b"" at the end."""
        chunk = await self._chunks.get()
        self._throttle()
        return chunk

    async def exited(self) -> Exited:
        """Wait for the first process to end; return how it ended."""
        await self._gone.wait()
        # Standard error may still be in the pipe, and a process left behind may keep the pipe open.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stderr_closed.wait(), self._command.grace_seconds)
        stderr = self._stderr.decode("utf-8", "replace").replace("\0", "")
        return Exited(self._transport.get_returncode() or 0, stderr, self._cause)

    async def end(self) -> None:
        """Leave nothing of the command running. A second cancellation only makes this quicker."""
        try:
            await self._end_group()
        finally:
            self._kill()
            for timer in self._timers:
                timer.cancel()
            for task in self._tasks:
                task.cancel()
            try:
                # If we closed the transport before asyncio has reaped the process, both would wait for it.
                await self._gone.wait()
            finally:
                self._transport.close()

    # Internals.

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, what))

    def _throttle(self) -> None:
        """Stop reading while our consumer lags behind, so that memory stays bounded."""
        pipe = cast("asyncio.ReadTransport | None", self._transport.get_pipe_transport(1))
        if pipe is None or pipe.is_closing():
            return
        if self._chunks.qsize() >= CHUNKS_IN_HAND:
            pipe.pause_reading()
        else:
            # Does nothing if the pipe is being read already. Python 3.11.2 has no way to ask.
            pipe.resume_reading()

    def _stop(self, cause: Cause) -> None:
        if self._cause != "exit" or self._gone.is_set():
            return
        self._cause = cause
        signal_group(signal.SIGTERM, self._group, self._mark)
        self._later(self._command.grace_seconds, self._kill)

    def _kill(self) -> None:
        if not self._finished:
            signal_group(signal.SIGKILL, self._group, self._mark)

    def _over(self) -> bool:
        """Whether nothing of the command lives any more.

        Remember the result: the system may then reuse the group's number, so it must not be signalled.
        """
        if not self._finished and not is_group_alive(self._group, self._mark):
            self._finished = self._gone.is_set()
            return True
        return self._finished

    async def _end_group(self) -> None:
        if self._over():
            return
        signal_group(signal.SIGTERM, self._group, self._mark)
        for _ in range(round(self._command.grace_seconds / POLL_SECONDS)):
            await asyncio.sleep(POLL_SECONDS)
            if self._over():
                return

    async def _clear_up(self) -> None:
        """End what the leader left behind. It may keep our pipes open, so stop waiting for them."""
        try:
            await self._end_group()
        finally:
            self._kill()
        await asyncio.sleep(self._command.grace_seconds)
        self._chunks.put_nowait(b"")


async def _start(command: Command) -> _Child:
    _check(command)
    # asyncio would use a socket, and the command could not open /dev/stdin. Use a pipe instead.
    reading, writing = os.pipe()
    try:
        stdin = await _writer(writing)
        try:
            child = await _spawn(command, reading)
        except BaseException:
            stdin.abort()
            raise
    finally:
        os.close(reading)
    # Does not block: asyncio writes as the command reads. A command may leave its input unread.
    stdin.write(command.stdin.encode("utf-8", "replace"))
    stdin.close()
    return child


async def _writer(pipe: int) -> asyncio.WriteTransport:
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(
        asyncio.BaseProtocol, os.fdopen(pipe, "wb", buffering=0)
    )
    return transport


async def _spawn(command: Command, stdin: int) -> _Child:
    mark = new_mark()
    try:
        _, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Child(command, mark),
            *command.argv,
            cwd=command.cwd,
            env={**command.env, MARK_VARIABLE: mark},
            stdin=stdin,
            start_new_session=True,
            close_fds=True,
        )
    except (OSError, ValueError) as error:
        raise CouldNotStartError(_why_not(command, error)) from error
    return child


def _check(command: Command) -> None:
    if not command.argv or not command.argv[0]:
        raise CouldNotStartError("There is no command to run.")
    if not Path(command.cwd).is_dir():
        raise CouldNotStartError(f"The working folder {command.cwd} does not exist.")


def _why_not(command: Command, error: OSError | ValueError) -> str:
    program = command.argv[0]
    if isinstance(error, FileNotFoundError):
        return f"The command {program} was not found on this machine."
    if isinstance(error, PermissionError):
        return (
            f"The command {program} may not be executed, "
            f"or the working folder {command.cwd} may not be entered."
        )
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return f"The file {program} is not a program: it has no #! line and no known format."
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return f"The arguments and environment of {program} are too long for this system."
    return f"The command {program} could not be started: {error}."
