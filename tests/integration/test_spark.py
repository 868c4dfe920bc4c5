"""PySpark's reads, writes and streams of a table, and MapReduce on Spark, beside plain Python over a happybase scan.

A read, a write and a stream are in each `make verify`. All else is one test: a session is a JVM, whose start is slow.
"""

import json
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import hbtable
from hbtable import dataflow, mapreduce
from tests.harness.document_blocks import run_blocks
from tests.harness.engine_tables import Engine, Written
from tests.harness.secured_engine import CHECKS as CHECKS_OF_EVERY_ENGINE
from tests.harness.server import ServerProcess
from tests.harness.server_processes import kill_servers, server_pids
from tests.harness.spark_session import spark_session
from tests.harness.tiers import long_test
from tests.integration import test_mapreduce as jobs

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="no pyspark: pip install 'hbtable[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java, which Spark needs"),
    pytest.mark.filterwarnings("default"),  # PySpark's own
]

ROWS = 2000
TYPES: dict[str, pa.DataType | None] = {
    "c:site": pa.string(),
    "c:clicks": pa.int64(),
    "c:share": pa.float64(),
    "c:seen": pa.timestamp("ms"),
    "c:day": pa.date32(),
    "c:new": pa.bool_(),
    "c:links": pa.list_(pa.string()),
    "c:raw": None,
}
DECODED: dict[bytes, Callable[[bytes], Any]] = {
    b"c:site": bytes.decode,
    b"c:clicks": lambda value: struct.unpack(">q", value)[0],
    b"c:share": lambda value: struct.unpack(">d", value)[0],
    b"c:seen": lambda value: datetime(1970, 1, 1) + timedelta(milliseconds=struct.unpack(">q", value)[0]),  # noqa: DTZ001  # as Spark has it
    b"c:day": lambda value: date(1970, 1, 1) + timedelta(struct.unpack(">i", value)[0]),
    b"c:new": lambda value: value != b"\0",
    b"c:links": json.loads,
    b"c:raw": bytes,
}
"""In plain Python, in the order of TYPES."""
Record = tuple[Any, ...]


def cells_of(number: int) -> dict[str, bytes]:
    """A row of the table; in each there are other columns."""
    cells = [
        b"site%d" % (number % 7),
        struct.pack(">q", (number - 1000) * 2**40),
        struct.pack(">d", number / 7 if number % 11 else float("inf")),
        struct.pack(">q", (number - 1000) * 86_399_999),
        struct.pack(">i", number - 1000),
        b"\xff" if number % 2 else b"\0",
        json.dumps([f"{number}", "\u00e9"][: number % 3], ensure_ascii=False).encode(),
        bytes([number % 256, 0, 255]),
    ]
    return {column: cell for at, (column, cell) in enumerate(zip(TYPES, cells, strict=True)) if number % (at + 3)}


class Stage(NamedTuple):
    """Everything that a check needs."""

    spark: Any
    server: ServerProcess
    table: hbtable.Table
    folder: Path

    def expected(self) -> list[Record]:
        return [
            (row, *(decoded(data[column]) if column in data else None for column, decoded in DECODED.items()))
            for row, data in self.plain("clicks").items()
        ]

    def plain(self, name: str, **scan: Any) -> dict[bytes, dict[bytes, Any]]:
        connection = self.server.connect()
        try:
            return dict(connection.table(name).scan(**scan))
        finally:
            connection.close()


@contextmanager
def stage(folder: Path, rows: int, splits: list[str], *arguments: str) -> Iterator[Stage]:
    server = ServerProcess(folder / "data", ["log.durability=os"])
    server.arguments = list(arguments)
    settings = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",  # code made for each query is for longer ones
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    with spark_session(folder, settings) as spark, server, hbtable.connect("127.0.0.1", server.port) as db:
        table = db.create_table("clicks", ["c"], split_rows=splits)
        with table.batch(batch_size=500) as batch:
            for number in range(1, rows + 1):
                batch.put(f"{number:04}", cells_of(number))
        yield Stage(spark, server, table, folder)


def records(frame: Any) -> list[Record]:
    return [tuple(bytes(one) if isinstance(one, bytearray) else one for one in record) for record in frame.collect()]


def sums(found: list[Record]) -> dict[str, int]:
    by_site: dict[str, int] = {}
    for _, site, clicks, *_ in found:
        if site is not None:
            by_site[site] = by_site.get(site, 0) + (clicks or 0)
    return by_site


def check_every_cell_and_exact_sums_while_a_server_is_killed_and_a_tablet_splits(stage: Stage) -> None:
    expected = stage.expected()
    assert len(expected) == ROWS
    frame = dataflow.to_spark(stage.spark, stage.table, TYPES, at_least=4, row_stop="1900")
    stage.table.put("1000x", {"c:site": "too late to be read"})
    stage.table.connection.split_table("clicks", "1000")  # type: ignore[attr-defined]
    kill_servers(server_pids(stage.server)[:1])
    assert records(frame) == [one for one in expected if one[0] < b"1900"]
    with hbtable.connect("127.0.0.1", stage.server.port) as db:
        db.table("clicks").delete("1000x")
    by_site = dataflow.to_spark(stage.spark, stage.table, TYPES).groupBy("`c:site`").sum("`c:clicks`").collect()
    assert {site: total or 0 for site, total in by_site if site is not None} == sums(expected)


def engine(spark: Any) -> Engine:
    def source(*table: Any, **rows: Any) -> Callable[[], list[Record]]:
        frame = dataflow.to_spark(spark, *table, **rows)
        return lambda: sorted(records(frame))

    def sink(table: hbtable.Table, column: str, **arguments: Any) -> Callable[[list[Written]], None]:
        target = dataflow.spark_target(spark, table, "id", {"n": column}, types={column: pa.int64()}, **arguments)

        def write(rows: list[Written]) -> None:
            frame = spark.createDataFrame(rows, "id binary, n long")
            frame.write.format("hbtable").options(**target).mode("append").save()

        return write

    return Engine(source, sink)


def check_what_spark_does_not_have_is_told(stage: Stage) -> None:
    with pytest.raises(hbtable.WrongType, match="c:clicks is to be read as uint64, which Spark does not have"):
        dataflow.to_spark(stage.spark, stage.table, {"c:clicks": pa.uint64()})
    with pytest.raises(hbtable.WrongType, match="has to be a SparkSession"):
        dataflow.to_spark("spark", stage.table, TYPES)  # type: ignore[arg-type]


def check_writes_leave_the_same_when_they_are_repeated(stage: Stage) -> None:
    owner: Any = stage.table.connection
    copy = owner.create_table("copy", {"d": {"max_versions": 5}})
    columns = {column: column.replace("c:", "d:") for column in TYPES}
    types = {columns[column]: type for column, type in TYPES.items()}
    frame = dataflow.to_spark(stage.spark, stage.table, TYPES)
    target = dataflow.spark_target(stage.spark, copy, columns=columns, types=types, timestamp=7)
    for _ in range(2):
        frame.write.format("hbtable").options(**target).mode("append").save()
    source = stage.plain("clicks")
    expected = {row: {b"d" + name[1:]: (value, 7) for name, value in data.items()} for row, data in source.items()}
    assert stage.plain("copy", include_timestamp=True) == expected
    assert all(len(copy.cells(row, "d:site", versions=5)) <= 1 for row in list(source)[:20])
    with pytest.raises(Exception, match="nothing empties table copy before Spark writes to it"):
        frame.write.format("hbtable").options(**target).mode("overwrite").save()
    assert stage.plain("copy", include_timestamp=True) == expected


def check_a_stream_writes_each_batch(stage: Stage) -> None:
    owner: Any = stage.table.connection
    events = owner.create_table("events", {"e": {"max_versions": 5}})
    incoming = stage.folder / "incoming"
    incoming.mkdir()
    for number, text in enumerate(['{"id": "a", "n": 1}\n{"id": "b", "n": 2}\n', '{"id": "a", "n": 3}\n']):
        (incoming / f"{number}.json").write_text(text)
        os.utime(incoming / f"{number}.json", (number + 1, number + 1))
    lines = stage.spark.readStream.schema("id string, n bigint").option("maxFilesPerTrigger", 1).json(str(incoming))
    target = dataflow.spark_target(stage.spark, events, "id", {"n": "e:n"})
    query = lines.writeStream.format("hbtable").options(**target).trigger(availableNow=True)
    query.option("checkpointLocation", str(stage.folder / "marks")).start().awaitTermination()
    found = {row: struct.unpack(">q", data[b"e:n"])[0] for row, data in stage.plain("events").items()}
    assert found == {b"a": 3, b"b": 2}
    assert [len(events.cells(row, "e:n", versions=5)) for row in ("a", "b")] == [2, 1]


def check_a_stream_that_is_begun_anew_leaves_no_cell_twice_and_misses_none(stage: Stage) -> None:
    """Its second batch is written, and not yet noted when the query ends: Spark makes it again."""
    owner: Any = stage.table.connection
    events = owner.create_table("again", {"e": {"max_versions": 5}})
    incoming, marks = stage.folder / "numbers", stage.folder / "marks-again"
    incoming.mkdir()
    target = dataflow.spark_target(stage.spark, events, "id", {"n": "e:n"}, timestamp=7)
    lines = stage.spark.readStream.schema("id string, n bigint").option("maxFilesPerTrigger", 1).json(str(incoming))
    query = lines.writeStream.format("hbtable").options(**target).trigger(availableNow=True)
    query = query.option("checkpointLocation", str(marks))

    def take_in(*numbers: int) -> None:
        for number in numbers:
            (incoming / f"{number}.json").write_text(f'{{"id": "{number}", "n": {number}}}\n')
            os.utime(incoming / f"{number}.json", (number, number))
        query.start().awaitTermination()

    take_in(1, 2)
    done = marks / "commits" / "1"
    for name in (done, done.with_name(".1.crc")):
        name.unlink()
    take_in(3)
    assert done.exists(), "the batch was not made again"
    assert {row: struct.unpack(">q", data[b"e:n"])[0] for row, data in stage.plain("again").items()} == {
        b"1": 1,
        b"2": 2,
        b"3": 3,
    }
    assert [events.cells(row, "e:n", versions=5, include_timestamp=True) for row in ("1", "2", "3")] == [
        [(struct.pack(">q", number), 7)] for number in (1, 2, 3)
    ]


def check_mapreduce_has_what_plain_python_and_other_engines_have(stage: Stage) -> None:
    owner: Any = stage.table.connection
    web = jobs.webtable(owner)
    words = jobs.word_counts()
    import dask

    counters = []
    for on in ("processes", "dask", "spark"):
        engine: Any = on
        counts = owner.create_table(f"counts-{on}", ["n"])
        with dask.config.set(scheduler="synchronous"):
            result = mapreduce.run(web, jobs.words, jobs.total, counts, jobs.sum_of, columns=["contents:"], on=engine)
        counters.append(dict(result.counters))
        assert stage.plain(f"counts-{on}") == {word: {b"n:count": b"%d" % count} for word, count in words.items()}
    assert counters[0] == counters[1] == counters[2]
    assert counters[2]["pages"] == len(jobs.PAGES)
    index = owner.create_table("index", ["p"])
    mapreduce.run(web, jobs.postings, jobs.index, index, on="spark", work=stage.folder / "work")
    assert stage.plain("index") == jobs.inverted_index()
    with pytest.raises(Exception, match="as ever"):
        mapreduce.run(web, jobs.always_fails, jobs.total, None, on="spark")


def check_the_page_about_jobs(stage: Stage) -> None:
    """Here, as its block takes the session that there is."""
    run_blocks("docs/data.md", "pyspark", stage.folder)


CHECKS: list[Callable[[Stage], None]] = [
    check_every_cell_and_exact_sums_while_a_server_is_killed_and_a_tablet_splits,
    check_what_spark_does_not_have_is_told,
    check_writes_leave_the_same_when_they_are_repeated,
    check_a_stream_that_is_begun_anew_leaves_no_cell_twice_and_misses_none,
    check_mapreduce_has_what_plain_python_and_other_engines_have,
    check_the_page_about_jobs,
]


@pytest.mark.verify
def test_a_read_a_write_and_a_stream(tmp_path: Path) -> None:
    """One after the other, over one table of three tablets."""
    with stage(tmp_path, 90, ["0030", "0060"]) as made:
        frame = dataflow.to_spark(made.spark, made.table, TYPES, row_start="0005", row_stop="0085")
        expected = [one for one in made.expected() if b"0005" <= one[0] < b"0085"]
        assert len(expected) == 80
        assert records(frame) == expected
        owner: Any = made.table.connection
        copy = owner.create_table("copy", ["c"])
        target = dataflow.spark_target(made.spark, copy, types=TYPES, timestamp=7)
        frame.write.format("hbtable").options(**target).mode("append").save()
        source = made.plain("clicks", row_start=b"0005", row_stop=b"0085")
        assert made.plain("copy", include_timestamp=True) == {
            row: {column: (value, 7) for column, value in data.items()} for row, data in source.items()
        }
        check_a_stream_writes_each_batch(made)


@long_test("Spark")
def test_all_else_of_spark(tmp_path: Path, subtests: pytest.Subtests) -> None:
    with stage(tmp_path, ROWS, ["0500", "1500"], "--servers", "2") as made:
        for check in CHECKS:
            with subtests.test(check.__name__):
                check(made)
        for common in CHECKS_OF_EVERY_ENGINE:
            with subtests.test(common.__name__):
                common(engine(made.spark), made.server, made.folder)
