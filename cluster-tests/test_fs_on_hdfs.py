"""The promises of fs.interface over a real HDFS, through WebHDFS and through Hadoop's own protocol; and what the test
fakes take for granted about WebHDFS.

HBTABLE_HDFS="webhdfs://HOST:PORT hdfs://HOST:PORT" names a running one instead of starting one.
"""

import os
from collections.abc import Collection, Iterator

import pytest

from hbtable.errors import AlreadyExists, OutOfSpace
from hbtable.fs.interface import FileSystem, PutHints
from hbtable.fs.opened import close_file_system, open_file_system, parse_address
from hbtable.fs.webhdfs.datanodes import LIST_TARGET, parse_live_nodes
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.requests import WebHdfsRequest, WebHdfsResponse, target_of
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.long_timeouts import LONG_TIMEOUTS
from tests.harness.tiers import long_test, taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.ports.fs_promises import *  # noqa: F403
from tests.ports.fs_promises import Adapter

pytestmark = pytest.mark.java


@pytest.fixture
def addresses(request: pytest.FixtureRequest) -> dict[str, str]:
    """An address without a folder for each scheme."""
    named = os.environ.get("HBTABLE_HDFS")
    if named:
        return {address.partition(":")[0]: address for address in named.split()}
    servers = request.getfixturevalue("hdfs_servers")
    return {"webhdfs": servers.webhdfs(""), "hdfs": servers.hdfs("")}


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    real = GeventRuntime()
    yield real
    real.close()


@pytest.fixture(params=taking_turns(["webhdfs", "hdfs"], 2))
def adapter(
    request: pytest.FixtureRequest, addresses: dict[str, str], runtime: GeventRuntime, own_folder: str
) -> Iterator[Adapter]:
    fs = open_file_system(addresses[request.param] + own_folder, runtime, LONG_TIMEOUTS)
    yield Adapter(fs, runtime, lambda body: body())
    close_file_system(fs)
    remove(addresses, runtime, own_folder)


def remove(addresses: dict[str, str], runtime: GeventRuntime, folder: str) -> None:
    host = parse_address(addresses["webhdfs"]).hosts[0]
    HttpConnections(runtime.clock_seconds)(
        WebHdfsRequest("DELETE", host, target_of(folder, "DELETE", {"user.name": "root", "recursive": "true"}))
    )


@pytest.fixture
def web(addresses: dict[str, str], runtime: GeventRuntime, own_folder: str) -> Iterator[FileSystem]:
    fs = open_file_system(addresses["webhdfs"] + own_folder, runtime, LONG_TIMEOUTS)
    yield fs
    close_file_system(fs)
    remove(addresses, runtime, own_folder)


@pytest.fixture
def ask(addresses: dict[str, str], runtime: GeventRuntime) -> "Ask":
    return Ask(parse_address(addresses["webhdfs"]).hosts[0], runtime)


class Ask:
    """Bare requests to the NameNode."""

    def __init__(self, host: str, runtime: GeventRuntime) -> None:
        self.host = host
        self.http = HttpConnections(runtime.clock_seconds)

    def __call__(self, method: str, path: str, operation: str, **parameters: str) -> WebHdfsResponse:
        target = target_of(path, operation, {"user.name": "root"} | parameters)
        return self.http(WebHdfsRequest(method, self.host, target))


def test_the_list_of_datanodes_is_understood_and_steers_the_redirect(web: FileSystem, ask: Ask) -> None:
    nodes = parse_live_nodes(ask.http(WebHdfsRequest("GET", ask.host, LIST_TARGET)).body)
    assert len(nodes) == 3
    for kept in nodes:
        # On a busy machine the one that is left counts as busy at times (redundancy.considerLoad), and any is taken.
        eventually(lambda kept=kept: _taken(web, kept, nodes) >= 9, SOON_SECONDS, f"{kept} takes what is kept for it")


def _taken(web: FileSystem, kept: str, nodes: Collection[str]) -> int:
    """Of ten files that no other node is to have; chance alone gives it three."""
    took: list[str] = []
    for number in range(10):
        path = f"kept-{kept.replace(':', '-')}/{number}"
        web.put_new(path, b"x", PutHints([node for node in nodes if node != kept], took.append))
        web.delete(path)
    return took.count(kept)


def test_a_full_quota_is_out_of_space_and_room_helps(web: FileSystem, ask: Ask, own_folder: str) -> None:
    web.put_new("a", b"x")
    assert ask("PUT", own_folder, "SETQUOTA", storagespacequota="1000", namespacequota="100").status == 200
    with pytest.raises(OutOfSpace, match="make room"):
        web.put_new("b", b"y" * 5000)
    assert web.read_file("a") == b"x"
    assert ask("PUT", own_folder, "SETQUOTA", storagespacequota="-1", namespacequota="-1").status == 200
    web.put_new("c", b"y" * 5000)


def test_blocks_are_asked_to_be_synced_in_words_the_server_knows(ask: Ask, own_folder: str) -> None:
    redirect = ask("PUT", f"{own_folder}/a", "CREATE", createflag="CREATE,SYNC_BLOCK")
    assert "SYNC_BLOCK" in redirect.location
    assert "createparent=true" in redirect.location


def test_an_empty_answer_is_what_a_rename_with_options_gets(web: FileSystem, ask: Ask, own_folder: str) -> None:
    web.put_new("a", b"x")
    answer = ask("PUT", f"{own_folder}/a", "RENAME", destination=f"{own_folder}/b", renameoptions="OVERWRITE")
    assert (answer.status, answer.body) == (200, b"")
    again = ask("PUT", f"{own_folder}/a", "RENAME", destination=f"{own_folder}/b")
    assert (again.status, again.body) == (200, b'{"boolean":false}')


@long_test("a folder of thousands")
def test_a_folder_of_thousands_is_listed_whole(web: FileSystem, ask: Ask, own_folder: str) -> None:
    for number in range(1205):
        assert ask("PUT", f"{own_folder}/t/{number:04d}/x", "MKDIRS").status == 200
    web.put_new("t/0003/file", b"1")
    web.put_new("t/1204/file", b"2")
    assert [status.path for status in web.list_files("t")] == ["t/0003/file", "t/1204/file"]


def test_a_second_create_of_a_put_file_is_refused_at_once(web: FileSystem) -> None:
    web.put_new("a", b"x")
    with pytest.raises(AlreadyExists):
        web.create("a")
