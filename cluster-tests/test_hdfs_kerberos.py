"""The promises of fs.interface over a real HDFS that asks for tickets of Kerberos, through both adapters: MIT's KDC, a
NameNode that believes no name, a DataNode that wants block tokens."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from hbtable.errors import InvalidConfiguration, Stalled, StorageFailed, Unavailable
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.opened import FileSystemOptions, close_file_system, open_file_system
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness import kdc
from tests.harness.real_servers import HdfsServers, ZooKeeperServer, require_java, running_kerberized_hdfs
from tests.harness.role_processes import ProcessCluster, until_put
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.ports.fs_promises import *  # noqa: F403
from tests.ports.fs_promises import Adapter

pytestmark = pytest.mark.java
_SECONDS = 30.0


class Kerberized(NamedTuple):
    servers: HdfsServers
    realm: kdc.Kdc


@pytest.fixture(scope="module")
def kerberized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kerberized]:
    reason = kdc.missing() or ("" if importlib.util.find_spec("gssapi") else "python-gssapi is not installed")
    if reason:
        message = f"{reason}: compat-tests/install-toolchains installs them"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    require_java()
    folder: Path = tmp_path_factory.mktemp("realm")
    with kdc.running_kdc(folder) as realm, pytest.MonkeyPatch.context() as patch:
        os.rename(realm.add_service("HTTP/localhost", realm.add_service("hdfs/localhost")), folder / "hdfs.keytab")
        patch.setenv("KRB5_CLIENT_KTNAME", realm.add_service("hbtable/localhost"))
        patch.setenv("KRB5CCNAME", f"FILE:{folder}/tickets")
        for name, value in realm.environment.items():
            patch.setenv(name, value)
        with running_kerberized_hdfs(folder, "privacy") as servers:
            yield Kerberized(servers, realm)


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    real = GeventRuntime()
    yield real
    real.close()


def options(kerberized: Kerberized, sign_in: str = "kerberos") -> FileSystemOptions:
    """For machines that stand still for seconds."""
    return FileSystemOptions(
        webhdfs=WebHdfsOptions(
            sign_in=sign_in, replication=1, log_replication=1,
            put_seconds=_SECONDS, read_seconds=_SECONDS, names_seconds=_SECONDS, failover_seconds=2 * _SECONDS,
        ),
        hdfs=HdfsNativeOptions(
            sign_in=sign_in, replication=1, log_replication=1,
            log_sync_seconds=_SECONDS, put_seconds=_SECONDS, read_seconds=_SECONDS, names_seconds=_SECONDS,
            web_addresses=f"localhost:{kerberized.servers.http_port}",
        ),
    )  # fmt: skip


def address(kerberized: Kerberized, scheme: str, folder: str) -> str:
    servers = kerberized.servers
    return servers.hdfs(folder) if scheme == "hdfs" else servers.webhdfs(folder)


@pytest.fixture(params=taking_turns(["webhdfs", "hdfs"], 2))
def adapter(
    request: pytest.FixtureRequest, kerberized: Kerberized, runtime: GeventRuntime, own_folder: str
) -> Iterator[Adapter]:
    fs = open_file_system(address(kerberized, request.param, own_folder), runtime, options(kerberized))
    yield Adapter(fs, runtime, lambda body: body())
    close_file_system(fs)


def test_the_copies_of_a_file_are_counted(kerberized: Kerberized, runtime: GeventRuntime, own_folder: str) -> None:
    """The NameNode is asked by HTTP, with a ticket. An answer that takes too long is none."""
    fs = open_file_system(address(kerberized, "hdfs", own_folder), runtime, options(kerberized))
    fs.write_file("a", b"x" * 1000)
    counted: list[int | None] = []

    def is_counted() -> bool:
        counted.append(fs._count_copies(f"{own_folder}/a"))  # type: ignore[attr-defined]
        return counted[-1] is not None

    eventually(is_counted, SOON_SECONDS, "an answer of the NameNode by HTTP")
    assert counted[-1] == 1
    close_file_system(fs)


def test_who_does_not_say_who_he_is_reads_what_to_do(
    kerberized: Kerberized, runtime: GeventRuntime, own_folder: str
) -> None:
    fs = open_file_system(address(kerberized, "webhdfs", own_folder), runtime, options(kerberized, "simple"))
    with pytest.raises(StorageFailed, match=r"webhdfs.sign_in .* to \"kerberos\""):
        fs.write_file("a", b"x")
    close_file_system(fs)


def test_who_says_a_name_alone_over_rpc_reads_what_to_do(
    kerberized: Kerberized, runtime: GeventRuntime, own_folder: str
) -> None:
    fs = open_file_system(address(kerberized, "hdfs", own_folder), runtime, options(kerberized, "simple"))
    for act in (lambda: fs.list_files(""), lambda: fs.write_file("a", b"x")):
        with pytest.raises((StorageFailed, Unavailable, Stalled), match=r"set hdfs.sign_in to \"kerberos\""):
            act()
    close_file_system(fs)


def test_without_a_ticket_nothing_is_opened(
    kerberized: Kerberized, runtime: GeventRuntime, own_folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(tmp_path / "none"))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/none")
    for scheme in ("webhdfs", "hdfs"):
        with pytest.raises(InvalidConfiguration, match=f"{scheme}.sign_in needs a ticket of Kerberos: run kinit"):
            open_file_system(address(kerberized, scheme, own_folder), runtime, options(kerberized))


@pytest.mark.parametrize("scheme", taking_turns(["hdfs", "webhdfs"], 2))
def test_a_cluster_keeps_what_it_acknowledged(
    kerberized: Kerberized, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path, scheme: str
) -> None:
    """Its log is taken from a server that was killed: leases and renames, with tickets."""
    settings = (
        f"[{scheme}]\n"
        'sign_in = "kerberos"\nreplication = 1\nlog_replication = 1\n'
        + (f'web_addresses = "localhost:{kerberized.servers.http_port}"\n' if scheme == "hdfs" else "")
    )  # fmt: skip
    files = address(kerberized, scheme, own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=settings) as one:
        one.start(servers=2)
        one.create_table("t", [b"5"])
        with closing(one.connect()) as connection:
            for number in range(200):
                connection.table("t").put(b"%03d" % (number * 5), {b"f:a": b"%d" % number})
        victim = one.server_of(one.owners("t")[0])
        victim.kill()
        with closing(one.connect()) as connection:
            table = connection.table("t")
            until_put(table, b"000", {b"f:b": b"after"}, 4 * SOON_SECONDS)
            assert [row for row, _ in table.scan(columns=[b"f:a"])] == [b"%03d" % (5 * number) for number in range(200)]
