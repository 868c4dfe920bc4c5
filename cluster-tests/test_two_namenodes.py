"""Two NameNodes of a real HDFS, by both adapters: the active one is frozen and killed under writes, the other takes its
place, and one that was deposed while it was frozen, and does not know it, is believed by nobody."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from hbtable.commitlog.recovery.fencing import fence, is_fenced
from hbtable.errors import HbtableError
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.opened import FileSystemOptions, close_file_system, open_file_system
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.namenode_pair import HdfsPair, running_hdfs_pair
from tests.harness.real_servers import ZooKeeperServer, require_java
from tests.harness.role_processes import ProcessCluster
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually, in_time
from tests.harness.written_rows import WrittenRows

# Each has an HDFS of its own, of five processes.
pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.alone]

T = TypeVar("T")

SCHEMES = ["hdfs", "webhdfs"]
INCARNATION = "server-1"
SESSION_SECONDS = in_time(10.0)
LONG_DATANODE_TIMEOUTS = FileSystemOptions(
    webhdfs=WebHdfsOptions(put_seconds=SOON_SECONDS), hdfs=HdfsNativeOptions(put_seconds=SOON_SECONDS)
)
"""Those are all well, and new: only NameNodes are given up in time."""


@pytest.fixture
def pair() -> Iterator[HdfsPair]:
    require_java()
    with running_hdfs_pair() as servers:
        yield servers


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close(grace_seconds=0.1)  # calls to a frozen NameNode are given up


def _address(pair: HdfsPair, scheme: str, folder: str) -> str:
    return pair.hdfs(folder) if scheme == "hdfs" else pair.webhdfs(folder)


@pytest.mark.parametrize("scheme", taking_turns(SCHEMES, 4))
def test_a_namenode_that_was_deposed_does_not_say_that_a_log_is_not_fenced(
    pair: HdfsPair, runtime: GeventRuntime, own_folder: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And who only looks, and may do no more, changes nothing."""
    address = _address(pair, scheme, own_folder)
    writer, fencer = (open_file_system(address, runtime, LONG_DATANODE_TIMEOUTS) for _ in range(2))
    mistyped = open_file_system(f"{address}-mistyped", runtime, LONG_DATANODE_TIMEOUTS)
    assert not _at_last(lambda: mistyped.exists("a"))
    assert _modified(pair, f"{own_folder}-mistyped") == 0
    writer.put_new("logs/server-1/1", b"x")
    assert not _at_last(lambda: is_fenced(writer, INCARNATION))
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    as_ann = replace(LONG_DATANODE_TIMEOUTS, webhdfs=replace(LONG_DATANODE_TIMEOUTS.webhdfs, user="ann"))
    looker = open_file_system(address, runtime, as_ann, looks_only=True)
    before = _modified(pair, own_folder)
    assert _at_last(lambda: looker.read_file("logs/server-1/1")) == b"x"
    assert not _at_last(lambda: is_fenced(looker, INCARNATION))
    assert _modified(pair, own_folder) == before > 0
    pair.freeze(1)
    pair.make_active(2)
    # The fencer's calls find the second one while the first one hangs.
    assert [file.name for file in _at_last(lambda: fence(runtime, fencer, INCARNATION)).files] == ["1"]
    pair.thaw(1)
    assert _at_last(lambda: is_fenced(writer, INCARNATION))
    eventually(lambda: not pair.runs(1), SOON_SECONDS, "the end of the NameNode that was deposed")
    assert _at_last(lambda: is_fenced(looker, INCARNATION))
    for fs in (writer, fencer, mistyped, looker):
        close_file_system(fs)


def _modified(pair: HdfsPair, folder: str) -> int:
    """The time of the folder's last change, as the first NameNode has it; 0: there is none."""
    asked = f"http://{pair.host}:{pair.http_port}/webhdfs/v1{folder}?op=GETFILESTATUS"
    try:
        with urllib.request.urlopen(asked, timeout=SOON_SECONDS) as answer:
            return int(json.load(answer)["FileStatus"]["modificationTime"])
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 404:
            raise
        return 0


def _at_last(ask: Callable[[], T]) -> T:
    """Its answer, once there is one: who asks repeats what nobody answered."""
    found: list[T] = []

    def answered() -> bool:
        try:
            found.append(ask())
        except HbtableError as error:
            print(f"no answer: {error}")
        return bool(found)

    eventually(answered, 2 * SOON_SECONDS, "an answer of the active NameNode")
    return found[0]


@pytest.mark.parametrize("scheme", taking_turns(SCHEMES, 4))
def test_writes_go_on_with_the_other_namenode_and_nothing_is_lost(
    pair: HdfsPair, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path, scheme: str
) -> None:
    settings = f'[hdfs]\nweb_addresses = "{pair.web_addresses}"\n'
    address = _address(pair, scheme, own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, address, SESSION_SECONDS, settings) as cluster:
        cluster.start(servers=2)
        cluster.create_table("rows", [])
        owner = cluster.server_of(cluster.owners("rows")[0])
        other = next(one for one in cluster.servers if one is not owner)
        rows = WrittenRows(other, "rows")
        rows.go_on("at first")
        pair.freeze(1)
        pair.make_active(2)
        rows.go_on("while the first NameNode is frozen")
        pair.thaw(1)
        rows.go_on("while the first NameNode believes that it is active")
        pair.kill(1)
        pair.restart(1)
        pair.kill(2)
        pair.make_active(1)
        rows.go_on("after the second NameNode was killed")
        owner.kill()
        rows.go_on("after the tablet server was killed")
        rows.end()
        with closing(other.connect()) as connection:
            assert rows.lost(connection) == []
