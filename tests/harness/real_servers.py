"""A real HDFS and a real ZooKeeper for tests, by the starters in compat-tests/servers, on free loopback ports.

Every server is a process of its own, so that it can be killed (SIGKILL), frozen (SIGSTOP: its ports stay open and
nothing answers, which is what a machine in trouble looks like) and started again with its data.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.harness import certificates
from tests.harness.free_ports import free_ports
from tests.harness.hdfs_health import HdfsHealth
from tests.harness.process_reaper import process_reaper
from tests.harness.waiting import SOON_SECONDS, eventually, freeze, runs

SERVERS: Final = Path(__file__).parents[2] / "compat-tests" / "servers"
_START_SECONDS: Final = 600  # the first start fetches the jars


def require_java() -> None:
    """Skips the test, by what is missing; in CI it fails, or a runner without Java would look like success."""
    missing = [command for command in ("java", "mvn", "setsid", "flock") if shutil.which(command) is None]
    if not missing:
        return
    message = f"needs {' and '.join(missing)}: compat-tests/install-toolchains installs a JDK and Maven"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(message)
    pytest.skip(message)


class ServerPlace:
    """The processes of one starter, by the names of their pid files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def kill(self, name: str) -> None:
        """SIGKILL; on return the process is gone."""
        pid = self._pid(name)
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not runs(pid), SOON_SECONDS, f"the end of {name}")

    def freeze(self, name: str) -> None:
        freeze(self._pid(name))

    def thaw(self, name: str) -> None:
        os.kill(self._pid(name), signal.SIGCONT)

    def put_right(self, name: str, start_again: Callable[[], None]) -> None:
        """If a test that failed left it frozen or killed, it runs again on return."""
        if runs(self._pid(name)):
            self.thaw(name)
        else:
            start_again()

    def runs(self, name: str) -> bool:
        return runs(self._pid(name))

    def _pid(self, name: str) -> int:
        return int((self.folder / f"{name}.pid").read_text())


def run_starter(*command: str, **more: str) -> str:
    """What one of compat-tests/servers prints. `more`: variables of its environment."""
    done = subprocess.run(
        [str(SERVERS / command[0]), *command[1:]],
        capture_output=True,
        text=True,
        timeout=_START_SECONDS,
        env={**os.environ, **more},
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


class HdfsServers:
    """A NameNode and DataNodes 1 to `datanodes`."""

    def __init__(self, port: int, datanodes: int, folder: Path, notices_late: bool = False) -> None:
        self._notices_late = "1" if notices_late else ""
        self.port = port
        self.http_port = port + 1
        self.datanodes = datanodes
        self.host = "localhost"
        self.place = ServerPlace(folder)
        self._health = HdfsHealth(port, datanodes)

    def webhdfs(self, folder: str) -> str:
        """The address of `folder` (which begins with /) for open_file_system."""
        return f"webhdfs://{self.host}:{self.http_port}{folder}"

    def hdfs(self, folder: str) -> str:
        return f"hdfs://{self.host}:{self.port}{folder}"

    def kill_datanode(self, number: int) -> None:
        self.place.kill(f"datanode{number}")

    def freeze_datanode(self, number: int) -> None:
        self.place.freeze(f"datanode{number}")

    def thaw_datanode(self, number: int) -> None:
        self.place.thaw(f"datanode{number}")

    def restart_datanode(self, number: int) -> None:
        """After kill_datanode, with its data; returns when it has registered with the NameNode and hears of it. (The
        NameNode itself counts one that was killed among the living for half a minute.)"""
        self._start_datanode(number)
        eventually(lambda: self._health.datanode_answers(number), 2 * SOON_SECONDS, f"DataNode {number} back")

    def kill_all(self) -> None:
        """The NameNode and every DataNode."""
        for number in range(1, self.datanodes + 1):
            self.kill_datanode(number)
        self.kill_namenode()

    def restart_all(self) -> None:
        """After kill_all, with their data; files can be written on return, over both protocols. WebHDFS loads its
        classes at the first question, and on a busy machine takes more than the ten seconds that the start of a role
        allows."""
        self.restart_namenode()
        for number in range(1, self.datanodes + 1):
            self._start_datanode(number)
        self.wait_until_all_answer()
        self.wait_until_writable()
        eventually(self._answers_webhdfs, 2 * SOON_SECONDS, "WebHDFS's first answer")

    def put_right(self) -> None:
        """What a test that failed left frozen, killed or in safe mode; and what one that succeeded has just put right
        is known to every server on return."""
        self.place.put_right("namenode", self.restart_namenode)
        eventually(self._health.namenode_answers, 2 * SOON_SECONDS, "the NameNode's answers")
        for number in range(1, self.datanodes + 1):
            self.place.put_right(f"datanode{number}", partial(self.restart_datanode, number))
        if not self._health.is_writable():
            self.safe_mode(False)
            self.wait_until_writable()
        self.wait_until_all_answer()

    def wait_until_all_answer(self) -> None:
        """On return every DataNode hears of the NameNode, which counts none as dead or stale and knows their blocks."""
        eventually(self._health.all_answer, 2 * SOON_SECONDS, "every DataNode alive, and known to be")

    def _start_datanode(self, number: int) -> None:
        run_starter("real-hdfs", "datanode", str(self.port), str(number), HDFS_NOTICES_LATE=self._notices_late)

    def safe_mode(self, on: bool) -> None:
        """While it is on, files can be read and not written."""
        run_starter("real-hdfs", "admin", str(self.port), "-safemode", "enter" if on else "leave")

    def wait_until_writable(self) -> None:
        """The NameNode is out of safe mode on return."""
        eventually(self._health.is_writable, 2 * SOON_SECONDS, "the end of safe mode")

    def _answers_webhdfs(self) -> bool:
        url = f"http://{self.host}:{self.http_port}/webhdfs/v1/?op=GETHOMEDIRECTORY"
        try:
            with urllib.request.urlopen(url, timeout=SOON_SECONDS) as answer:
                return bool(answer.read())
        except OSError:
            return False

    def copies(self, path: str) -> int:
        """How many DataNodes the NameNode knows to have the file with this absolute path. A file is complete as soon as
        one has said so."""
        url = f"http://{self.host}:{self.http_port}/webhdfs/v1{path}?op=GETFILEBLOCKLOCATIONS"
        with urllib.request.urlopen(url, timeout=SOON_SECONDS) as answer:
            blocks = json.loads(answer.read())["BlockLocations"]["BlockLocation"]
        return min(len(block["names"]) for block in blocks)

    def pipeline(self, path: str) -> list[int]:
        """The numbers of the DataNodes through which the file with this absolute path is being written, as the NameNode
        has it; [] of a file that is closed."""
        url = f"http://{self.host}:{self.http_port}/webhdfs/v1{path}?op=GET_BLOCK_LOCATIONS"
        with urllib.request.urlopen(url, timeout=SOON_SECONDS) as answer:
            blocks = json.loads(answer.read())["LocatedBlocks"]
        if not blocks["isUnderConstruction"]:
            return []
        return [(node["xferPort"] - self.port) // 10 for node in blocks["lastLocatedBlock"]["locations"]]

    def kill_namenode(self) -> None:
        self.place.kill("namenode")

    def freeze_namenode(self) -> None:
        self.place.freeze("namenode")

    def thaw_namenode(self) -> None:
        self.place.thaw("namenode")

    def restart_namenode(self) -> None:
        """After kill_namenode; it may be in safe mode for a while."""
        run_starter("real-hdfs", "namenode", str(self.port))


class ZooKeeperServer:
    """One ZooKeeper with ticks of 200 ms: sessions of 0.4 to 60 s."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self._place = ServerPlace(folder)

    def stop(self) -> None:
        """kill -9: clients see their connection end, and refused ones after that."""
        self._place.kill("zookeeper")

    def start(self) -> None:
        """After stop(), with its data. Sessions go on if they come back within their timeout, counted from here."""
        run_starter("real-zookeeper", "again", str(self.port))

    def put_right(self) -> None:
        """Whatever a test that failed left."""
        self._place.put_right("zookeeper", self.start)

    def freeze(self) -> None:
        """Connections stay, nothing answers."""
        self._place.freeze("zookeeper")

    def thaw(self) -> None:
        self._place.thaw("zookeeper")


@contextmanager
def running_hdfs(datanodes: int = 3, notices_late: bool = False) -> Iterator[HdfsServers]:
    """A fresh one; its processes are ended and its files deleted at the end. `notices_late`: as HDFS's own defaults
    have it, a frozen DataNode is written to for half a minute."""
    port = free_ports(10 * datanodes + 3)
    with until_ended("real-hdfs", port) as folder:
        run_starter("real-hdfs", "start", str(port), str(datanodes), HDFS_NOTICES_LATE="1" if notices_late else "")
        yield HdfsServers(port, datanodes, folder, notices_late)


@contextmanager
def running_encrypted_hdfs() -> Iterator[str]:
    """A NameNode and a DataNode whose WebHDFS is HTTPS alone, with the certificates of tests/certificates. The address
    without a folder."""
    port = free_ports(13)
    with until_ended("real-hdfs", port):
        run_starter("real-hdfs", "start", str(port), "1", HDFS_HTTPS=str(certificates.FOLDER))
        yield f"swebhdfs://localhost:{port + 1}"


@contextmanager
def running_kerberized_hdfs(realm: Path, protection: str) -> Iterator[HdfsServers]:
    """A NameNode and a DataNode that ask for tickets of Kerberos and for block tokens. `realm` has krb5.conf, and
    hdfs.keytab with hdfs/localhost and HTTP/localhost; `protection`: authentication, integrity or privacy."""
    port = free_ports(13)
    with until_ended("real-hdfs", port) as folder:
        run_starter("real-hdfs", "start", str(port), "1", HDFS_KERBEROS=str(realm), HDFS_PROTECTION=protection)
        yield HdfsServers(port, 1, folder)


@contextmanager
def running_zookeeper() -> Iterator[ZooKeeperServer]:
    """A fresh one; its process is ended and its files deleted at the end."""
    port = free_ports(1)
    with until_ended("real-zookeeper", port) as folder:
        run_starter("real-zookeeper", "start", str(port))
        yield ZooKeeperServer(port, folder)


@contextmanager
def until_ended(starter: str, port: int) -> Iterator[Path]:
    """The folder of what a starter starts. Servers and folder are gone at the end, and also when this process is killed
    in between."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "hbtable-tests" / "hadoop-3.4.2" / f"{starter.removeprefix('real-')}-on-{port}"
    stop = f"{shlex.quote(str(SERVERS / starter))} stop {port}; rm -rf {shlex.quote(str(folder))}"
    process_reaper().add(folder.name, stop)
    try:
        yield folder
    finally:
        run_starter(starter, "stop", str(port))
        shutil.rmtree(folder, ignore_errors=True)
        process_reaper().remove(folder.name)
