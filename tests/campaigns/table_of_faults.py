"""Causes each fault of docs/operations.md ("When something is away", "What to watch") on a real ZooKeeper and HDFS, and
compares what clients, `status`, /metrics, /readyz and the logs show with what the page says.

    python -m tests.campaigns.table_of_faults [--fault NAME ...]

A client puts a row after the other all the time and notes what it was told; in the end every row that was acknowledged
is there. Printed: a line for each sentence of the page that was looked at.
"""

import argparse
import io
import re
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import happybase
from Hbase_thrift import IOError as HBaseError

from hbtable.shell.main import ShellOptions, make_session
from tests.harness.real_servers import HdfsServers, ZooKeeperServer, free_ports, running_hdfs, running_zookeeper
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.waiting import eventually

SESSION_SECONDS: Final = 8.0
GIVE_UP_SECONDS: Final = 30.0
SETTINGS: Final = f"[log]\ngive_up_seconds = {GIVE_UP_SECONDS}\n[master]\nbalance_after_seconds = 1.0\n"
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


class Faults:
    def __init__(self, cluster: ProcessCluster, hdfs: HdfsServers, zookeeper: ZooKeeperServer) -> None:
        self.cluster, self.hdfs, self.zookeeper = cluster, hdfs, zookeeper
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

    # ---------------------------------------------------------------- the faults

    def a_tablet_server(self) -> None:
        master, victim = self.master(), self.living()[0]
        deaths = self.metric(master, "hbtable_server_deaths_total")
        recoveries = self.metric(master, "hbtable_log_recoveries_total")
        seen = len(master.log())
        self.putter.forget()
        victim.kill()

        def logged(*texts: str) -> bool:
            log = master.log()[seen:]
            return all(text in log for text in texts)

        self.comes(lambda: logged("is dead: nobody holds its lock"), "the master's log says who is dead")
        self.comes(lambda: logged("needs the log of", "is recovered"), "and waits for its log, which is recovered")
        self.comes(lambda: logged("everything is served"), "everything is served")
        self.comes(lambda: self.metric(master, "hbtable_unserved_tablets") == 0, "hbtable_unserved_tablets is 0")
        self.say(self.metric(master, "hbtable_server_deaths_total") == deaths + 1, "one death is counted")
        self.say(self.metric(master, "hbtable_log_recoveries_total") == recoveries + 1, "one recovery is counted")
        self.goes_on("afterwards")
        self.comes(lambda: " 0 dead" in self.shell("status"), "status lists no dead server any more")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {self.putter.errors[:2]}")
        self.start_server()

    def a_silent_server(self) -> None:
        master, victim = self.master(), self.living()[0]
        self.putter.forget()
        victim.freeze()
        try:
            silent = 'hbtable_tablet_servers{state="silent"}'
            self.comes(lambda: self.metric(master, silent) >= 1, "a frozen server is silent", 2 * SESSION_SECONDS)
            self.comes(lambda: self.metric(master, silent) == 0, "its session ends, and it is dead")
            self.goes_on("without it")
        finally:
            victim.thaw()
        self.comes(lambda: victim.process.poll() == 3, "it ends with exit code 3 as it goes on")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {self.putter.errors[:2]}")
        self.start_server()

    def the_master(self) -> None:
        self.putter.forget()
        old = self.master()
        old.kill()
        self.goes_on("without a master")
        with closing(self.living()[0].connect(10_000)) as connection:
            try:
                connection.create_table("unmade", {"f": {}})
            except Exception as error:
                self.say(True, f"a table cannot be made: {error!r}"[:250])
            else:
                self.say(False, "a table was made without a master")
        self.say(not self.putter.errors and self.putter.longest < 2.0, f"nobody waits: {self.putter.longest:.2f} s")
        victim = self.living()[0]
        victim.kill()
        time.sleep(2 * SESSION_SECONDS)
        self.say(self.still_has(victim), "its tablets wait for the next master")
        self.start_master()
        self.comes(lambda: self.metric(self.master(), "hbtable_is_master") == 1, "the next master")
        self.comes(lambda: not self.still_has(victim), "which gives them to others")
        self.goes_on("afterwards")
        self.start_server()

    def zookeeper_shortly(self) -> None:
        self.putter.forget()
        self.zookeeper.freeze()
        time.sleep(SESSION_SECONDS / 4)
        self.zookeeper.thaw()
        self.goes_on("after ZooKeeper was away for a quarter of a session")
        self.say(not self.putter.errors, f"nobody saw it: {self.putter.errors[:2]}, {self.putter.longest:.2f} s")

    def zookeeper_long(self) -> None:
        self.putter.forget()
        self.zookeeper.freeze()
        time.sleep(3 * SESSION_SECONDS)
        before = len(self.putter.acknowledged)
        time.sleep(2)
        self.say(len(self.putter.acknowledged) == before, "nothing is acknowledged")
        print(f"  roles that ended meanwhile: {[one.process.poll() for one in self.roles()]}")
        self.zookeeper.thaw()
        time.sleep(3)
        ended = [one for one in self.roles() if one.process.poll() is not None]
        print(f"  and after it came back: {[(one.errors.name, one.process.poll()) for one in ended]}")
        self.say(all(one.process.poll() == 3 for one in ended), "who lost its lock ended with exit code 3")
        if not [one for one in self.cluster.masters if one.process.poll() is None]:
            self.start_master()
        while len(self.living()) < 3:
            self.start_server()
        self.goes_on("once ZooKeeper is back, and roles were started")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {sorted(set(self.putter.errors))[:3]}")

    def a_datanode(self) -> None:
        self.putter.forget()
        self.hdfs.kill_datanode(1)
        try:
            time.sleep(20)
            self.goes_on("with a DataNode less")
            self.say(self.putter.longest < 6.0, f"one long commit: {self.putter.longest:.1f} s")
            self.comes(
                lambda: all(self.metric(one, "hbtable_log_copies") == 2 for one in self.living()), "two copies again"
            )
            left = [
                one.errors.name for one in self.living() if re.search(r"is left at byte|another segment", one.log())
            ]
            self.say(bool(left), f"the segment that was left is named by {left}")
            self.hdfs.kill_datanode(2)
            self.comes(
                lambda: any(self.metric(one, "hbtable_log_copies") < 2 for one in self.living()),
                "hbtable_log_copies below 2 with one DataNode left",
            )
            told = "copies instead of 2"
            self.comes(lambda: any(told in one.log() for one in self.living()), f"a log says `{told}`")
        finally:
            for number in (1, 2):
                if not self.hdfs.place.runs(f"datanode{number}"):
                    self.hdfs.restart_datanode(number)
        self.comes(
            lambda: all(self.metric(one, "hbtable_log_copies") == 2 for one in self.living()),
            "two copies when they are back",
            2 * LONG,
        )

    def the_namenode(self) -> None:
        while len(self.living()) < 3:
            self.start_server()
        self.putter.forget()
        self.hdfs.freeze_namenode()
        try:
            time.sleep(8)
            before = len(self.putter.acknowledged)
            time.sleep(5)
            self.say(len(self.putter.acknowledged) == before, "nothing is acknowledged")
            self.say(len(self.living()) == 3, "every tablet server waits, within log.give_up_seconds")
            self.comes(lambda: len(self.living()) < 3, "a tablet server stops", 3 * GIVE_UP_SECONDS)
            ended = [one for one in self.cluster.servers if one.process.poll() is not None][-1]
            print(f"  {ended.errors.name}: {ended.process.poll()}: {ended.log().splitlines()[-1][:300]}")
        finally:
            self.hdfs.thaw_namenode()
        self.hdfs.wait_until_writable()
        if not [one for one in self.cluster.masters if one.process.poll() is None]:
            print("  the master ended as well")
            self.start_master()
        while len(self.living()) < 3:
            self.start_server()
        self.goes_on("when the NameNode is back")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {sorted(set(self.putter.errors))[:3]}")

    # ----------------------------------------------------------------

    def roles(self) -> list[RoleProcess]:
        return [*self.cluster.masters[-1:], *self.cluster.servers[-3:]]

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


FAULTS: Final = {
    "tablet server": Faults.a_tablet_server,
    "silent server": Faults.a_silent_server,
    "master": Faults.the_master,
    "ZooKeeper shortly": Faults.zookeeper_shortly,
    "DataNode": Faults.a_datanode,
    "NameNode": Faults.the_namenode,
    "ZooKeeper": Faults.zookeeper_long,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", action="append", choices=list(FAULTS), default=[])
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="hbtable-faults-") as folder,
        running_hdfs(3) as hdfs,
        running_zookeeper() as zookeeper,
        ProcessCluster(
            Path(folder),
            zookeeper.address,
            "/faults",
            hdfs.hdfs("/faults"),
            SESSION_SECONDS,
            SETTINGS + f'[hdfs]\nweb_addresses = "localhost:{hdfs.http_port}"\n',
        ) as cluster,
    ):
        faults = Faults(cluster, hdfs, zookeeper)
        faults.start_master()
        for _ in range(3):
            faults.start_server()
        cluster.wait_until_served()
        cluster.create_table("t", [b"%02d" % number for number in range(10, 100, 10)])
        faults.putter.start()
        for name, cause in FAULTS.items():
            if arguments.fault and name not in arguments.fault:
                continue
            print(f"--- {name}", flush=True)
            cause(faults)
            eventually(lambda: faults.metric(faults.master(), "hbtable_unserved_tablets") == 0, LONG, "all is served")
        faults.check_rows()
        if faults.wrong:
            raise SystemExit("\n".join(faults.wrong))
    print("every fault looked as the page says")


if __name__ == "__main__":
    main()
