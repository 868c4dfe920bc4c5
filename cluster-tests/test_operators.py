"""What operators do with the shell on a cluster of real processes: any server answers for all of them."""

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hbtable.shell.connection import ShellConnection
from hbtable.shell.main import ShellOptions, make_session
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

SPLITS = [b"b", b"c", b"d", b"e", b"f"]


@pytest.fixture
def cluster(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    """One master and three tablet servers that remember every request as slow."""
    files = hdfs_servers.hdfs(own_folder)
    settings = "[thrift]\nslow_seconds = 0.0\n"
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=settings) as cluster:
        yield cluster.start(3)


Ask = Callable[[RoleProcess, str], list[str]]


@pytest.fixture
def ask() -> Ask:
    """A script to the shell of one server; its answer without prompts and times."""

    def answer(server: RoleProcess, script: str) -> list[str]:
        stream = io.StringIO()
        session = make_session(ShellOptions(f"127.0.0.1:{server.port}"), lambda _: True, stream=stream)
        with closing(session.context.server):
            for line in script.splitlines():
                session.execute(line)
        return [line for line in stream.getvalue().splitlines() if not line.startswith("Took ")]

    return answer


def filled(cluster: ProcessCluster) -> dict[bytes, bytes]:
    cluster.create_table("t", SPLITS)
    connection = cluster.connect()
    rows = {b"%c%d" % (letter, number): b"v%d" % number for letter in b"abcdef" for number in range(10)}
    for row, value in rows.items():
        connection.table("t").put(row, {b"f:v": value})
    connection.close()
    ports = {server.port for server in cluster.servers}
    eventually(lambda: set(cluster.owners("t")) == ports, 2 * SOON_SECONDS, "every server has some of it")
    return rows


def contents(server: RoleProcess) -> dict[bytes, bytes]:
    connection = server.connect()
    try:
        return {row: cells[b"f:v"] for row, cells in connection.table("t").scan()}
    finally:
        connection.close()


def served(cluster: ProcessCluster) -> dict[int, list[bytes]]:
    """The names of the regions that each server serves, METADATA's included, by its port."""
    port = next(one for one in cluster.servers if one.process.poll() is None).port
    with closing(ShellConnection(f"127.0.0.1:{port}")) as connection:
        return {one.port: [tablet.name for tablet in one.tablets or ()] for one in connection.admin("adminServers")}


def holders_of_metadata(cluster: ProcessCluster) -> dict[bytes, RoleProcess]:
    """Which server serves each of its two regions. One that is too slow to answer shows none: all are asked again."""
    found: dict[bytes, RoleProcess] = {}

    def both_seen() -> bool:
        found.clear()
        for port, names in served(cluster).items():
            found.update({name: cluster.server_of(port) for name in names if name.startswith(b"hbase:meta,")})
        return len(found) == 2

    eventually(both_seen, SOON_SECONDS, "the servers of METADATA's two regions")
    return found


def sstables(server: RoleProcess) -> list[int]:
    """How many each of its tablets of t has."""
    with closing(ShellConnection(f"127.0.0.1:{server.port}")) as connection:
        found = next(one for one in connection.admin("adminServers") if one.port == server.port)
    return [tablet.sstables for tablet in found.tablets or () if tablet.name.startswith(b"t,")]


def holders(cluster: ProcessCluster, prefix: bytes) -> list[RoleProcess]:
    """The servers that serve a region whose name begins so."""
    found = served(cluster).items()
    return [cluster.server_of(port) for port, names in found if any(name.startswith(prefix) for name in names)]


@long_test("a server out of service")
def test_a_server_is_taken_out_of_service_and_put_back(cluster: ProcessCluster, ask: Ask) -> None:
    rows = filled(cluster)
    metadata = holders_of_metadata(cluster)
    leaving = next(server for name, server in metadata.items() if name.startswith(b"hbase:meta,,"))  # the root tablet
    first, second = [one for one in cluster.servers if one is not leaving]
    name = next(line for line in ask(first, "list_liveservers") if f",{leaving.port}," in line)
    assert ask(first, f"decommission_regionservers '{name}', true") == []
    for server in cluster.servers:
        assert ask(server, "list_decommissioned_regionservers")[1:] == [name, "1 row(s)"]

    def everything_left() -> bool:
        # A server that was too slow to answer shows nothing, so it is looked for elsewhere, too.
        elsewhere = [one for one in holders(cluster, b"hbase:meta,,") if one is not leaving]
        return bool(elsewhere) and not served(cluster)[leaving.port] and leaving.port not in cluster.owners("t")

    eventually(everything_left, 2 * SOON_SECONDS, "everything left")
    assert contents(leaving) == contents(second) == rows, "its gateway goes on"
    ask(second, "create 'u', 'f', SPLITS => ['1', '2', '3', '4', '5']")
    assert leaving.port not in cluster.owners("u")
    region = "locate_region('t', 'a').getRegionInfo.getEncodedName"
    ask(second, f"recommission_regionserver '{name}', [{region}]")
    assert leaving.port in cluster.owners("t")
    assert ask(first, "list_decommissioned_regionservers")[1:] == ["0 row(s)"]
    eventually(lambda: ask(first, "rit") == ["0 row(s)"], SOON_SECONDS, "the balancer's moves to it are done")


@long_test("compactions, caches and garbage of all servers")
def test_compactions_caches_garbage_and_slow_requests_of_all_servers(cluster: ProcessCluster, ask: Ask) -> None:
    rows = filled(cluster)
    first, second, third = cluster.servers
    ask(first, "balance_switch false")  # a tablet that moves leaves its blocks behind, and its requests' server
    eventually(lambda: ask(first, "rit") == ["0 row(s)"], SOON_SECONDS, "no move is under way")
    ask(first, "flush 't'")
    connection = second.connect()
    for row, value in rows.items():
        connection.table("t").put(row, {b"f:v": value})
    connection.close()
    ask(second, "flush 't'")
    ask(second, f"compact_rs '127.0.0.1,{third.port}', true")
    eventually(lambda: set(sstables(third)) == {1}, SOON_SECONDS, "all of one server compacted")
    # Only the server that was asked knows of a compaction that did not begin yet.
    ask(second, "major_compact 't'")
    eventually(lambda: ask(second, "compaction_state 't'")[0] == "NONE", SOON_SECONDS, "compacted")
    assert ask(third, "compaction_state 't'")[0] == "NONE"
    assert ask(third, "cleaner_chore_run") == ["=> false"], "what the compactions read is in the trash"
    assert ask(third, "catalogjanitor_run") == ["=> 0"]
    assert ask(third, "hbck_chore_run") == ["=> true"]
    ask(first, "\n".join(f"get 't', '{letter}1'" for letter in "abcdef"))
    (cleared,) = ask(second, "clear_block_cache 't'")
    # The size is a share of the machine's memory, three times.
    assert re.match(r"CacheEvictionStats\{evictedBlocks=6, maxCacheSize=[1-9]\d+, failedRegionsSize=0", cleared)
    _, *lines = ask(third, "get_slowlog_responses '*', {'TABLE_NAME' => 't', 'LIMIT' => 1}")
    decoder, text, found = json.JSONDecoder(), "\n".join(lines), []
    while text := text.strip():
        record, end = decoder.raw_decode(text)
        found.append((record["methodName"], record["row"]))
        text = text[end:]
    assert ("adminGet", "f1") in found, "asked of the first server"
    assert len(found) == 3, "each server has at least one"
    assert ask(third, "clear_slowlog_responses") == ["Cleared Slowlog responses from 3/3 RegionServers"]


def test_a_killed_servers_regions_are_in_transition_and_it_is_dead(cluster: ProcessCluster, ask: Ask) -> None:
    rows = filled(cluster)
    for master in cluster.masters:
        master.kill()
    # Without a master nobody brings METADATA back, and nothing could be read.
    metadata = holders_of_metadata(cluster).values()
    victim = next(one for one in cluster.servers if one not in metadata)
    incarnation, held = victim.incarnation, cluster.owners("t").count(victim.port)
    victim.kill()
    left = next(one for one in cluster.servers if one is not victim)
    eventually(lambda: ask(left, "list_deadservers")[1:-1] == [incarnation], SOON_SECONDS, "its session is over")
    *regions, count = ask(left, "rit")
    assert count == f"{held} row(s)"
    assert all(f"state=ABNORMALLY_CLOSED, server={incarnation}" in line for line in regions)
    detailed = ask(left, "status 'detailed'")
    assert detailed[1] == f"{held} regionsInTransition"
    assert [line.strip() for line in detailed[2 : 2 + held]] == regions
    cluster.start_master()
    eventually(lambda: ask(left, "rit") == ["0 row(s)"], SOON_SECONDS, "served again")
    assert contents(left) == rows


def test_standby_masters_are_counted_until_they_take_over_or_die(cluster: ProcessCluster, ask: Ask) -> None:
    server = cluster.servers[0]
    (first,) = cluster.masters
    second, third = cluster.start_master(), cluster.start_master()

    def standbys() -> int:
        found = re.search(r", (\d+) backup masters", ask(server, "status")[0])
        return int(found.group(1)) if found else -1

    eventually(lambda: standbys() == 2, SOON_SECONDS, "both wait for the lock")
    simple = ask(server, "status 'simple'")
    assert len({line.split()[-2] for line in (simple[0], simple[2], simple[3])}) == 3
    assert simple[0].startswith("active master:  ")
    assert simple[1] == "2 backup masters"
    third.kill()
    eventually(lambda: standbys() == 1, SOON_SECONDS, "the killed standby's session is over")
    assert first.stop() == 0
    expected = "1 active master, 0 backup masters, 3 servers, 0 dead"
    eventually(lambda: ask(server, "status")[0].startswith(expected), SOON_SECONDS, "the second took over")
    assert second.process.poll() is None


def test_why_a_row_is_where_it_is_is_known_after_a_death(cluster: ProcessCluster, ask: Ask) -> None:
    rows = filled(cluster)
    names = {holder.port for holder in holders_of_metadata(cluster).values()}
    dead = next(server for server in cluster.servers if server.port not in names)
    row = next(row for row in sorted(rows) if f",{dead.port}," in ask(dead, f"why 't', '{row.decode()}'")[2])
    asked = next(server for server in cluster.servers if server is not dead)
    dead.kill()

    def told() -> list[str]:
        """Each event in a line, once another server has the region and all was noted."""
        lines = ask(asked, f"why 't', '{row.decode()}'")
        return lines if lines[1].endswith(": served") and f",{dead.port}," not in lines[2] else []

    eventually(lambda: any(" served " in line for line in told()[-2:]), SOON_SECONDS, "another server has it")
    eventually(lambda: any("is dead" in line for line in told()), SOON_SECONDS, "and why")
    assert sum(" given " in line for line in told()) >= 2
