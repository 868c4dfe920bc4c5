"""Disk, memory, cells and requests of column families, compared with the files as they lie there and with a count of
what was written and read."""

import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from thriftpy2.rpc import make_client

import hbtable
from hbtable.library.row_changes import RowChanges
from hbtable.model.usage import FIGURES, FamilyUsage, from_texts, summed
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.reader import SSTableReader
from tests.harness.interfaces import interface
from tests.harness.warm_commands import run_warm as run
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

TWO = interface("hbase2")
GROUPS = [(b"alone",), (b"one", b"two")]
"""Two families share a locality group."""
FAMILIES = {
    "alone": {"max_versions": 2},
    "one": {"locality_group": "shared"},
    "two": {"locality_group": "shared"},
}
STEPS = (
    *("put", "put", "put", "batch", "delete", "get", "columns", "scan", "flush", "compact"),
    *("increment", "append", "mutate", "check"),
)
NOTHING_BY_ITSELF = {"tablet.merge_files": 1000, "tablet.max_files": 1000, "tablet.stall_files": 2000}


def by_group(usages: list[FamilyUsage]) -> dict[tuple[bytes, ...], FamilyUsage]:
    return {one.families: one for one in usages}


def on_disk(folder: Path, database: hbtable.EmbeddedDatabase, table: str) -> dict[tuple[bytes, ...], list[int]]:
    """Files, bytes and cells, of the files that the tablets name: each is read, whole."""
    found: dict[tuple[bytes, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for tablet in database.tablets(table):
        for key, refs in tablet.files:
            sums = found[tuple(sorted(name.split("\x01")[0].encode() for name in key.split("/")))]
            for ref in refs:
                [path] = [one for one in folder.rglob(Path(ref.path).name) if one.is_file()]
                data = path.read_bytes()
                reader = SSTableReader.open(
                    lambda offset, size, data=data: data[offset : offset + size],
                    ref.path,
                    len(data),
                    BlockCache(0),
                    ref.footer_checksum,
                )
                sums[0] += 1
                sums[1] += len(data)
                sums[2] += reader.verify()
    return found


class Model:
    """A count of what was done."""

    def __init__(self) -> None:
        self.read: defaultdict[tuple[bytes, ...], int] = defaultdict(int)
        self.written: defaultdict[tuple[bytes, ...], int] = defaultdict(int)
        self.unflushed: defaultdict[tuple[bytes, ...], int] = defaultdict(int)
        self.unflushed_bytes: defaultdict[tuple[bytes, ...], int] = defaultdict(int)
        self.sums: defaultdict[tuple[bytes, bytes], int] = defaultdict(int)
        self.texts: defaultdict[tuple[bytes, bytes], bytes] = defaultdict(bytes)

    def put(self, row: bytes, data: dict[bytes, bytes]) -> None:
        for column, value in data.items():
            group = next(group for group in GROUPS if column.partition(b":")[0] in group)
            self.written[group] += 1
            self.unflushed[group] += 1
            self.unflushed_bytes[group] += len(row) + len(column) + len(value)

    def add(self, row: bytes, data: dict[bytes, int]) -> None:
        """A number of 8 bytes a column."""
        self.put(row, {column: self.added(row, column, number) for column, number in data.items()})

    def added(self, row: bytes, column: bytes, number: int) -> bytes:
        self.sums[row, column] += number
        return self.sums[row, column].to_bytes(8, "big", signed=True)

    def append(self, row: bytes, data: dict[bytes, bytes]) -> None:
        """The whole new value is written."""
        for column, suffix in data.items():
            self.texts[row, column] += suffix
            self.put(row, {column: self.texts[row, column]})

    def flushed(self) -> None:
        self.unflushed.clear()
        self.unflushed_bytes.clear()

    def read_rows(self, families: set[bytes], rows: int) -> None:
        for group in GROUPS:
            if families & set(group):
                self.read[group] += rows


def added_to(database: hbtable.EmbeddedDatabase, model: Model, kind: str, row: bytes, number: int) -> None:
    """One call that adds, which reads what is there: that is no row that a client read."""
    table = database.table("t")
    changes = RowChanges().increment(b"alone:n", number).append({b"two:s": b"+%d" % number}).put({b"one:p": b"p"})
    match kind:
        case "increment":
            model.add(row, {b"one:n": number})
            assert table.counter_inc(row, b"one:n", number) == model.sums[row, b"one:n"]
        case "append":
            suffixes = {b"two:s": b"-%d" % number, b"alone:s": b"-"}
            model.append(row, suffixes)
            assert table.append(row, suffixes) == {column: model.texts[row, column] for column in suffixes}
        case "mutate":
            table.mutate_row(row, changes)
        case "check":
            assert table.check_and_mutate(row, b"one:never", "=", None, changes)
            # One that is not made writes nothing.
            assert not table.check_and_mutate(row, b"one:never", "!=", None, changes)
    if kind in ("mutate", "check"):
        model.add(row, {b"alone:n": number})
        model.append(row, {b"two:s": b"+%d" % number})
        model.put(row, {b"one:p": b"p"})


def worked(database: hbtable.EmbeddedDatabase, model: Model, seed: int) -> None:
    """Puts, deletes, reads, flushes and compactions, the same for the same seed."""
    chance = random.Random(seed)
    table = database.table("t")
    columns = [b"alone:a", b"alone:b", b"one:", b"two:\xff\x00"]
    for step in range(450):
        row = b"row %d" % chance.randrange(40)
        match chance.choice(STEPS):
            case "increment" | "append" | "mutate" | "check" as kind:
                added_to(database, model, kind, row, chance.randrange(-5, 1000))
            case "put":
                data = {column: b"%d" % step * chance.randrange(30) for column in chance.sample(columns, 2)}
                table.put(row, data)
                model.put(row, data)
            case "batch":
                with table.batch() as batch:
                    for number in range(30):
                        batch.put(b"batch %d" % number, {b"two:x": b"v"})
                        model.put(b"batch %d" % number, {b"two:x": b"v"})
            case "delete":
                table.delete(row, [b"one:"])
                model.put(row, {b"one:": b""})
            case "get":
                table.row(row)
                model.read_rows({b"alone", b"one"}, 1)
            case "columns":
                table.rows([row, b"nothing"], [b"two:\xff\x00"])
                model.read_rows({b"two"}, 2)
            case "scan":
                rows = len(list(table.scan(columns=[b"alone"], row_prefix=b"row 1")))
                model.read_rows({b"alone"}, rows)
            case "flush" if not chance.randrange(4):
                database.flush_table("t")
                model.flushed()
            case "compact" if not chance.randrange(8):
                database.compact_table("t", major=True)
                model.flushed()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_usage_is_what_the_files_and_the_work_amount_to(tmp_path: Path, seed: int) -> None:
    with hbtable.open(str(tmp_path), durability="os", config=NOTHING_BY_ITSELF) as database:
        database.create_table("t", FAMILIES)
        model = Model()
        worked(database, model, seed)
        found = by_group(database.table("t").usage())
        files = on_disk(tmp_path, database, "t")
        assert sorted(found) == GROUPS
        for group, usage in found.items():
            assert usage.table == "t"
            assert [usage.files, usage.file_bytes, usage.file_cells] == files.get(group, [0, 0, 0])
            assert usage.memtable_cells == model.unflushed[group]
            least = model.unflushed_bytes[group]
            assert least <= usage.memtable_bytes <= least + 250 * model.unflushed[group]
            assert usage.written_cells == model.written[group]
            assert usage.read_rows == model.read[group]
        assert sum(usage.file_bytes for usage in found.values()) > 0
        check_metrics(database, found)


def check_metrics(database: hbtable.EmbeddedDatabase, found: dict[tuple[bytes, ...], FamilyUsage]) -> None:
    """The metrics say the same, and all families together have what the process has."""
    text = database.metrics()
    shown: defaultdict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for name, family, table, number in re.findall(
        r'^hbtable_family_(\w+)\{family="([^"]+)",table="([^"]+)"\} (\S+)$', text, re.MULTILINE
    ):
        shown[name.removesuffix("_total")][table, family] = float(number)
    assert sorted(shown) == sorted(FIGURES)
    for group, usage in found.items():
        for figure in FIGURES:
            assert shown[figure]["t", b"/".join(group).decode()] == getattr(usage, figure), figure
    cache = re.search(r"^hbtable_block_cache_bytes (\S+)$", text, re.MULTILINE)
    assert cache is not None
    assert sum(shown["cache_bytes"].values()) == float(cache[1])
    assert {table for table, _ in shown["file_bytes"]} == {"t", "hbase:meta"}


def test_blocks_in_the_cache_are_those_of_their_family(tmp_path: Path) -> None:
    with hbtable.open(str(tmp_path), durability="os") as database:
        table = database.create_table("t", {"read": {}, "left": {}, "kept": {"in_memory": True}})
        value = random.Random(1).randbytes(1000)
        for number in range(500):
            table.put(b"%04d" % number, {b"read:": value, b"left:": value, b"kept:": value})
        database.flush_table("t")
        before = by_group(table.usage())
        assert before[b"read",].cache_bytes == before[b"left",].cache_bytes == 0
        assert len(table.rows([b"%04d" % number for number in range(500)], [b"read", b"kept"])) == 500
        after = by_group(table.usage())
        assert after[b"read",].cache_bytes > 500_000
        assert after[b"kept",].cache_bytes > 500_000
        assert after[b"left",].cache_bytes == 0


def test_halves_of_a_split_tablet_count_shared_files_once(tmp_path: Path) -> None:
    with hbtable.open(str(tmp_path), durability="os") as database:
        table = database.create_table("t", {"f": {}})
        chance = random.Random(2)
        for number in range(2000):
            table.put(b"%05d" % number, {b"f:": chance.randbytes(500)})
        database.flush_table("t")
        assert len(table.rows([b"%05d" % number for number in range(2000)])) == 2000
        [before] = table.usage()
        assert database.split_table("t", b"01000")
        [after] = table.usage()
        assert after.cache_bytes == before.cache_bytes > 0
        assert abs(after.file_bytes - before.file_bytes) < before.file_bytes / 10
        assert abs(after.file_cells - before.file_cells) < before.file_cells / 10
        database.compact_table("t", major=True)
        assert table.usage()[0].file_cells == 2000


def test_a_dropped_family_and_a_disabled_table(tmp_path: Path) -> None:
    with hbtable.open(str(tmp_path), durability="os") as database:
        table = database.create_table("t", {"f": {}, "gone": {}})
        table.put(b"row", {b"f:": b"1", b"gone:": b"2"})
        database.flush_table("t")
        database.alter_table("t", drop=["gone"])
        database.compact_table("t", major=True)
        assert by_group(table.usage()).get((b"gone",), FamilyUsage("t", (b"gone",))).file_bytes == 0
        database.disable_table("t")
        assert table.usage() == []
        with pytest.raises(hbtable.TableNotFound):
            database.table("none").usage()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("usage"), ["log.durability=os"]) as server:
        yield server


def test_usage_of_a_server_over_thrift_and_in_the_shell(server: WarmServer) -> None:
    with hbtable.connect("127.0.0.1", server.port) as database:
        table = database.create_table("ns", FAMILIES)
        table.put(b"row", {b"one:": b"1"})
        database.flush_table("ns")
        table.put(b"row", {b"two:": b"2"})
        table.row(b"row")
        found = by_group(table.usage())
        shared = found[b"one", b"two"]
        assert (shared.files, shared.file_cells, shared.memtable_cells) == (1, 1, 1)
        assert (shared.read_rows, shared.written_cells) == (1, 2)
        assert found[b"alone",] == FamilyUsage("ns", (b"alone",), read_rows=1)
        with pytest.raises(hbtable.TableNotFound):
            database.table("none").usage()
        scanned_as_blocks(database, server)
        several_counters(database, server)
    lines = answer(server, "status 'families', 'ns'")
    assert lines[0].split() == ["TABLE", "FAMILY", *(figure.upper() for figure in FIGURES)]
    assert lines[2].split() == ["ns", "one/two", *map(str, shared[2:])]
    assert "hbase:meta" in "".join(answer(server, "status 'families'"))
    assert "Unknown table none!" in asked(server, "status 'families', 'none'").stderr


def scanned_as_blocks(database: hbtable.Database, server: WarmServer) -> None:
    """Rows that one file alone holds go out as they lie in its blocks: they count as others do."""
    table = database.create_table("blocks", {"f": {}})
    with table.batch() as batch:
        for number in range(3000):
            batch.put(b"%04d" % number, {b"f:": b"v"})
    database.flush_table("blocks")
    with closing(server.connect()) as connection:
        for _ in range(2):
            assert len(list(connection.table("blocks").scan(batch_size=1000))) == 3000
    [usage] = table.usage()
    assert (usage.read_rows, usage.written_cells, usage.file_cells) == (6000, 3000, 3000)


def several_counters(database: hbtable.Database, server: WarmServer) -> None:
    """Thrift2 adds to several counters at once: a cell is written for each, and no row counts as read."""
    table = database.create_table("counters", FAMILIES)
    columns = [TWO.TColumnIncrement(family, b"n", 7) for family in (b"alone", b"one", b"two")]
    columns.append(TWO.TColumnIncrement(b"two", b"m", -7))
    client: Any = make_client(TWO.THBaseService, "127.0.0.1", server.port)
    with closing(client):
        for row in (b"a", b"b", b"a"):
            client.increment(b"counters", TWO.TIncrement(row=row, columns=columns))
    found = by_group(table.usage())
    for group, written in zip(GROUPS, (3, 9), strict=True):
        usage = found[group]
        assert (usage.written_cells, usage.memtable_cells, usage.read_rows) == (written, written, 0)
    sums = {column: int.from_bytes(value, "big", signed=True) for column, value in table.row(b"a").items()}
    assert sums == {b"alone:n": 14, b"one:n": 14, b"two:n": 14, b"two:m": -14}


def asked(server: WarmServer, command: str) -> "subprocess.CompletedProcess[str]":
    return run("shell", "--url", f"127.0.0.1:{server.port}", "-n", "-e", command)


def answer(server: WarmServer, command: str) -> list[str]:
    return asked(server, command).stdout.splitlines()


def test_a_usage_comes_back_from_its_texts() -> None:
    made = FamilyUsage("ns:t", (b"a b", b"\xff\x80"), *range(8))
    assert from_texts(made.texts()) == made
    assert from_texts({**made.texts(), "later": "5"}) == made
    assert summed([made, made]) == [FamilyUsage("ns:t", made.families, *(2 * number for number in range(8)))]
