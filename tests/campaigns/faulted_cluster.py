"""A cluster of real processes under a client that puts all the time, and what its operator would look at.

For table_of_faults.py.
"""

import io
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Final

import happybase
from Hbase_thrift import IOError as HBaseError

from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ServerError
from hbtable.shell.main import ShellOptions, make_session
from tests.harness.free_ports import free_ports
from tests.harness.real_servers import HdfsServers
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.waiting import eventually
from tests.harness.zookeeper_ensemble import ZooKeeperEnsemble

LONG: Final = 90.0


class Putter(threading.Thread):
    """`pauses`: (when a put ended, how long it took or waited since the last one that was acknowledged)."""

    def __init__(self, ports: Callable[[], list[int]]) -> None:
        super().__init__(daemon=True)
        self.acknowledged: set[bytes] = set()
        self.errors: list[str] = []
        self.longest = 0.0
        self.last = time.monotonic()
        self.halt = threading.Event()
        self._ports = ports

    def forget(self) -> None:
        self.longest, self.errors, self.last = 0.0, [], time.monotonic()

    def run(self) -> None:
        number = 0
        while not self.halt.is_set():
            for port in self._ports()[-1:]:
                try:
                    with closing(happybase.Connection("127.0.0.1", port, timeout=90_000)) as connection:
                        table = connection.table("t")
                        while not self.halt.is_set():
                            number += 1
                            row = b"%02d-%d" % (number * 7 % 100, number)
                            table.put(row, {b"f:v": row})
                            now = time.monotonic()
                            self.longest, self.last = max(self.longest, now - self.last), now
                            self.acknowledged.add(row)
                            time.sleep(0.02)
                except Exception as error:
                    self.errors.append(repr(error)[:400])
                    time.sleep(0.1)


class FaultedCluster:
    """A cluster that a client writes to, and what is looked at while a fault is caused."""

    def __init__(self, cluster: ProcessCluster, hdfs: HdfsServers, ensemble: ZooKeeperEnsemble) -> None:
        self.cluster, self.hdfs, self.ensemble = cluster, hdfs, ensemble
        self.wrong: list[str] = []
        self.putter = Putter(lambda: [server.port for server in self.living()])

    def living(self) -> list[RoleProcess]:
        return [server for server in self.cluster.servers if server.process.poll() is None]

    def master(self) -> RoleProcess:
        return next(one for one in self.cluster.masters if one.process.poll() is None)

    def shell(self, line: str) -> str:
        stream = io.StringIO()
        session = make_session(ShellOptions(f"127.0.0.1:{self.living()[-1].port}"), lambda _: True, stream=stream)
        with closing(session.context.server):
            session.execute(line)
        return stream.getvalue()

    def page(self, role: RoleProcess, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{role.http_port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, repr(error)

    def metric(self, role: RoleProcess, name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.page(role, "/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else -1.0

    def say(self, holds: bool, what: str) -> None:
        print("  ok:    " if holds else "  WRONG: ", what, flush=True)
        if not holds:
            self.wrong.append(what)

    def comes(self, holds: Callable[[], bool], what: str, seconds: float = LONG) -> float:
        """Seconds until it held."""
        began = time.monotonic()
        try:
            eventually(holds, seconds, what)
        except AssertionError:
            self.say(False, f"{what}: not within {seconds:.0f} s")
        else:
            self.say(True, f"{what}, after {time.monotonic() - began:.1f} s")
        return time.monotonic() - began

    def goes_on(self, what: str) -> None:
        before = len(self.putter.acknowledged)
        self.comes(lambda: len(self.putter.acknowledged) > before + 20, f"puts go on {what}")

    def freeze_zookeepers(self, *members: int) -> None:
        for member in members:
            self.ensemble.freeze(member)

    def thaw_zookeepers(self, *members: int) -> None:
        for member in members:
            self.ensemble.thaw(member)

    def move(self, table: str, server: RoleProcess) -> None:
        """Its only tablet. What the order itself ends with is no matter."""
        with closing(ShellConnection(f"127.0.0.1:{self.living()[-1].port}")) as connection:
            [tablet] = connection.admin("adminTablets", table.encode())
            with suppress(ServerError):
                connection.admin("adminMove", table.encode(), tablet.tablet_id, server.incarnation.encode())

    def is_there(self, table: str) -> bool:
        """Its first row can be read."""
        try:
            with closing(self.living()[-1].connect(3_000)) as connection:
                connection.table(table).row(b"row")
        except Exception:
            return False
        return True

    def start_what_ended(self) -> None:
        if not [one for one in self.cluster.masters if one.process.poll() is None]:
            self.start_master()
        while len(self.living()) < 3:
            self.start_server()

    def still_has(self, dead: RoleProcess) -> bool:
        """As METADATA says, or nobody can ask METADATA."""
        try:
            return dead.port in self.cluster.owners("t")
        except HBaseError:
            return True

    def start_server(self) -> None:
        port = free_ports(1)
        self.cluster.start_server("--http-port", str(port)).http_port = port

    def start_master(self) -> None:
        port = free_ports(1)
        self.cluster.start_master("--http-port", str(port)).http_port = port

    def check_rows(self) -> None:
        self.putter.halt.set()
        self.putter.join()
        with closing(self.living()[0].connect()) as connection:
            found = {row for row, _ in connection.table("t").scan(batch_size=1000)}
        lost = self.putter.acknowledged - found
        self.say(
            not lost, f"all {len(self.putter.acknowledged)} rows that were acknowledged are there; {len(lost)} lost"
        )
