"""Local commands as real processes: what they get, what comes back, and that nothing of them is
left.
"""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import sys
import textwrap
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agents.running import process_groups
from agents.running.processes import (
    Command,
    CouldNotStartError,
    Exited,
    Spawned,
    Wrote,
    kill_if_same,
    minimal_env,
    run_command,
)
from tests.markers.gone import until_gone

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


def python(source: str, *arguments: str, **more: Any) -> Command:
    argv = (sys.executable, "-c", textwrap.dedent(source), *arguments)
    return Command(**{"argv": argv, "cwd": "/", "env": minimal_env(), "grace_seconds": 0.5, **more})


def shell(script: str, **more: Any) -> Command:
    """What is up within milliseconds even on a busy machine."""
    return python("", argv=("/bin/sh", "-c", script), **more)


async def everything(command: Command) -> list[Spawned | Wrote | Exited]:
    async with aclosing(run_command(command)) as events:
        return [event async for event in events]


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, Wrote))


def go(command: Command) -> tuple[str, Exited]:
    events = asyncio.run(everything(command))
    assert isinstance(events[0], Spawned)
    assert isinstance(events[-1], Exited)
    return text_of(events), events[-1]


def test_stdin_reaches_the_command_and_its_output_comes_back() -> None:
    said, end = go(python("import sys; print(sys.stdin.read().upper(), end='')", stdin="grüß dich"))
    assert said == "GRÜSS DICH"
    assert (end.code, end.cause) == (0, "exit")


def test_stdin_of_a_megabyte_does_not_block_a_command_that_writes_first() -> None:
    source = (
        "import sys; sys.stdout.write('x'*300000); sys.stdout.flush(); print(len(sys.stdin.read()))"
    )
    said, _ = go(python(source, stdin="y" * 1_000_000))
    assert said.endswith("x1000000\n")


def test_a_command_that_never_reads_stdin_is_no_error() -> None:
    said, end = go(python("print('done')", stdin="y" * 1_000_000))
    assert (said, end.code) == ("done\n", 0)


def test_dev_stdin_can_be_opened() -> None:
    command = Command(
        argv=("/bin/sh", "-c", "cat < /dev/stdin"), cwd="/", env=minimal_env(), stdin="hello"
    )
    assert go(command)[0] == "hello"


def test_environment_is_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_WORKER", "hunter2")
    monkeypatch.setenv("ALLOWED_ONE", "yes")
    env = minimal_env(["ALLOWED_ONE", "NOT_SET_AT_ALL"], {"LANG": "C", "EXTRA": "1"})
    said, _ = go(python("import os; print(sorted(os.environ.items()))", env=env))
    names = {name for name, _ in ast.literal_eval(said)}
    assert names - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {
        "PATH",
        "LANG",
        "ALLOWED_ONE",
        "EXTRA",
        process_groups.MARK_VARIABLE,
    }
    assert ("EXTRA", "1") in ast.literal_eval(said)
    assert "hunter2" not in said


def test_file_descriptors_are_not_inherited(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        source = """
            import os, sys
            try:
                os.fstat(int(sys.argv[1])); print("open")
            except OSError:
                print("closed")
        """
        said, _ = go(python(source, str(secret.fileno())))
    assert said == "closed\n"


def test_it_leads_a_session_and_group_of_its_own() -> None:
    said, _ = go(python("import os; print(os.getpid() == os.getpgid(0) == os.getsid(0))"))
    assert said == "True\n"


@pytest.mark.case("aoa-69")
def test_characters_split_over_three_byte_writes_are_reassembled() -> None:
    source = """
        import sys, time
        data = "héllo — 漢字 🙂 done".encode()
        for i in range(0, len(data), 3):
            sys.stdout.buffer.write(data[i:i+3]); sys.stdout.buffer.flush(); time.sleep(0.005)
    """
    events = asyncio.run(everything(python(source)))
    assert text_of(events) == "héllo — 漢字 🙂 done"
    assert len([event for event in events if isinstance(event, Wrote)]) > 3


def test_bytes_that_are_no_utf8_are_replaced_and_a_cut_character_is_flushed() -> None:
    said, _ = go(python(r"import sys; sys.stdout.buffer.write(b'a\xffb\xe6\xbc')"))
    assert said == "a\ufffdb\ufffd"


@pytest.mark.case("aoa-71")
def test_text_arrives_before_the_command_ends() -> None:
    async def watch() -> str:
        source = (
            "import sys; print('first', flush=True); sys.stdin.read(); import time; time.sleep(60)"
        )
        async with aclosing(run_command(python(source))) as events:
            async for event in events:
                if isinstance(event, Wrote):
                    return event.text
        return ""

    assert asyncio.run(watch()) == "first\n"


def test_exit_code_and_the_end_of_stderr_are_kept() -> None:
    _, end = go(python("import sys; sys.stderr.write('x'*50000 + 'the reason'); sys.exit(3)"))
    assert end.code == 3
    assert end.stderr.endswith("the reason")
    assert len(end.stderr) == 8192


def test_death_by_a_signal_is_a_negative_code() -> None:
    _, end = go(python("import os; os.kill(os.getpid(), 9)"))
    assert (end.code, end.cause) == (-9, "exit")


@pytest.mark.case("aoa-72")
def test_the_wall_clock_ends_a_command_that_ignores_term() -> None:
    said, end = go(shell("trap '' TERM; echo up; sleep 600", wall_clock_seconds=2))
    assert (said, end.code, end.cause) == ("up\n", -signal.SIGKILL, "timeout")


def test_a_polite_command_may_finish_its_words_when_the_time_is_over() -> None:
    script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    said, end = go(shell(script, wall_clock_seconds=2, grace_seconds=10))
    assert (said, end.cause) == ("up\nbye\n", "timeout")


def test_output_over_the_limit_is_cut_and_the_command_ended() -> None:
    said, end = go(python("while True: print('x'*1000)", output_limit_bytes=10_000))
    assert len(said) == 10_000
    assert end.cause == "output_limit"


def test_stderr_counts_towards_the_limit() -> None:
    _, end = go(
        python("import sys\nwhile True: sys.stderr.write('x'*1000)", output_limit_bytes=10_000)
    )
    assert end.cause == "output_limit"


def test_the_wall_clock_works_while_nobody_reads() -> None:
    async def sleepy() -> Exited:
        last: Any = None
        async with aclosing(
            run_command(python("while True: print('x'*1000)", wall_clock_seconds=0.5))
        ) as events:
            async for last in events:
                if isinstance(last, Spawned):
                    await asyncio.sleep(1.5)
        return last  # type: ignore[no-any-return]

    assert asyncio.run(sleepy()).cause == "timeout"


GRANDCHILD = """
    import subprocess, sys, time
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)"
    code = "import signal, time; " + stubborn + "; time.sleep(600)"
    own = len(sys.argv) > 2
    argv = [sys.executable, "-c", code]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=own)
    child.stdout.readline()
    print(child.pid, flush=True)
    if sys.argv[1] == "wait": time.sleep(600)
"""


def test_grandchildren_are_killed_when_the_command_exits() -> None:
    said, end = go(python(GRANDCHILD, "leave"))
    assert (end.code, end.cause) == (0, "exit")
    assert until_gone(int(said))


@NEEDS_PROC
def test_a_grandchild_that_left_the_group_is_killed_too() -> None:
    said, _ = go(python(GRANDCHILD, "leave", "own session"))
    assert until_gone(int(said))


def test_grandchildren_are_killed_at_the_timeout() -> None:
    script = "trap '' TERM; sleep 600 & echo $!; wait"
    said, end = go(shell(script, wall_clock_seconds=2))
    assert end.cause == "timeout"
    assert until_gone(int(said))


def test_a_grandchild_that_holds_stdout_open_does_not_hold_the_turn() -> None:
    command = Command(
        argv=("/bin/sh", "-c", "sleep 600 & echo over"),
        cwd="/",
        env=minimal_env(),
        grace_seconds=0.5,
    )
    said, end = go(command)
    assert (said, end.code) == ("over\n", 0)


def test_a_command_that_closes_stdout_is_still_waited_for() -> None:
    source = "import os, sys, time; os.close(1); time.sleep(0.3); sys.exit(4)"
    assert go(python(source))[1].code == 4


@pytest.mark.parametrize("times", [1, 2, 5])
def test_on_cancellation_everything_is_dead_before_it_returns(times: int) -> None:
    pids: list[int] = []

    async def cancelled() -> None:
        started = asyncio.Event()

        async def work() -> None:
            async with aclosing(run_command(python(GRANDCHILD, "wait"))) as events:
                async for event in events:
                    if isinstance(event, Spawned):
                        pids.append(event.identity["pid"])
                    if isinstance(event, Wrote):
                        pids.append(int(event.text))
                        started.set()

        task = asyncio.create_task(work())
        await started.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert len(pids) == 2
    assert all(until_gone(pid) for pid in pids)


def test_closing_early_kills_the_command() -> None:
    async def first() -> int:
        async with aclosing(run_command(python("import time; time.sleep(600)"))) as events:
            async for event in events:
                assert isinstance(event, Spawned)
                return int(event.identity["pid"])
        raise AssertionError

    assert until_gone(asyncio.run(first()))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"argv": ("no-such-command-here",)}, "The command no-such-command-here was not found"),
        ({"argv": ()}, "no command to run"),
        ({"argv": ("",)}, "no command to run"),
        ({"cwd": "/no/such/folder"}, "The working folder /no/such/folder does not exist"),
        ({"argv": ("/bin/sh", "a\0b")}, "could not be started"),
        ({"argv": ("/bin/echo", "x" * 3_000_000)}, "too long for this system"),
    ],
)
def test_what_cannot_start_says_why(more: dict[str, Any], words: str) -> None:
    with pytest.raises(CouldNotStartError, match=words):
        go(python("", **more))


def test_a_file_that_is_not_executable_says_so(tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text("echo hi\n")
    with pytest.raises(CouldNotStartError, match="may not be executed"):
        go(python("", argv=(str(script),)))
    script.chmod(0o755)
    with pytest.raises(CouldNotStartError, match="no #! line"):
        go(python("", argv=(str(script),)))


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_starting_many_leaves_no_descriptor_open() -> None:
    async def many() -> tuple[int, int]:
        await everything(python("print(1)"))
        before = open_descriptors()
        for _ in range(5):
            await everything(python("print(1)"))
            with pytest.raises(CouldNotStartError):
                await everything(python("", argv=("no-such-command-here",)))
        await asyncio.sleep(0)
        return before, open_descriptors()

    before, after = asyncio.run(many())
    assert after <= before


def test_the_identity_that_run_gives_is_the_one_that_kills_from_outside() -> None:
    async def killed_by_another() -> Exited:
        last: Any = None
        async with aclosing(run_command(python("import time; time.sleep(600)"))) as events:
            async for last in events:
                if isinstance(last, Spawned):
                    assert set(last.identity) >= {"host", "pid", "pgid", "started"}
                    assert await asyncio.to_thread(kill_if_same, last.identity)
        return last  # type: ignore[no-any-return]

    assert asyncio.run(killed_by_another()).code == -signal.SIGTERM


def test_the_last_words_on_stderr_are_waited_for() -> None:
    """The first process is gone and standard output at its end before they are in the pipe."""
    # Deaf to SIGTERM before it is there at all: who is left behind is sent one at once.
    late = "trap '' TERM; (sleep 0.3; echo 'the disk is full' >&2) >/dev/null & exit 1"
    _, exited = go(shell(late, grace_seconds=5))
    assert (exited.code, exited.stderr) == (1, "the disk is full\n")


def test_whoever_holds_stderr_open_is_not_waited_for_for_ever() -> None:
    holds = "setsid sleep 30 >/dev/null 2>&2 & echo gone >&2; exit 1"
    _, exited = go(shell(holds, grace_seconds=0.5))
    assert (exited.code, exited.stderr) == (1, "gone\n")
