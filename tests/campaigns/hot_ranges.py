"""Hot tablets of a cluster of real processes, over a real ZooKeeper and HDFS: which are split, which never, and why.

Three supervised tablet servers and a master with bounds so low that a test's clients pass them. One story after the
other, each with a table of its own, made at the beginning: a tablet is left alone for its first five minutes.

    range      random rows. Splits, the halves come to two servers; the normalizer, which looks all the time, merges
               nothing while the load lasts, and the halves once it has ended
    one row    nine tenths of one client's calls are about one row: no split, and that is told once
    moving     ascending rows: the same
    refused    SPLIT_ENABLED => 'false': nothing
    killed     random rows, and servers and the master are killed all the time
    leaving    random rows, and the server that has them is decommissioned, then taken back

Each client has rows of its own, knows what each of them must hold, and compares every answer and in the end the table
with that (tests/harness/promises.py). Printed besides: what `why` tells of each table's tablets.

    python -m tests.campaigns.hot_ranges [--seed N] [--story NAME ...]
"""

import argparse
import io
import os
import random
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import happybase

from hbtable.shell.main import ShellOptions, make_session
from tests.harness.free_ports import free_ports
from tests.harness.promises import Promises, RowState
from tests.harness.real_servers import running_hdfs, running_zookeeper
from tests.harness.role_processes import ProcessCluster
from tests.harness.waiting import eventually

YOUNG_SECONDS = 305.0
CLIENTS = 4
ROWS = 400
HOT_SECONDS = 9.0
SETTINGS = f"""
[maintenance]
hot_split_share = 0.05
hot_split_requests = 20.0
hot_split_seconds = {HOT_SECONDS}
[master]
balance_after_seconds = 1.0
[normalizer]
period_seconds = 3.0
min_age_seconds = 150.0
emptied_age_seconds = 150.0
min_tablets = 2
"""  # it takes two minutes until the master knows the load of a new tablet

Choose = Callable[[random.Random], int]


class Client(threading.Thread):
    """Puts, increments and gets of its own rows of one table, by one server's gateway after the other."""

    def __init__(self, number: int, table: str, ports: list[int], choose: Choose, stop: threading.Event) -> None:
        super().__init__()
        self.promises = Promises()
        self.wrong: list[str] = []
        self.errors: list[str] = []
        self.longest = 0.0
        self._number, self._table, self._ports, self._choose, self._stop_it = number, table, ports, choose, stop
        self._chance = random.Random(f"{table} {number}")

    def run(self) -> None:
        while not self._stop_it.is_set():
            try:
                with closing(happybase.Connection("127.0.0.1", self._chance.choice(self._ports), 60_000)) as connection:
                    self._talk(connection.table(self._table))
            except Exception as error:
                self.errors.append(repr(error)[:300])
                time.sleep(0.1)

    def _talk(self, table: happybase.Table) -> None:
        while not self._stop_it.is_set():
            row = b"row%06d-%d" % (self._choose(self._chance), self._number)
            began = time.monotonic()
            if self._chance.random() < 0.3:
                self._put(table, row)
            else:
                self._get(table, row)
            self.longest = max(self.longest, time.monotonic() - began)

    def _put(self, table: happybase.Table, row: bytes) -> None:
        self.settle(table)
        state: RowState = {b"f:v": self._chance.randbytes(40)}
        self.promises.begin({row: state})
        table.put(row, state)
        self.promises.answered()

    def _get(self, table: happybase.Table, row: bytes) -> None:
        if row in self.promises.unanswered:
            return
        found = table.row(row)
        if found != self.promises.state(row):
            self.wrong.append(f"{row!r}: {found} instead of {self.promises.state(row)}")

    def settle(self, table: happybase.Table) -> None:
        """Looks what became of a put that nobody answered; a later read must agree."""
        for row in list(self.promises.unanswered):
            found = table.row(row)
            if found not in (self.promises.state(row), self.promises.unanswered[row]):
                self.wrong.append(f"{row!r}: {found} after an unanswered put")
            self.promises.expected[row] = found
        self.promises.unanswered = {}


class Stories:
    """The cluster and what is asked of it."""

    def __init__(self, cluster: ProcessCluster, seed: int) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.failed: list[str] = []

    def shell(self, script: str) -> str:
        stream = io.StringIO()
        port = self.cluster.servers[-1].port
        session = make_session(ShellOptions(f"127.0.0.1:{port}"), lambda _: True, stream=stream)
        with closing(session.context.server):
            for line in script.splitlines():
                session.execute(line)
        return stream.getvalue()

    def starts(self, table: str) -> list[bytes]:
        with closing(self.cluster.servers[-1].connect()) as connection:
            return [region["start_key"] for region in connection.table(table).regions()]

    def owners(self, table: str) -> list[int]:
        with closing(self.cluster.servers[-1].connect()) as connection:
            return [region["port"] for region in connection.table(table).regions()]

    def under_load(self, table: str, choose: Choose, body: Callable[[], None], count: int = CLIENTS) -> None:
        stop = threading.Event()
        ports = [server.port for server in self.cluster.servers]
        clients = [Client(number, table, ports, choose, stop) for number in range(count)]
        began = time.monotonic()
        for client in clients:
            client.start()
        try:
            body()
        finally:
            stop.set()
            for client in clients:
                client.join()
        seconds = time.monotonic() - began
        self._look(table, clients, seconds)

    def _look(self, table: str, clients: list[Client], seconds: float) -> None:
        with closing(self.cluster.servers[-1].connect()) as connection:
            found: dict[bytes, RowState] = dict(connection.table(table).scan())
        puts = sum(client.promises.acknowledged for client in clients)
        errors = [error for client in clients for error in client.errors]
        longest = max(client.longest for client in clients)
        print(
            f"{table}: {puts} puts acknowledged in {seconds:.0f} s, longest call {longest:.2f} s, "
            f"{len(errors)} errors {sorted(set(errors))[:3]}"
        )
        for number, client in enumerate(clients):
            mine = {row: state for row, state in found.items() if row.endswith(b"-%d" % number)}
            self.failed += [f"{table}: {text}" for text in client.wrong + client.promises.verify(mine)]
        print("  tablets from", self.starts(table), "on", self.owners(table), flush=True)

    def expect(self, holds: bool, what: str) -> None:
        print("  ok: " if holds else "  WRONG: ", what, flush=True)
        if not holds:
            self.failed.append(what)

    def hot_range(self) -> None:
        def body() -> None:
            eventually(lambda: len(self.starts("range")) == 2, 60, "a split")
            eventually(lambda: len(set(self.owners("range"))) == 2, 120, "halves on two servers")
            time.sleep(200)  # the normalizer looks each 3 s, from 150 s of age on
            self.expect(len(self.starts("range")) >= 2, "nothing was merged under load")

        self.under_load("range", lambda chance: chance.randrange(ROWS), body)
        count = len(self.starts("range"))
        eventually(lambda: len(self.starts("range")) < count, 300, "a merge without load")
        self.expect(True, "the halves were merged when nobody asked any more")

    def one_row(self) -> None:
        def choose(chance: random.Random) -> int:
            return 150 if chance.random() < 0.9 else chance.randrange(ROWS)

        self.under_load("one", choose, lambda: time.sleep(60), 1)
        self.expect(len(self.starts("one")) == 1, "one row is not split")

    def moving(self) -> None:
        began = time.monotonic()
        self.under_load(
            "moving",
            lambda chance: int((time.monotonic() - began) * 30) + chance.randrange(10),
            lambda: time.sleep(60),
        )
        self.expect(len(self.starts("moving")) == 1, "a load that moves on is not split")

    def refused(self) -> None:
        self.under_load("refused", lambda chance: chance.randrange(ROWS), lambda: time.sleep(40))
        self.expect(len(self.starts("refused")) == 1, "SPLIT_ENABLED => 'false' is not split")

    def killed(self) -> None:
        def body() -> None:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                time.sleep(self.chance.uniform(3, 8))
                victim = self.chance.choice([*self.cluster.masters, *self.cluster.servers[:-1]])
                for child in victim.children():
                    with suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
            eventually(lambda: len(self.starts("killed")) >= 2, 90, "a split in the end")

        self.under_load("killed", lambda chance: chance.randrange(ROWS), body)
        self.expect(len(self.starts("killed")) >= 2, "it was split among deaths")

    def leaving(self) -> None:
        def body() -> None:
            owner = self.owners("leaving")[0]
            told = re.search(r"^server: (\S+)", self.shell("why 'leaving', 'row'"), re.MULTILINE)
            assert told is not None
            name = told[1]
            print(self.shell(f"decommission_regionservers '{name}', true"))
            eventually(lambda: owner not in self.owners("leaving"), 60, "the tablets to leave")
            eventually(lambda: len(self.starts("leaving")) >= 2, 90, "a split")
            self.expect(owner not in self.owners("leaving"), "no half came to the server that is emptied")
            print(self.shell(f"recommission_regionserver '{name}'"))

        self.under_load("leaving", lambda chance: chance.randrange(ROWS), body)


TABLES = {
    "range": "range",
    "one": "one row",
    "moving": "moving",
    "refused": "refused",
    "killed": "killed",
    "leaving": "leaving",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--story", action="append", choices=list(TABLES), default=[])
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="hbtable-hot-") as folder,
        running_hdfs(3) as hdfs,
        running_zookeeper() as zookeeper,
        ProcessCluster(Path(folder), zookeeper.address, "/hot", hdfs.hdfs("/hot"), 10.0, SETTINGS) as cluster,
    ):
        cluster.start_master("--supervised")
        for _ in range(3):
            cluster.start_server("--supervised", "--port", str(free_ports(1)))
        cluster.wait_until_served()
        stories = Stories(cluster, seed)
        for table in TABLES:
            print(stories.shell(f"create '{table}', 'f'"))
        merged = "alter 'range', NORMALIZATION_ENABLED => 'true'\nalter 'refused', SPLIT_ENABLED => 'false'"
        print(stories.shell(merged), flush=True)
        time.sleep(YOUNG_SECONDS)
        run = {
            "one": stories.one_row,
            "moving": stories.moving,
            "refused": stories.refused,
            "killed": stories.killed,
            "range": stories.hot_range,
            "leaving": stories.leaving,
        }
        for table, story in run.items():
            if arguments.story and table not in arguments.story:
                continue
            print(f"--- {table}", flush=True)
            try:
                story()
            except AssertionError as error:
                stories.failed.append(f"{table}: {error}")
                print("  WRONG:", error)
            print(stories.shell(f"why '{table}', 'row000000'\nwhy '{table}', 'row000399-9'\nstatus"), flush=True)
        if stories.failed:
            for role in (*cluster.masters, *cluster.servers):
                print(f"--- {role.errors.name}", *role.log().splitlines()[-60:], sep="\n")
            raise SystemExit("\n".join(stories.failed[:20]))
    print(f"nothing was lost, and every split had its reason (seed {seed})")


if __name__ == "__main__":
    main()
