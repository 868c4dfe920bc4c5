"""Expressions in CEL through the ways in, with real worker processes: the same rows by each, and nobody waits."""

import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import happybase
import pytest

import hbtable
from tests.harness.warm_server import WarmServer

LONG = struct.Struct(">q").pack
COSTLY = "s.matches('(a?){0,500}(a?){0,500}b')"
VARIABLES = ("n int64 f:n", "kind string f:kind")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("cel") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def rows(server: WarmServer) -> dict[bytes, dict[bytes, bytes]]:
    """Of a table of three tablets: every third row has no kind."""
    made = {
        b"r%04d" % n: {b"f:n": LONG(n)} | ({b"f:kind": b"even" if n % 2 == 0 else b"odd"} if n % 3 else {})
        for n in range(1500)
    }
    with hbtable.connect(port=server.port) as db:
        db.create_table("t", ["f"])
        table = db.table("t")
        with table.batch() as batch:
            for row, data in made.items():
                batch.put(row, data)
        db.split_table("t", "r0500")
        db.split_table("t", "r1000")
    return made


def test_each_way_in_gives_the_rows_for_which_it_is_true(
    server: WarmServer, rows: dict[bytes, dict[bytes, bytes]]
) -> None:
    chosen = hbtable.Filter("CelFilter", "n % 7 == 1 && kind == 'odd'", *VARIABLES)
    wanted = [(row, data) for n, (row, data) in enumerate(rows.items()) if n % 7 == 1 and data.get(b"f:kind") == b"odd"]
    assert len(wanted) > 50
    with hbtable.connect(port=server.port) as db:
        table = db.table("t")
        assert list(table.scan(filter=chosen)) == wanted
        assert list(table.scan(filter=chosen, reverse=True)) == wanted[::-1]
        assert list(table.scan(filter=chosen, batch_size=7, limit=20)) == wanted[:20]
        assert table.rows([b"r0001", b"r0005", b"r0029"], filter=chosen) == [
            (row, data) for row, data in wanted if row in (b"r0001", b"r0029")
        ]
        assert table.row(b"r0002", filter=chosen) == {}
        assert table.aggregate({"rows": "rows"}, filter=chosen)["rows"] == len(wanted)
        assert table.to_arrow(filter=chosen).read_all().num_rows == sum(len(data) for _, data in wanted)
        assert table.mutate_if(b"r0001", hbtable.RowChanges().put({"f:seen": "1"}), filter=chosen)
        assert not table.mutate_if(b"r0002", hbtable.RowChanges().put({"f:seen": "1"}), filter=chosen)
        table.delete(b"r0001", columns=["f:seen"])
    connection = happybase.Connection("127.0.0.1", server.port)
    assert [(row, dict(data)) for row, data in connection.table("t").scan(filter=chosen.text)] == wanted
    connection.close()


def test_a_projection_is_a_column_like_any_other(server: WarmServer, rows: dict[bytes, dict[bytes, bytes]]) -> None:
    import pyarrow as pa

    square = hbtable.Filter("CelProjectionFilter", "f:square", "n * n", *VARIABLES)
    with hbtable.connect(port=server.port) as db:
        table = db.table("t")
        assert [data[b"f:square"] for _, data in table.scan(filter=square)] == [LONG(n * n) for n in range(1500)]
        # Only columns that are named are read.
        named = {"f:square": pa.int64(), "f:n": pa.int64()}
        found = table.to_arrow(columns=named, filter=square).read_all()
        assert found.column("f:square").to_pylist() == [n * n for n in range(1500)]
        assert found.column("f:n").null_count == 1500
        summed = table.aggregate({"all": ("sum", "f:square", "int64")}, filter=square)
        assert summed["all"] == sum(n * n for n in range(1500))


def test_what_takes_too_long_is_ended_and_others_are_served_meanwhile(
    server: WarmServer, rows: dict[bytes, dict[bytes, bytes]]
) -> None:
    with hbtable.connect(port=server.port) as db, hbtable.connect(port=server.port) as other:
        db.create_table("long", ["f"])
        db.table("long").put("r", {"f:s": b"a" * 1_000_000})
        refused: list[BaseException] = []

        def scan() -> None:
            try:
                list(db.table("long").scan(filter=hbtable.Filter("CelFilter", COSTLY, "s string f:s")))
            except hbtable.HbtableError as error:
                refused.append(error)

        scanning = threading.Thread(target=scan)
        scanning.start()
        served = 0
        while scanning.is_alive():
            assert other.table("t").row(b"r0001")
            served += 1
            scanning.join(0.02)  # as many calls as it can would take most of what this test takes
        assert served > 10
        assert isinstance(refused[0], hbtable.LimitExceeded)
        assert "could not be evaluated over 1000002 bytes: the worker process took more than" in str(refused[0])


def test_an_open_database_has_it_as_well(tmp_path: Path) -> None:
    with hbtable.open(tmp_path / "data") as db:
        table = db.create_table("t", ["f"])
        table.put("a", {"f:n": LONG(1)})
        table.put("b", {"f:n": LONG(2)})
        assert [row for row, _ in table.scan(filter=hbtable.Filter("CelFilter", "n > 1", *VARIABLES))] == [b"b"]
        with pytest.raises(hbtable.BadFilter, match="undeclared reference to 'm'"):
            list(table.scan(filter=hbtable.Filter("CelFilter", "m > 1", *VARIABLES)))
        with pytest.raises(hbtable.BadFilter, match="undeclared reference to 'm'"):
            table.row("nothing", filter=hbtable.Filter("CelFilter", "m > 1", *VARIABLES))
