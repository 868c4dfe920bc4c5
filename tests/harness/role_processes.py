"""A cluster of real processes for tests: masters and tablet servers started by the command line, over a real ZooKeeper
and any file system."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType

import happybase
from Hbase_thrift import IOError as HBaseError

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.shell.connection import ShellConnection
from tests.harness.free_ports import free_ports
from tests.harness.process_reaper import end_role, process_reaper
from tests.harness.waiting import SOON_SECONDS, eventually, freeze, in_time, runs
from tests.harness.wrong_clock import WrongClock


class RoleProcess:
    """One `hbtable master` or `hbtable tabletserver`. `release`: the folder with the package of an older hbtable, which
    is run in place of this one."""

    def __init__(
        self,
        role: str,
        arguments: list[str],
        errors: Path,
        release: Path | None = None,
        clock: WrongClock | None = None,
    ) -> None:
        self.errors = errors
        self.clock = clock
        self.release = release
        self.port = 0
        """Of a tablet server's gateway, or one without tablets."""
        self.http_port = 0
        """Of the pages, if there are any."""
        self.rpc_port = 0
        self.incarnation = ""
        self._pages = role == "thrift"
        command = [sys.executable, "-m", "hbtable", role, *arguments]
        environment = environment_of(release) if clock is None else {**os.environ, **clock.environment()}
        with errors.open("a") as file:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=file, text=True, cwd=release, env=environment
            )
        process_reaper().add(f"role-{self.process.pid}", end_role(self.process.pid))

    def wait_until_ready(self) -> "RoleProcess":
        """Until the banner is printed; AssertionError with the log when the process ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"Thrift1 on [^:]+:(\d+)", line):
                self.port = int(found.group(1))
            if found := re.search(r"tablet server (\S+):", line):
                self.incarnation = found.group(1)
            if found := re.search(r"other roles on [^:]+:(\d+)", line):
                self.rpc_port = int(found.group(1))
            if found := re.search(r"http://[^:]+:(\d+)/metrics", line):
                self.http_port = int(found.group(1))
            if (line.startswith("files ") and not self._pages) or line.startswith("pages "):
                return self
        raise AssertionError(f"it did not start (exit code {self.process.wait()}): {self.log()[-3000:]}")

    def log(self) -> str:
        return self.errors.read_text()

    def connect(self, timeout_millis: int = 120000) -> happybase.Connection:
        """Its calls wait longer than the server, which gives up after a minute and says why."""
        return happybase.Connection("127.0.0.1", self.port, timeout=timeout_millis)

    def freeze(self) -> None:
        """SIGSTOP; nothing of it runs on return."""
        freeze(self.process.pid)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def children(self) -> list[int]:
        """The process ids of a supervisor's children."""
        try:
            return [
                int(one)
                for one in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            ]
        except (FileNotFoundError, ProcessLookupError):
            return []

    def child(self) -> int:
        """The process id of a supervisor's child, once there is one."""
        found: list[int] = []
        eventually(lambda: bool(found.extend(self.children()) or found), SOON_SECONDS, "a child of the supervisor")
        return found[0]

    def stop(self, timeout_seconds: float = 2 * SOON_SECONDS) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_seconds)

    def end(self) -> None:
        """Whatever state it is in, a supervisor's child included."""
        children = self.children()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        for child in children:
            with suppress(ProcessLookupError):  # it stops by itself when its supervisor is dead
                os.kill(child, signal.SIGKILL)
            eventually(lambda child=child: not runs(child), SOON_SECONDS, "the end of a supervisor's child")
        if self.process.stdout is not None:
            self.process.stdout.close()
        process_reaper().remove(f"role-{self.process.pid}")


def environment_of(release: Path | None) -> dict[str, str] | None:
    """Of a process that is to run the hbtable of `release`; None: this one's."""
    return None if release is None else {**os.environ, "PYTHONPATH": str(release)}


class ProcessCluster:
    """`masters` and `servers` hold what was started, dead ones included. All of it is ended by the with statement."""

    def __init__(
        self,
        folder: Path,
        zookeeper: str,
        root: str,
        files: str,
        session_seconds: float = in_time(3.0),
        settings: str = "",
        own_clocks: bool = False,
    ) -> None:
        """A machine that stands still for longer than a session ends the roles that nobody supervises: sessions of
        tests that do not measure them are longer in CI. `settings`: more of the configuration file. `own_clocks`: each
        role has a wall clock that can be set."""
        self.session_seconds = session_seconds
        self.zookeeper = zookeeper
        self.root = root
        self.masters: list[RoleProcess] = []
        self.servers: list[RoleProcess] = []
        self.gateways: list[RoleProcess] = []
        self._folder = folder
        self._own_clocks = own_clocks
        self.config = folder / "cluster.toml"
        self.config.write_text(
            f'[cluster]\nzookeeper = "{zookeeper}"\nroot = "{root}"\nfiles = "{files}"\n'
            "[listen]\nthrift_port = 0\ntabletserver_port = 0\nmaster_port = 0\n"
            f"[session]\nsession_seconds = {session_seconds}\ncall_seconds = {in_time(4.0)}\n{settings}"
        )

    def start_master(self, *arguments: str, release: Path | None = None) -> RoleProcess:
        return self._start("master", self.masters, arguments, release).wait_until_ready()

    def begin_master(self, *arguments: str) -> RoleProcess:
        """It may not be ready yet."""
        return self._start("master", self.masters, arguments)

    def start_server(self, *arguments: str, release: Path | None = None) -> RoleProcess:
        return self._start("tabletserver", self.servers, arguments, release).wait_until_ready()

    def start_gateway(self, *arguments: str) -> RoleProcess:
        """One without tablets, with pages."""
        if "--http-port" not in arguments:
            arguments = (*arguments, "--http-port", str(free_ports(1)))
        return self._start("thrift", self.gateways, arguments).wait_until_ready()

    def start(self, servers: int = 3) -> "ProcessCluster":
        """One master and `servers` tablet servers, all started at once; METADATA is served on return."""
        starting = [self._start("master", self.masters, ())]
        starting += [self._start("tabletserver", self.servers, ()) for _ in range(servers)]
        for role in starting:
            role.wait_until_ready()
        self.wait_until_served()
        return self

    def wait_until_served(self) -> None:
        """Until the newest master has nothing left to do."""
        eventually(lambda: "everything is served" in self.masters[-1].log(), 2 * SOON_SECONDS, "METADATA served")

    def connect(self) -> happybase.Connection:
        """To a tablet server that runs."""
        return next(one for one in self.servers if one.process.poll() is None).connect()

    def create_table(self, name: str, split_rows: list[bytes]) -> None:
        """One family "f"; a tablet more than there are split rows."""
        server = next(one for one in self.servers if one.process.poll() is None)
        with closing(ShellConnection(f"127.0.0.1:{server.port}")) as connection:
            connection.admin("adminCreateTable", AdminTable(name.encode(), families=[AdminFamily(b"f")]), split_rows)

    def refused_master(self, *arguments: str) -> tuple[int, str]:
        """The exit code and what was said, of one that does not start."""
        return self._refused("master", arguments)

    def refused_server(self, *arguments: str) -> tuple[int, str]:
        return self._refused("tabletserver", arguments)

    def _refused(self, role: str, arguments: tuple[str, ...]) -> tuple[int, str]:
        command = [sys.executable, "-m", "hbtable", role, "--config", str(self.config), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=4 * SOON_SECONDS)
        return done.returncode, done.stderr

    def owners(self, table: str) -> list[int]:
        """The gateway's port of each tablet's owner."""
        with closing(self.connect()) as connection:
            return [region["port"] for region in connection.table(table).regions()]

    def server_of(self, port: int) -> RoleProcess:
        return next(one for one in self.servers if one.port == port)

    def _start(
        self, role: str, beside: list[RoleProcess], arguments: tuple[str, ...], release: Path | None = None
    ) -> RoleProcess:
        errors = self._folder / f"{role}-{len(beside) + 1}.log"
        clock = WrongClock(errors.with_suffix(".clock")) if self._own_clocks else None
        process = RoleProcess(role, ["--config", str(self.config), *arguments], errors, release, clock)
        beside.append(process)
        return process

    def __enter__(self) -> "ProcessCluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        roles = (*self.gateways, *self.masters, *self.servers)
        for role in roles:
            role.end()
        if error is not None:
            for role in roles:
                lines = role.log().splitlines() if role.errors.exists() else []
                print(f"--- {role.errors.name}", *lines[-25:], sep="\n")


def until_put(table: happybase.Table, row: bytes, columns: dict[bytes, bytes], seconds: float) -> float:
    """Puts until one succeeds; how long that took."""
    began = time.monotonic()
    while True:
        try:
            table.put(row, columns)
        except HBaseError:  # declared: the server says try again
            if time.monotonic() - began > seconds:
                raise
            time.sleep(0.02)
        else:
            return time.monotonic() - began
