"""Two hosts and one database: the host that carries a run is cut off, and comes back.

The hosts are network namespaces with their own host names, so this needs root on Linux.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import OperationalError, connection, connections, transaction
from pytest_django import DjangoDbBlocker

from agents.models import Event, Session
from tests.conftest import SERVER
from tests.dispatch.world import (
    DONE,
    Worker,
    alive,
    disconnect,
    eventually,
    pid_in,
    point_at,
    said,
    seqs,
    session_of,
    start,
    until,
)
from tests.live_server import ManagedProcess
from workspace.local.postgres.instance import LocalPostgres
from workspace.local.postgres.server import PORT, ROLE

TOOLS = ("ip", "unshare", "hostname")
NETWORK = f"10.213.{os.getpid() % 250}"
LEASE = "3"


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def may_make_hosts() -> bool:
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in TOOLS):
        return False
    probe = f"ny-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", probe], capture_output=True, check=False)
    return made.returncode == 0


pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not may_make_hosts(), reason="needs root, iproute2 and Linux"),
]


@dataclass(frozen=True)
class Host:
    """A network namespace on the bridge. It can be disconnected."""

    name: str

    @property
    def cable(self) -> str:
        return f"v{self.name}"

    def plug_in(self, bridge: str, address: str) -> None:
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.cable, "type", "veth", "peer", "eth0", "netns", self.name)
        run("ip", "link", "set", self.cable, "master", bridge, "up")
        run("ip", "-n", self.name, "addr", "add", f"{address}/24", "dev", "eth0")
        run("ip", "-n", self.name, "link", "set", "eth0", "up")

    def pull(self) -> None:
        run("ip", "link", "set", self.cable, "down")

    def put_back(self) -> None:
        run("ip", "link", "set", self.cable, "up")

    def on_it(self, command: list[str]) -> list[str]:
        """Return a command wrapped so that it runs on this host."""
        named = f'hostname {self.name}; exec "$@"'
        return [
            "ip",
            "netns",
            "exec",
            self.name,
            "unshare",
            "--uts",
            "sh",
            "-c",
            named,
            "sh",
            *command,
        ]


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    bridge = f"nyb{os.getpid()}"
    pair = Host(f"nya{os.getpid()}"), Host(f"nyz{os.getpid()}")
    try:
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "addr", "add", f"{NETWORK}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for number, host in enumerate(pair, start=2):
            host.plug_in(bridge, f"{NETWORK}.{number}")
        yield pair
    finally:
        for host in pair:
            subprocess.run(["ip", "netns", "del", host.name], capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", host.cable], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", bridge], capture_output=True, check=False)


@pytest.fixture
def database(
    hosts: tuple[Host, Host],
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """Start a PostgreSQL that both hosts reach; return the URL they use. We use its socket."""
    server, before = pytestconfig.stash[SERVER], str(connections["default"].settings_dict["NAME"])
    with tempfile.TemporaryDirectory(prefix="needs-you-hosts-") as folder:
        Path(folder).chmod(0o711)
        settings = {"fsync": "off", "listen_addresses": f"{NETWORK}.1"}
        private = LocalPostgres(Path(folder) / "state", settings)
        with django_db_blocker.unblock():
            try:
                private.start()
                point_at(private.url())
                with (private.state / "pgdata/pg_hba.conf").open("a") as rules:
                    rules.write(f"host all all {NETWORK}.0/24 trust\n")
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_reload_conf()")
                call_command("migrate", verbosity=0)
                name = connections["default"].settings_dict["NAME"]
                yield f"postgresql://{ROLE}@{NETWORK}.1:{PORT}/{name}"
            finally:
                disconnect()
                private.stop()
                server.point_at(before)


def test_a_host_that_is_cut_off_loses_its_run(
    owner: User, database: str, hosts: tuple[Host, Host], tmp_path: Path
) -> None:
    script = f"""
        if [ -e {tmp_path}/pid ]; then echo second; {DONE}; exit; fi
        echo $$ > {tmp_path}/pid; while :; do echo first; sleep 0.2; done
    """
    session = session_of(owner, "talker", script)
    turn = start(session, owner)
    workers = {host: worker_on(host, database, tmp_path) for host in hosts}
    try:
        workers[hosts[0]].start()
        command = pid_in(tmp_path / "pid")
        eventually(lambda: "first" in said(session), "it talks")
        workers[hosts[1]].start()
        hosts[0].pull()
        turn = until(turn, "completed")
        assert (
            turn.epoch > 1
        )  # more than 2 if the first host was too slow and lost its claim before
        assert turn.worker.startswith(hosts[1].name)
        # Nobody could reach the command there: the host's own worker ends it once it is back.
        assert alive(command)
        written = seqs(session)
        hosts[0].put_back()
        eventually(lambda: not alive(command), "the cut-off host has given up")
        workers[hosts[1]].stop()
        # The host works again, and the output of its lost run is stored nowhere.
        until(start(session_of(owner, "another", DONE), owner), "completed")
        assert seqs(session) == written == list(range(1, len(written) + 1))
        assert Event.objects.filter(session=session, kind="ended").count() == 1
    finally:
        for worker in workers.values():
            worker.end()


def test_a_host_that_is_cut_off_in_a_transaction_holds_no_lock(
    owner: User, database: str, hosts: tuple[Host, Host], tmp_path: Path
) -> None:
    """PostgreSQL does not notice the cut: a timeout has to end the host's transaction."""
    session = session_of(owner, "talker", DONE)
    holds = ["shell", "-c", HOLDS.format(session.pk)]
    holder = ManagedProcess(*holds, log=tmp_path / "holder.log", env={"DATABASE_URL": database})
    holder.command = hosts[0].on_it(holder.command)
    worker = worker_on(hosts[1], database, tmp_path)
    try:
        holder.start()
        eventually(lambda: "locked" in holder.said(), "the lock is held")
        hosts[0].pull()
        with pytest.raises(OperationalError, match="could not obtain lock"), transaction.atomic():
            Session.objects.select_for_update(nowait=True).get(pk=session.pk)
        worker.start()
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '90s'")
        until(start(session, owner), "completed")
    finally:
        for process in (holder, worker):
            process.kill()


HOLDS = """
import time
from django.db import transaction
from agents.locking import lock_session
with transaction.atomic():
    lock_session({})
    print("locked", flush=True)
    time.sleep(3600)
"""


def worker_on(host: Host, database: str, folder: Path) -> Worker:
    env = {"DATABASE_URL": database, "RUN_LEASE_SECONDS": LEASE}
    worker = Worker(log=folder / f"{host.name}.log", env=env)
    worker.command = host.on_it(worker.command)
    return worker
