"""hbtable bench: what its clients write, as a happybase scan sees it, what it prints, and how it ends."""

import re
import signal
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from hbtable.launch.cli.command import main
from hbtable.model.schema import TableSchema
from hbtable.shell.bench import measuring
from hbtable.shell.bench.clients import BenchClients
from hbtable.shell.bench.workloads import (
    MEMORY_READS,
    MEMORY_WRITES,
    PAPER,
    RANDOM_READS,
    RANDOM_WRITES,
    SCANS,
    SEQUENTIAL_READS,
    SEQUENTIAL_WRITES,
    BenchPlan,
)
from hbtable.shell.connection import ShellConnection
from hbtable.shell.copying.hbtable_peer import HbtablePeer
from hbtable.shell.copying.thrift1_peer import Thrift1Peer
from hbtable.shell.errors import BrokenOff, ShellError
from tests.harness.commands import environment
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually, runs
from tests.harness.warm_server import WarmServer

TABLES = [b"hbtable_bench", b"hbtable_bench_mem"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("bench") / "data", ["log.durability=os"]) as server:
        yield server


def invoked(server: WarmServer, *words: str) -> Result:
    return CliRunner().invoke(main, ["bench", f"--url=127.0.0.1:{server.port}", *words])


def tables(server: WarmServer) -> list[bytes]:
    with closing(server.connect()) as connection:
        return list(connection.tables())


@pytest.fixture
def plan(server: WarmServer) -> Iterator[BenchPlan]:
    """Tables that keep every version, so that what is written twice is seen."""
    with closing(server.connect()) as connection:
        for name in ("p", "p_mem"):
            connection.create_table(name, {"f": {"max_versions": 1000}})
        yield BenchPlan(f"127.0.0.1:{server.port}", b"p", b"p_mem", 133, 21, 40)
        for name in ("p", "p_mem"):
            connection.delete_table(name, disable=True)


def versions(server: WarmServer, name: str) -> dict[bytes, list[bytes]]:
    with closing(server.connect()) as connection:
        table = connection.table(name)
        return {row: table.cells(row, b"f:v", versions=1000) for row, _ in table.scan()}


def test_clients_together_write_each_row_as_the_paper_has_it(server: WarmServer, plan: BenchPlan) -> None:
    with BenchClients(plan, 2, perf_counter) as clients:
        assert clients.run(SEQUENTIAL_WRITES) > 0
        found = versions(server, "p")
        assert list(found) == [b"%010d" % number for number in range(133)]
        assert all(len(values) == 1 and len(values[0]) == 40 for values in found.values())
        assert len({values[0][10:] for values in found.values()}) == 133  # no two are alike
        clients.run(RANDOM_WRITES)
        hashed = Counter(b"%010d" % (zlib.crc32(b"%010d" % number) % 133) for number in range(133))
        more = Counter({row: len(values) - 1 for row, values in versions(server, "p").items()})
        assert set(+more) == set(hashed)
        assert more <= hashed  # of two in one millisecond one is left
        clients.run(MEMORY_WRITES)
        assert list(versions(server, "p_mem")) == [b"%010d" % number for number in range(21)]
        for workload in (SEQUENTIAL_READS, RANDOM_READS, MEMORY_READS, SCANS):
            assert clients.run(workload) > 0
        with closing(server.connect()) as connection:
            connection.table("p").put(b"0000000077", {b"f:v": b"0000000078" + bytes(30)})
        for workload in (SEQUENTIAL_READS, SCANS):
            with pytest.raises(ShellError, match=f"{re.escape(workload)}: .*row 0000000077"):
                clients.run(workload)
        with closing(server.connect()) as connection:
            connection.table("p").delete(b"0000000077")
            connection.table("p").delete(b"0000000132")
        with pytest.raises(ShellError, match="0 bytes"):
            clients.run(SEQUENTIAL_READS)
        with pytest.raises(ShellError, match=r"row 0000000077 .* 0 bytes"):
            clients.run(SCANS)


def test_it_prints_and_draws_rates_beside_the_papers(server: WarmServer, tmp_path: Path) -> None:
    done = invoked(server, "--clients=2", "--rows=40", f"--svg={tmp_path / 'x.svg'}")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"tablet servers +1 +1 +50 +250 +500", lines[2])
    for line, (name, paper) in zip(lines[3:], PAPER.items(), strict=True):
        assert re.fullmatch(rf"{re.escape(name)} +[1-9][0-9]* +{' +'.join(map(str, paper))}", line)
    told = [line.partition(":")[0] for line in done.stderr.splitlines()]
    assert sorted(told) == sorted(PAPER)
    drawn = ElementTree.parse(tmp_path / "x.svg").getroot()
    assert len(drawn.findall("{http://www.w3.org/2000/svg}polyline")) == 6
    assert not set(tables(server)) & set(TABLES)


def test_some_workloads_have_what_they_read(server: WarmServer) -> None:
    done = invoked(server, "--clients=1", "--rows=20", "--workloads=scans, random reads (mem)")
    assert done.exit_code == 0, done.output
    assert [line[:20].strip() for line in done.stdout.splitlines()[3:]] == ["random reads (mem)", "scans"]


@long_test("hbtable bench with servers of its own")
def test_servers_of_its_own(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["bench", "--servers=1,2", "--rows=40"], env={"TMPDIR": str(tmp_path)})
    assert done.exit_code == 0, done.output
    assert re.fullmatch(r"tablet servers +1 +2 +1 +50 +250 +500", done.stdout.splitlines()[2])
    assert done.stdout.splitlines()[0].endswith("clients: 1, 2")


def test_a_table_of_its_name_is_left_alone(server: WarmServer) -> None:
    with closing(server.connect()) as connection:
        connection.create_table("mine_mem", {"f": {}})
        connection.table("mine_mem").put(b"r", {b"f:a": b"1"})
        done = invoked(server, "--table=mine", "--rows=20")
        assert done.exit_code == 1
        assert "the table mine_mem is there already" in done.stderr
        assert connection.table("mine_mem").row(b"r") == {b"f:a": b"1"}
        assert b"mine" not in connection.tables()
        connection.delete_table("mine_mem", disable=True)


@pytest.mark.parametrize("peer", [HbtablePeer, Thrift1Peer])
def test_a_table_that_somebody_makes_meanwhile_is_left_alone(
    server: WarmServer, monkeypatch: pytest.MonkeyPatch, peer: "type[HbtablePeer | Thrift1Peer]"
) -> None:
    """As two benchmarks do that are started together."""
    create: Any = peer.create

    def late(self: Any, schema: TableSchema, split_rows: Sequence[bytes]) -> None:
        if schema.name == b"late_mem":
            with closing(server.connect()) as connection:
                connection.create_table("late_mem", {"f": {}})
                connection.table("late_mem").put(b"r", {b"f:a": b"1"})
        create(self, schema, split_rows)

    monkeypatch.setattr(peer, "create", late)
    monkeypatch.setattr(measuring, "connect_peer", lambda given, _seconds: peer(ShellConnection(given.address)))
    done = invoked(server, "--table=late", "--rows=20")
    assert (done.exit_code, "the table late_mem is there already" in done.stderr) == (1, True), done.output
    with closing(server.connect()) as connection:
        assert connection.table("late_mem").row(b"r") == {b"f:a": b"1"}
        assert b"late" not in connection.tables()
        connection.delete_table("late_mem", disable=True)


def test_a_table_whose_creation_was_not_answered_is_dropped(
    server: WarmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = HbtablePeer.create

    def unanswered(self: HbtablePeer, schema: TableSchema, split_rows: Sequence[bytes]) -> None:
        create(self, schema, split_rows)
        raise BrokenOff("no answer")

    monkeypatch.setattr(HbtablePeer, "create", unanswered)
    done = invoked(server, "--rows=20")
    assert (done.exit_code, "no answer" in done.stderr) == (3, True), done.output
    assert not set(tables(server)) & set(TABLES)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--servers=0"], "numbers from 1 to 99"),
        (["--servers=1,,2"], "numbers from 1 to 99"),
        (["--servers=1"], "give one of them"),
        (["--workloads=scans,gets"], "'gets' is none of random reads"),
        (["--rows=9"], "--rows"),
        (["--value-bytes=9"], "--value-bytes"),
        (["--clients=0"], "--clients"),
    ],
)
def test_misuse(server: WarmServer, words: list[str], message: str) -> None:
    done = invoked(server, *words)
    assert (done.exit_code, message in done.stderr) == (2, True), done.output


def test_too_few_rows_for_so_many_clients(server: WarmServer) -> None:
    done = invoked(server, "--rows=79", "--clients=8")
    assert done.exit_code == 1
    assert "79 rows are no 10 pieces for each of 8 clients" in done.stderr


def test_ctrl_c_drops_its_tables(server: WarmServer) -> None:
    command = [sys.executable, "-m", "hbtable", "bench", f"--url=127.0.0.1:{server.port}", "--rows=1000000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(None)) as process:
        eventually(lambda: written(server, TABLES[0]), SOON_SECONDS, "the first row")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=SOON_SECONDS)
    assert (process.returncode, errors) == (130, "broken off; the tables of the benchmark are dropped\n")
    assert not set(tables(server)) & set(TABLES)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_its_clients_end_with_it(server: WarmServer, number: signal.Signals) -> None:
    words = [f"--url=127.0.0.1:{server.port}", "--rows=1000000", "--clients=2", "--table=killed"]
    command = [sys.executable, "-m", "hbtable", "bench", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment(None)) as process:
        eventually(lambda: written(server, b"killed"), SOON_SECONDS, "the first row")
        tasks = Path(f"/proc/{process.pid}/task").iterdir()
        clients = [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
        process.send_signal(number)
    assert len(clients) >= 2
    eventually(lambda: not any(map(runs, clients)), SOON_SECONDS, "the clients to end")
    with closing(server.connect()) as connection:
        for name in ("killed", "killed_mem"):
            connection.delete_table(name, disable=True)


def written(server: WarmServer, name: bytes) -> bool:
    with closing(server.connect()) as connection:
        return name in connection.tables() and next(connection.table(name).scan(limit=1), None) is not None
