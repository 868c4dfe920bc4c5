"""What writes that were cut off left behind on a real HDFS is found and removed, by HDFS's own clock too."""

import time
from collections.abc import Callable, Iterator

import pytest

from hbtable.fs.interface import FileSystem
from hbtable.fs.opened import close_file_system, open_file_system, parse_address
from hbtable.fs.probing import probe
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.requests import WebHdfsRequest, target_of
from hbtable.master.files.collector import Collector, CollectorOptions
from hbtable.master.servers.server_reports import ServerReports
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.long_timeouts import LONG_TIMEOUTS
from tests.harness.real_servers import HdfsServers
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS

pytestmark = pytest.mark.java

OLD_SECONDS = 3600.0


@pytest.fixture(params=taking_turns(["hdfs", "webhdfs"], 2))
def fs(request: pytest.FixtureRequest, hdfs_servers: HdfsServers, own_folder: str) -> Iterator[FileSystem]:
    address = hdfs_servers.hdfs(own_folder) if request.param == "hdfs" else hdfs_servers.webhdfs(own_folder)
    opened = open_file_system(address, GeventRuntime(), LONG_TIMEOUTS)
    yield opened
    close_file_system(opened)


class EmptyCatalog:
    def all_tablet_rows(self, *_: object) -> list[object]:
        return []

    def tables(self) -> list[object]:
        return []


@pytest.fixture
def age(hdfs_servers: HdfsServers, own_folder: str) -> Iterator[Callable[[str], None]]:
    """Makes a file one that was changed long ago."""
    host = parse_address(hdfs_servers.webhdfs("")).hosts[0]
    connections = HttpConnections(time.monotonic)

    def make_old(path: str) -> None:
        then = str(int((time.time() - 2 * OLD_SECONDS) * 1000))
        parameters = {"user.name": "root", "modificationtime": then, "accesstime": then}
        target = target_of(f"{own_folder}/{path}", "SETTIMES", parameters)
        assert connections(WebHdfsRequest("PUT", host, target, seconds=SOON_SECONDS)).status == 200

    yield make_old
    connections.close()


def test_leftovers_go_when_they_are_old(fs: FileSystem, age: Callable[[str], None]) -> None:
    runtime = GeventRuntime()
    options = CollectorOptions(leftover_seconds=OLD_SECONDS, trash_seconds=0.0)
    collector = Collector(runtime, fs, EmptyCatalog(), None, lambda: None, options)  # type: ignore[arg-type]

    def collect() -> str:
        return collector.collect(lambda: ServerReports({}, frozenset(), {}))[0]

    before = time.time() * 1000
    there = probe(runtime, fs)
    assert before - 1000 < there < time.time() * 1000 + 1000, "one machine, one clock"
    fs.write_file("metadata/root-tablet", b"needed")
    fs.put_new("unfinished/0123", b"half")
    fs.put_new(f"trash/{int(time.time() * 1000) - 1000}/sstables/00000010/a.sst", b"garbage")
    assert [status.path for status in fs.list_files("")] == [
        "metadata/root-tablet",
        fs.list_files("trash")[0].path,
    ]
    age("unfinished/0123")
    fs.put_new("unfinished/4567", b"new")
    assert "1 left-over files" in collect()
    assert [status.path for status in fs.list_files("unfinished")] == ["unfinished/4567"]
    assert [status.path for status in fs.list_files("")] == ["metadata/root-tablet"]
