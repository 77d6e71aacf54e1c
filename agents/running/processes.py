"""Local commands: spawned with nothing inherited, streamed as they write, and ended as a whole
group.

A command gets exactly the environment, folder and standard input it is given, leads a session and
process group of its own, and is over when its first process is over: whatever that left behind in
the background is ended with it.
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
    """What to run. ``cwd`` must exist; ``env`` is the whole environment (see minimal_env)."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    wall_clock_seconds: float = 1800.0
    output_limit_bytes: int = 8 * 1024 * 1024
    grace_seconds: float = GRACE_SECONDS


@dataclass(frozen=True)
class Spawned:
    """The command exists; ``identity`` is what kill_if_same takes."""

    identity: dict[str, Any]


@dataclass(frozen=True)
class Wrote:
    """A piece of standard output, whole characters only."""

    text: str


@dataclass(frozen=True)
class Exited:
    """``code`` is negative for a signal; ``stderr`` is the end of what went there; ``cause`` is who
    ended it.
    """

    code: int
    stderr: str
    cause: Cause


class CouldNotStartError(Exception):
    """The command was never started; the message says why, in words for its owner."""


def minimal_env(
    allowed: Iterable[str] = (), extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A fixed PATH and locale, the named variables of our own environment, then ``extra`` over
    both.
    """
    passed = {name: os.environ[name] for name in allowed if name in os.environ}
    return {"PATH": MINIMAL_PATH, "LANG": "C.UTF-8"} | passed | dict(extra or {})


async def run_command(command: Command) -> AsyncGenerator[Spawned | Wrote | Exited, None]:
    """Run it: Spawned at once, Wrote as it comes, Exited last. Raises CouldNotStartError.

    However this generator ends (exhausted, closed, cancelled), nothing of the command is left
    running. Close it with ``contextlib.aclosing``: an abandoned one is closed only when Python gets
    to it.
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
    """One running command, as asyncio tells of it. Its watchdog works even when nobody reads the
    output.
    """

    def __init__(self, command: Command, mark: str) -> None:
        self._command = command
        self._mark = mark
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._said_all = asyncio.Event()
        self._stderr = bytearray()
        self._written = 0
        self._cause: Cause = "exit"
        self._timers: list[asyncio.TimerHandle] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._group = 0
        self._finished = False
        self._transport: asyncio.SubprocessTransport
        self.identity: dict[str, Any]

    # What asyncio calls.

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
            self._breathe()
        if self._written > self._command.output_limit_bytes:
            self._stop("output_limit")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        if fd == 1:
            self._chunks.put_nowait(b"")
        elif fd == 2:
            self._said_all.set()

    def process_exited(self) -> None:
        self._gone.set()
        self._tasks.append(asyncio.ensure_future(self._clear_up()))

    # What run() calls.

    async def next_chunk(self) -> bytes:
        """The next bytes of standard output; b"" when no more will come."""
        chunk = await self._chunks.get()
        self._breathe()
        return chunk

    async def exited(self) -> Exited:
        await self._gone.wait()
        # Its last words may still be in the pipe, which something it left behind may hold open.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._said_all.wait(), self._command.grace_seconds)
        stderr = self._stderr.decode("utf-8", "replace").replace("\0", "")
        return Exited(self._transport.get_returncode() or 0, stderr, self._cause)

    async def end(self) -> None:
        """Leave nothing of it running, whatever happens meanwhile: a second cancellation only makes
        it quicker.
        """
        try:
            await self._end_group()
        finally:
            self._kill()
            for timer in self._timers:
                timer.cancel()
            for task in self._tasks:
                task.cancel()
            try:
                # Closing before asyncio has reaped the process would make two of us wait for it.
                await self._gone.wait()
            finally:
                self._transport.close()

    # How it is done.

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, what))

    def _breathe(self) -> None:
        """Stop reading while the reader of ours is behind, so that memory stays bounded."""
        pipe = cast("asyncio.ReadTransport | None", self._transport.get_pipe_transport(1))
        if pipe is None or pipe.is_closing():
            return
        if self._chunks.qsize() >= CHUNKS_IN_HAND:
            pipe.pause_reading()
        else:
            # It does nothing on a pipe that is read already; Python 3.11.2 cannot tell.
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
        """True once nothing of it lives.

        It stays so: its group number may be given to others from then on, so nothing is sent to it.
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
        """The leader is gone: end what it left behind, which may hold our pipes open, and stop
        waiting for them.
        """
        try:
            await self._end_group()
        finally:
            self._kill()
        await asyncio.sleep(self._command.grace_seconds)
        self._chunks.put_nowait(b"")


async def _start(command: Command) -> _Child:
    _check(command)
    # A pipe of our own: asyncio's would be a socket, and then the command could not open
    # /dev/stdin.
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
    # Written as the command reads it, without blocking; a command that does not read it is no
    # error.
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
