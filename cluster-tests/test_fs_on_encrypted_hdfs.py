"""The promises of fs.interface over a real HDFS whose WebHDFS is HTTPS alone, and who is not believed."""

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.errors import HbtableError, InvalidConfiguration, Unavailable
from hbtable.fs.interface import PutHints
from hbtable.fs.opened import FileSystemOptions, close_file_system, open_file_system, parse_address
from hbtable.fs.webhdfs.datanodes import LIST_TARGET, parse_live_nodes
from hbtable.fs.webhdfs.encryption import client_tls
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.requests import WebHdfsRequest, target_of
from hbtable.launch.roles.startup_checks import check_namenode
from hbtable.launch.roles.surroundings import surroundings
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.certificates import CA
from tests.harness.long_timeouts import LONG_TIMEOUTS
from tests.harness.real_servers import running_encrypted_hdfs
from tests.ports.fs_promises import *  # noqa: F403
from tests.ports.fs_promises import Adapter

pytestmark = pytest.mark.java

OPTIONS = replace(LONG_TIMEOUTS, webhdfs=replace(LONG_TIMEOUTS.webhdfs, ca=CA))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """HBTABLE_ENCRYPTED_HDFS names a running one instead of starting one."""
    if named := os.environ.get("HBTABLE_ENCRYPTED_HDFS"):
        yield named
        return
    with running_encrypted_hdfs() as started:
        yield started


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    real = GeventRuntime()
    yield real
    real.close()


@pytest.fixture
def adapter(address: str, runtime: GeventRuntime, own_folder: str) -> Iterator[Adapter]:
    fs = open_file_system(address + own_folder, runtime, OPTIONS)
    yield Adapter(fs, runtime, lambda body: body())
    close_file_system(fs)
    http = HttpConnections(runtime.clock_seconds, client_tls(CA))
    target = target_of(own_folder, "DELETE", {"user.name": "root", "recursive": "true"})
    http(WebHdfsRequest("DELETE", parse_address(address).hosts[0], target))


def test_its_datanodes_are_known_by_their_https_address(address: str, runtime: GeventRuntime) -> None:
    http = HttpConnections(runtime.clock_seconds, client_tls(CA))
    page = http(WebHdfsRequest("GET", parse_address(address).hosts[0], LIST_TARGET)).body
    nodes = parse_live_nodes(page, encrypted=True)
    assert nodes
    assert not [node for node in nodes if node.endswith(":0")]
    took: list[str] = []
    fs = open_file_system(f"{address}/taken", runtime, OPTIONS)
    fs.put_new("a", b"x", PutHints((), took.append))
    fs.delete("a")
    close_file_system(fs)
    assert took
    assert set(took) <= nodes.keys()


@pytest.mark.parametrize("scheme", ["swebhdfs", "webhdfs"])
def test_who_does_not_know_the_ca_or_speaks_no_tls_reads_what_to_do(
    address: str, runtime: GeventRuntime, scheme: str
) -> None:
    short = FileSystemOptions(webhdfs=WebHdfsOptions(failover_seconds=1.0))
    fs = open_file_system(f"{scheme}://{parse_address(address).hosts[0]}/x", runtime, short)
    said = "set webhdfs.ca to the file of its CA's certificate" if scheme == "swebhdfs" else "reading a"
    with pytest.raises(HbtableError, match=said):
        fs.read_file("a")
    close_file_system(fs)


def test_a_role_finds_the_namenode_and_asks_how_it_is_set_up(address: str, runtime: GeventRuntime) -> None:
    files = f"{address}/x"
    check_namenode(runtime, files, CA)
    with pytest.raises(Unavailable, match=r"set webhdfs\.ca"):
        check_namenode(runtime, files)
    with pytest.raises(InvalidConfiguration, match="cannot be used"):
        check_namenode(runtime, files, "/no/such/file")
    found = surroundings("127.0.0.1:1", files, OPTIONS, LogOptions())
    assert found.section == "webhdfs"
    assert found.datanodes
    assert found.avoids_stale is True
    assert found.pipeline_seconds == 3.0
