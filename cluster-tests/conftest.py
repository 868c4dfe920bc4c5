"""Real servers for `make cluster-test`: one HDFS and one ZooKeeper for the whole run, started when first asked for.

A test that kills or freezes one of them puts it right again before it ends; should it fail in between, it is done here,
so that one failure stays one. Each test uses a folder of its own in both.
"""

import gc
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.harness.fresh_seed import fresh_seed
from tests.harness.real_servers import (
    HdfsServers,
    ZooKeeperServer,
    require_java,
    running_hdfs,
    running_zookeeper,
)
from tests.harness.role_processes import ProcessCluster
from tests.harness.runs import begin_run, show_commands


def pytest_configure(config: pytest.Config) -> None:
    begin_run(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    show_commands(terminalreporter)


def pytest_report_header() -> str:
    return f"seed of whom and when a test stops at random: {fresh_seed()} (SEED={fresh_seed()} takes it again)"


@pytest.fixture(scope="session")
def _hdfs_of_this_run() -> Iterator[HdfsServers]:
    require_java()
    with running_hdfs(3) as servers:
        yield servers


@pytest.fixture(scope="session")
def _zookeeper_of_this_run() -> Iterator[ZooKeeperServer]:
    require_java()
    with running_zookeeper() as server:
        yield server


@pytest.fixture
def hdfs_servers(_hdfs_of_this_run: HdfsServers) -> Iterator[HdfsServers]:
    """A NameNode and three DataNodes."""
    yield _hdfs_of_this_run
    _hdfs_of_this_run.put_right()


@pytest.fixture
def zookeeper_server(_zookeeper_of_this_run: ZooKeeperServer) -> Iterator[ZooKeeperServer]:
    yield _zookeeper_of_this_run
    _zookeeper_of_this_run.put_right()


@pytest.fixture(autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    """A socket that a test leaves open fails that test. Else it fails the one in which Python's collector happens to
    find it, on one run in twenty."""
    yield
    gc.collect()


@pytest.fixture
def own_folder() -> str:
    """A folder that no other test uses, for HDFS and as root in ZooKeeper; it does not exist yet."""
    return f"/test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def cluster_with(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[Callable[[str], ProcessCluster]]:
    """Makes the test's cluster of processes with these settings; its servers are to be started. It ends with the
    test."""
    with ExitStack() as open_ones:

        def made(settings: str) -> ProcessCluster:
            files = hdfs_servers.hdfs(own_folder)
            cluster = ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=settings)
            return open_ones.enter_context(cluster)

        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that asks for a server waits until it was started, jars fetched included; and every wait of a test
    may last as long as a machine that others use as well takes."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(900))
