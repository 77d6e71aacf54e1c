"""The command hook, with real commands: quick, slow, failing, hanging and talkative ones."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import F
from pytest_django import Settings

from agents.running.process_groups import is_group_alive
from asks import answering
from asks.answering import Answered
from tests.api import world
from tests.api.world import Cast
from tests.notify.receivers import deliver_all, keeping_command, kept
from workspace.models import Delivery, DeliveryState, OutboxItem
from workspace.notify import deliveries, hook
from workspace.notify.courier import Courier
from workspace.notify.deliveries import LEASE, MAX_ATTEMPTS, Sink
from workspace.notify.errors import Undelivered

pytestmark = pytest.mark.django_db(transaction=True)


def deliver() -> int:
    return asyncio.run(deliver_all())


def time_passes() -> None:
    """Make every waiting delivery due."""
    Delivery.objects.update(next_try=F("next_try") - timedelta(days=1))


async def there(file: Path) -> str:
    """Wait until another process has written to a file; return its content."""
    return await asyncio.to_thread(_there, file)


def _there(file: Path) -> str:
    while not (held := file.read_text() if file.exists() else ""):
        time.sleep(0.02)
    return held


def test_a_command_gets_one_json_object_with_the_binding(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told")
    ask = world.asked(cast.agent, world.approval(money_critical=True))
    assert deliver() == 1
    [event] = kept(tmp_path / "told")
    item = OutboxItem.objects.get()
    assert set(event) == {"id", "kind", "at", "actor", "subject", "payload"}
    assert event["id"] == item.uid
    assert event["at"] == item.created_at.isoformat()
    assert (event["kind"], event["subject"]) == ("ask.opened", f"ask:{ask.pk}")
    assert event["payload"]["ask"]["binding"] == world.echo_of(ask)
    assert event["payload"]["ask"]["gated"] is True
    assert Delivery.objects.get().state == DeliveryState.DELIVERED


def test_what_was_delivered_is_not_delivered_again(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told")
    world.asked(cast.agent)
    deliver()
    time_passes()
    assert deliver() == 0
    assert len(kept(tmp_path / "told")) == 1


def test_only_the_kinds_that_are_wanted_are_told(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told")
    settings.NEEDS_YOU_EVENT_HOOK_KINDS = ["ask.answered"]
    ask = world.asked(cast.agent)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu")
    deliver()
    assert [event["kind"] for event in kept(tmp_path / "told")] == ["ask.answered"]


def test_a_command_inherits_nothing_but_what_is_named(
    cast: Cast, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "for the hook")
    monkeypatch.setenv("OTHER_SECRET", "not for the hook")
    writes = "open(sys.argv[1], 'w').write('\\n'.join(sorted(os.environ)))"
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "seen", then=writes)
    settings.NEEDS_YOU_EVENT_HOOK_ENV = ["HOOK_TOKEN"]
    world.asked(cast.agent)
    deliver()
    seen = set((tmp_path / "seen").read_text().split())
    assert "HOOK_TOKEN" in seen
    assert not {"OTHER_SECRET", "DATABASE_URL", "SECRET_KEY"} & seen


def test_a_failing_command_is_tried_again_with_the_same_id(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    fails_once = f"""
flag = {str(tmp_path / "flag")!r}
if not os.path.exists(flag):
    open(flag, "w").close()
    sys.exit("the network is down")
"""
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told", then=fails_once)
    world.asked(cast.agent)
    assert deliver() == 1
    delivery = Delivery.objects.get()
    assert delivery.state == DeliveryState.QUEUED
    assert (
        delivery.last_error == "The command ended with exit code 1. Its output: the network is down"
    )
    assert deliver() == 0  # not before its time
    time_passes()
    assert deliver() == 1
    first, second = kept(tmp_path / "told")
    assert first == second
    assert Delivery.objects.get().state == DeliveryState.DELIVERED


def test_after_enough_failures_it_is_given_up(cast: Cast, settings: Settings) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = ["/bin/false"]
    world.asked(cast.agent)
    attempts = 0
    while Delivery.objects.filter(state=DeliveryState.QUEUED).exists() or attempts == 0:
        attempts += deliver()
        time_passes()
    assert attempts == MAX_ATTEMPTS
    assert Delivery.objects.get().state == DeliveryState.GIVEN_UP


def test_a_kind_that_does_not_exist_is_said(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.NEEDS_YOU_EVENT_HOOK_KINDS = ["ask.opened", "ask.open"]
    stop = asyncio.Event()
    stop.set()
    asyncio.run(Courier().run(stop))
    assert "ask.open, which is not a kind" in caplog.text


def test_a_command_that_is_not_there_is_said_in_words(cast: Cast, settings: Settings) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = ["/no/such/command"]
    world.asked(cast.agent)
    deliver()
    assert "/no/such/command was not found" in Delivery.objects.get().last_error


def test_a_hanging_command_is_ended_with_all_it_started(
    cast: Cast, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "SECONDS", 1.0)
    hangs = """
import subprocess, time
child = subprocess.Popen(["sleep", "600"])
open(sys.argv[1] + ".pids", "w").write(f"{os.getpgid(0)} {child.pid}")
time.sleep(600)
"""
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told", then=hangs)
    world.asked(cast.agent)
    deliver()
    assert "longer than 1 seconds" in Delivery.objects.get().last_error
    group, child = map(int, (tmp_path / "told.pids").read_text().split())
    assert group != os.getpgid(0)
    assert not is_group_alive(group, "")
    assert not Path(f"/proc/{child}").exists() or "Z" in _state(child)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_talkative_command_is_ended_and_what_it_says_is_not_kept(
    cast: Cast, settings: Settings
) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = [sys.executable, "-c", "while True: print('x' * 10**6)"]
    world.asked(cast.agent)
    deliver()
    error = Delivery.objects.get().last_error
    assert "wrote more than" in error
    assert len(error) < 100


def test_a_command_that_does_not_read_is_no_error(cast: Cast, settings: Settings) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = ["/bin/true"]
    for _ in range(3):
        world.asked(cast.agent, world.approval(params={"note": "z" * 8000}))
    deliver()
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.DELIVERED}


def test_four_at_once_and_no_more(cast: Cast, settings: Settings, tmp_path: Path) -> None:
    """Each command waits for the fourth; all of them would see a fifth."""
    waits = f"""
import time
folder = {str(tmp_path)!r} + "/here"
os.makedirs(folder, exist_ok=True)
mine = os.path.join(folder, str(os.getpid()))
open(mine, "w").close()
late = time.monotonic() + 8
while len(os.listdir(folder)) < 4 and time.monotonic() < late:
    time.sleep(0.02)
open(sys.argv[1] + ".most", "a").write(str(len(os.listdir(folder))) + " ")
time.sleep(0.3)
os.unlink(mine)
"""
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told", then=waits)
    world.turn(cast.agent, *(world.question(f"Which of {n}?") for n in range(8)))
    deliver()
    assert len(kept(tmp_path / "told")) == 8
    most = {int(number) for number in (tmp_path / "told.most").read_text().split()}
    assert max(most) == 4


def test_an_answer_never_waits_for_a_hook(cast: Cast, settings: Settings, tmp_path: Path) -> None:
    """An answer commits while a hook hangs."""
    held = tmp_path / "held"
    hangs = f"""
import time
open({str(held)!r}, "w").write(str(os.getpid()))
time.sleep(600)
"""
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told", then=hangs)
    ask = world.asked(cast.agent)

    async def answer_while_it_hangs() -> tuple[object, bool]:
        tells = Courier()
        stop = asyncio.Event()
        running = asyncio.create_task(tells.run(stop))
        await there(held)
        done = await asyncio.to_thread(
            answering.answer_ask, ask_id=ask.pk, by=cast.owner, option="eu"
        )
        hangs_still = not running.done()
        stop.set()
        await running
        return done, hangs_still

    done, hangs_still = asyncio.run(answer_while_it_hangs())
    assert isinstance(done, Answered)
    assert hangs_still


def test_a_courier_that_stops_puts_back_what_it_had_not_finished(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    held = tmp_path / "held"
    hangs = f"""
import time
open({str(held)!r}, "w").write(str(os.getpid()))
time.sleep(600)
"""
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told", then=hangs)
    world.asked(cast.agent)

    async def start_and_stop() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(Courier().run(stop))
        pid = await there(held)
        stop.set()
        await running
        assert not is_group_alive(int(pid), "")

    asyncio.run(start_and_stop())
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told")
    assert deliver() == 1
    assert Delivery.objects.get().state == DeliveryState.DELIVERED


def test_what_a_dead_courier_had_claimed_is_delivered_after_its_lease(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told")
    world.asked(cast.agent)
    deliveries.spread_outbox()
    [dead] = deliveries.claim_deliveries(Sink.HOOK, 4)  # and dies here
    assert deliver() == 0
    Delivery.objects.update(next_try=F("next_try") - LEASE)
    assert deliver() == 1
    assert [event["id"] for event in kept(tmp_path / "told")] == [dead.uid]
    # The first courier was only asleep: its result comes too late.
    deliveries.mark_failed(dead, Undelivered("too slow"))
    assert Delivery.objects.get().state == DeliveryState.DELIVERED


def test_committed_before_a_crash_means_delivered_after_it(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    """An answer is committed while no courier runs; the next courier delivers it."""
    ask = world.asked(cast.agent)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu")
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told")
    assert deliver() == 2
    kinds = [event["kind"] for event in kept(tmp_path / "told")]
    assert sorted(kinds) == ["ask.answered", "ask.opened"]


def test_two_couriers_share_and_do_not_double(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = keeping_command(tmp_path / "told")
    world.turn(cast.agent, *(world.question(f"Which of {n}?") for n in range(9)))

    async def both() -> None:
        await asyncio.gather(deliver_all(), deliver_all())

    asyncio.run(both())
    ids = [event["id"] for event in kept(tmp_path / "told")]
    assert len(ids) == len(set(ids)) == 9
