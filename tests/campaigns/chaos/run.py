"""One run: clients, operators and faults over a cluster, then everything that must be there is looked at."""

import math
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field

import happybase

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.shell.connection import ShellConnection
from tests.campaigns.chaos import links, rows
from tests.campaigns.chaos.faults import APART_SECONDS, GIVE_UP_SECONDS, Faults
from tests.campaigns.chaos.operators import Operator
from tests.harness.free_ports import free_ports
from tests.harness.promises import RowState
from tests.harness.real_servers import HdfsServers
from tests.harness.role_processes import ProcessCluster
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.zookeeper_ensemble import ZooKeeperEnsemble

SETTINGS = f"[log]\ngive_up_seconds = {GIVE_UP_SECONDS}\n[master]\nbalance_after_seconds = 1.0\n"
SERVERS = 3
_GO_ON_SECONDS = 180.0
_CLOCK_MILLIS = int(1000 * (APART_SECONDS + 30))  # a busy counter's times run ahead of the clock by a little


@dataclass
class Plan:
    """`seconds`, `faults` and `cells`: the faults end when all three are reached, and after `most_seconds` in any case.
    `kinds`: of Faults, all by default. `pause_seconds`: of each writer after each batch."""

    seed: int
    seconds: float = 0.0
    faults: int = 0
    cells: int = 0
    writers: int = 3
    pause_seconds: float = 0.0
    kinds: list[str] = field(default_factory=list)
    most_seconds: float = math.inf

    def is_over(self, faults: int, cells: int, seconds: float) -> bool:
        """Whether there were enough of them. How many cells a machine takes is not known beforehand: ten million would
        need hours where others use it as well, and what was written is to be looked at all the same."""
        enough = cells >= self.cells and faults >= self.faults and seconds >= self.seconds
        return enough or seconds >= self.most_seconds

    def missed(self, faults: int, cells: int) -> str:
        """What was not reached, for people; "": all was."""
        left = [
            f"{found} of {asked} {what}"
            for found, asked, what in ((faults, self.faults, "faults"), (cells, self.cells, "cells"))
            if found < asked
        ]
        return f"the time was over after {' and '.join(left)}" if left else ""


def start_roles(cluster: ProcessCluster) -> None:
    """Two masters and three tablet servers, supervised, each on a port that it keeps. The cluster has `own_clocks`."""
    cluster.start_master("--supervised")
    for _ in range(SERVERS):
        cluster.start_server("--supervised", "--port", str(free_ports(1)))
    cluster.wait_until_served()
    cluster.begin_master("--supervised")


class Run:
    def __init__(self, cluster: ProcessCluster, hdfs: HdfsServers, ensemble: ZooKeeperEnsemble, plan: Plan) -> None:
        self.violations: list[str] = []
        self._cluster, self._hdfs, self._plan = cluster, hdfs, plan
        self._lists = links.Lists(plan.seed)
        self._stop = threading.Event()
        ports = [server.port for server in cluster.servers]
        self._ports = ports
        self._writers = [
            links.Writer(self._lists, number, ports, self._stop, plan.pause_seconds) for number in range(plan.writers)
        ]
        self._walker = links.Walker(self._lists, self._writers, ports, self._stop)
        self._owners = [rows.Owner(number, plan.seed, ports, self._stop) for number in range(2)]
        self._raisers = [rows.Raiser(number, plan.seed, ports, self._stop) for number in range(2)]
        self._operator = Operator(plan.seed, ports, self._stop)
        self._chance = random.Random(f"faults {plan.seed}")
        self._faults = Faults(cluster, hdfs, ensemble, self._chance)
        self._caused: Counter[str] = Counter()
        self._began_millis = time.time_ns() // 1_000_000

    def run(self) -> None:
        """`violations` holds all that was seen, on return."""
        self._make_tables()
        clients = [*self._writers, self._walker, *self._owners, *self._raisers, self._operator]
        began = time.monotonic()
        for client in clients:
            client.start()
        try:
            self._cause(began)
        finally:
            self._stop.set()
            deadline = time.monotonic() + 4 * SOON_SECONDS  # of all together
            for client in clients:
                client.join(max(0.0, deadline - time.monotonic()))
        hanging = [client.name for client in clients if client.is_alive()]
        if hanging:
            self.violations.append(f"calls that never ended: {hanging}")
        self._report(time.monotonic() - began)
        self._hdfs.put_right()
        self._operator.end()
        self._verify()

    def _make_tables(self) -> None:
        splits = [b"%02x" % (16 * number) for number in range(2, 16, 4)]
        families = {links.TABLE: [b"f"], rows.TABLE: [b"f", b"g"], rows.COUNTERS: [b"f"]}
        with closing(ShellConnection(f"127.0.0.1:{self._ports[0]}")) as connection:
            for name, names in families.items():
                table = AdminTable(name.encode(), families=[AdminFamily(one) for one in names])
                connection.admin("adminCreateTable", table, splits)

    def _cause(self, began: float) -> None:
        plan = self._plan
        self._go_on()
        for number, kind in enumerate(self._faults.in_turn(plan.kinds or list(self._faults.kinds)), 1):
            cells = sum(writer.acknowledged for writer in self._writers)
            if plan.is_over(number - 1, cells, time.monotonic() - began):
                return
            for writer in self._writers:
                writer.longest = 0.0
            told = self._faults.kinds[kind]()
            self._caused[kind] += 1
            if self._chance.random() < 0.8:  # else the next fault meets what this one has left
                self._go_on()
            time.sleep(self._chance.uniform(0.2, 3))
            cells = sum(writer.acknowledged for writer in self._writers)
            longest = max(writer.longest for writer in self._writers)
            print(
                f"{time.strftime('%H:%M:%S')} {number} {told}: longest pause {longest:.1f} s, "
                f"{cells} of {plan.cells} cells",
                flush=True,
            )
            if self.violations:
                return

    def _go_on(self) -> None:
        before = [writer.acknowledged for writer in self._writers]
        try:
            eventually(
                lambda: all(w.acknowledged > old for w, old in zip(self._writers, before, strict=True)),
                _GO_ON_SECONDS,
                "writes acknowledged after a fault",
            )
        except AssertionError as error:
            self.violations.append(str(error))

    def _report(self, seconds: float) -> None:
        faults, cells = sum(self._caused.values()), sum(writer.acknowledged for writer in self._writers)
        print(f"{faults} faults in {seconds:.0f} s: {dict(self._caused)}")
        print(self._plan.missed(faults, cells) or "all that was asked for was reached")
        print(
            f"{sum(w.acknowledged for w in self._writers)} cells, "
            f"{sum(w.errors for w in self._writers)} errors of writers; "
            f"{self._walker.steps} links followed meanwhile, {self._walker.errors} errors"
        )
        for what, clients in (("changes of rows", self._owners), ("raises", self._raisers)):
            errors = sum((client.errors for client in clients), Counter[str]())
            print(f"{sum(client.acknowledged for client in clients)} {what}, errors {dict(errors)}")
        print(f"{sum(owner.reads for owner in self._owners)} reads of rows, {self._in_doubt()} changes in doubt")
        print(f"operators: {dict(self._operator.done)}, failed {dict(self._operator.failed)}", flush=True)
        for name, reason in self._operator.reasons.items():
            print(f"  {name}: {reason}", flush=True)

    def _in_doubt(self) -> int:
        return sum(len(owner.doubtful) for owner in self._owners) + sum(
            sum(raiser.doubtful.values()) for raiser in self._raisers
        )

    def _verify(self) -> None:
        self.violations += [text for writer in self._writers for text in writer.not_to_retry[:3]]
        self.violations += self._walker.wrong
        eventually(self._answers, 3 * SOON_SECONDS, "every server answers again")
        began = time.monotonic()
        found = links.walk_all(self._lists, self._ports[-1], 2)
        self.violations += links.violations(self._lists, self._writers, found)
        print(f"walked {found.cells} cells in {time.monotonic() - began:.0f} s", flush=True)
        table = self._whole(rows.TABLE)
        for owner in self._owners:
            self.violations += owner.verify(table)
        self.violations += self._times()
        self.violations += rows.counted_wrongly(self._raisers, self._whole(rows.COUNTERS))
        self._check_files()
        for role in (*self._cluster.masters, *self._cluster.servers):
            log = role.log()
            for place in list(re.finditer("Traceback", log))[:2]:
                self.violations.append(f"{role.errors.name}: {log[max(0, place.start() - 300) : place.start() + 1500]}")

    def _answers(self) -> bool:
        try:
            for port in self._ports:
                with closing(happybase.Connection("127.0.0.1", port, 60_000)) as connection:
                    connection.table(rows.COUNTERS).row(b"00")
        except Exception:
            return False
        return True

    def _whole(self, name: str) -> dict[bytes, RowState]:
        with closing(happybase.Connection("127.0.0.1", self._ports[0], 120_000)) as connection:
            return dict(connection.table(name).scan(batch_size=500))

    def _times(self) -> list[str]:
        """Cells whose times nobody's clock can have had that was to be believed."""
        least, most = self._began_millis - _CLOCK_MILLIS, time.time_ns() // 1_000_000 + _CLOCK_MILLIS
        with closing(happybase.Connection("127.0.0.1", self._ports[0], 120_000)) as connection:
            found = connection.table(rows.TABLE).scan(include_timestamp=True, batch_size=500)
            return [
                f"{row!r}, {column!r} has the time {millis}, which lies before {least} or after {most}"
                for row, cells in found
                for column, (_, millis) in cells.items()
                if not least <= millis <= most
            ]

    def _check_files(self) -> None:
        """Every file that something depends on, read while the cluster serves."""
        command = [sys.executable, "-m", "hbtable", "check", "--config", str(self._cluster.config)]
        done = subprocess.run(command, capture_output=True, text=True)
        print(f"hbtable check: exit {done.returncode}; {done.stdout.strip().splitlines()[-1:]}", flush=True)
        if done.returncode:
            self.violations.append(f"hbtable check: {done.stdout[-1500:]}{done.stderr[-1500:]}")
