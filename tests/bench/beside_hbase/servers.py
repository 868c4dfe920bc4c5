"""The servers that are compared: what they cost the machine, and how a table of theirs comes to lie in files alone."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Protocol

import happybase

from tests.bench.bench_trees import children, cpu_of
from tests.harness.server import ServerProcess

ROOT = Path(__file__).resolve().parents[3]
STARTER = ROOT / "compat-tests" / "servers" / "real-hbase"
PLACES = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hbtable-tests" / "hbase-2.6.1"


class Contestant(Protocol):
    """One of the servers."""

    name: str
    port: int

    def pids(self) -> list[int]: ...
    def settle(self, table: str) -> None:
        """All of the table lies in one file, and not in memory."""

    def disk_bytes(self) -> int: ...


def cpu_seconds(server: Contestant) -> float:
    """Of all its processes so far. One that ended meanwhile takes its share along."""
    return sum(map(cpu_of, server.pids()))


def resident_bytes(server: Contestant) -> int:
    return sum(map(_resident_bytes, server.pids()))


def _resident_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) << 10
    return 0


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # deleted meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total


class HbtableServer:
    """This source tree's, in a folder of its own."""

    def __init__(self, durability: str, folder: Path) -> None:
        self.name = f"hbtable, {durability}"
        self._folder = folder
        self._process = ServerProcess(folder, [f"log.durability={durability}"])
        self._process.start()
        self.port = self._process.port

    def pids(self) -> list[int]:
        assert self._process.process is not None
        pid = self._process.process.pid
        return [pid, *children(pid)]

    def settle(self, table: str) -> None:
        connection = happybase.Connection("127.0.0.1", self.port, timeout=300_000)
        connection.compact_table(table, major=True)
        connection.close()

    def disk_bytes(self) -> int:
        return _bytes_below(self._folder)

    def stop(self) -> None:
        self._process.stop()


class HBaseServer:
    """The one that real-hbase starts: HBase with its Thrift server, which does not sync its log on local files."""

    name = "HBase"

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        """`settings`: more of hbase-site.xml."""
        self.port = _four_free_ports()
        self._place = PLACES / f"on-{self.port}"
        with NamedTemporaryFile("w", prefix="hbase-site-") as site:
            site.write("".join(f"{name} {value}\n" for name, value in (settings or {}).items()))
            site.flush()
            environment = {**os.environ, "HBASE_SITE": site.name}
            command = [STARTER, "start", str(self.port)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)

    def pids(self) -> list[int]:
        return [int(path.read_text()) for path in self._place.glob("*.pid")]

    def settle(self, table: str) -> None:
        command = [STARTER, "compactor", str(self.port)]
        words = subprocess.run(command, input=f"major {table}\n", text=True, check=True, capture_output=True).stdout
        if words.split() != ["ready", "ok"]:
            raise SystemExit(f"HBase did not compact {table}; compactor.log in {self._place} says why")

    def disk_bytes(self) -> int:
        return _bytes_below(self._place / "data")

    def stop(self) -> None:
        subprocess.run([STARTER, "stop", str(self.port)], check=False)
        shutil.rmtree(self._place, ignore_errors=True)


def _four_free_ports() -> int:
    """The first of four in a row, for Thrift, ZooKeeper, master and region server."""
    for first in range(21_000 + os.getpid() % 3000, 32_000, 7):
        with suppress(OSError):
            for port in range(first, first + 4):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
    raise SystemExit("no four free ports in a row")


def why_no_hbase() -> str:
    """Empty where HBase can be started."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} missing (compat-tests/install-toolchains)" if missing else ""


@contextmanager
def contestants(with_hbase: bool) -> Iterator[list[Contestant]]:
    """HBase first, if it takes part."""
    running: list[HBaseServer | HbtableServer] = []
    with TemporaryDirectory(prefix="hbtable-bench-") as folder:
        try:
            if with_hbase:
                running.append(HBaseServer())
            for durability in ("os", "sync"):
                running.append(HbtableServer(durability, Path(folder) / durability))
            yield list(running)
        finally:
            for server in running:
                server.stop()


def create_table(connection: happybase.Connection, name: str, family: dict[str, object]) -> None:
    """HBase takes calls before it can create tables."""
    give_up = time.monotonic() + 120
    while True:
        try:
            connection.create_table(name, {"f": family})
            return
        except Exception:
            if time.monotonic() > give_up:
                raise
            time.sleep(1)
