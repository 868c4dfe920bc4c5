"""hbtable.open(":memory:"): a database without a folder."""

import gc
from pathlib import Path
from typing import Any

import pytest

import hbtable
from tests.harness.kept_objects import check_keeps_none

pytestmark = pytest.mark.integration

ROW = {b"f:q": b"v"}


@pytest.fixture(autouse=True)
def nothing_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [":memory:", b":memory:", Path(":memory:")])
def test_it_does_what_a_database_on_disk_does_and_ends_with_close(path: Any) -> None:
    with hbtable.open(path) as database:
        table = database.create_table("t", {"f": {"max_versions": 1}})
        with table.batch() as batch:
            for number in range(300):
                batch.put(b"%03d" % number, {b"f:q": b"%d" % number})
        database.flush_table("t")
        assert database.split_table("t")
        table.delete(b"000")
        database.compact_table("t", major=True)
        assert len(database.tablets("t")) == 2
        assert [row for row, _ in table.scan()] == [b"%03d" % number for number in range(1, 300)]
        assert table.counter_inc(b"c", b"f:c", 3) == 3
        assert repr(database) == "<hbtable database :memory:>"
    with pytest.raises(hbtable.Unavailable, match="the database :memory: is closed"):
        table.row(b"001")
    with hbtable.open(path) as database:
        assert database.tables() == []


def test_each_open_makes_another_one() -> None:
    with hbtable.open(":memory:") as first, hbtable.open(":memory:", durability="os") as second:
        first.create_table("t", ["f"]).put(b"r", ROW)
        assert second.tables() == []
        second.create_table("t", ["f"])
        first.close()
        assert second.table("t").row(b"r") == {}


def test_reading_alone_makes_no_sense() -> None:
    with pytest.raises(hbtable.InvalidRequest, match="with read_only=True it would stay one"):
        hbtable.open(":memory:", read_only=True)


def test_a_folder_of_that_name_is_opened_by_another_spelling(tmp_path: Path) -> None:
    folder = tmp_path.parent / f"{tmp_path.name}-other"
    folder.mkdir()
    with hbtable.open(str(folder / ":memory:")) as database:
        database.create_table("t", ["f"])
    assert (folder / ":memory:" / "FORMAT").exists()


def test_what_was_replaced_leaves_the_memory() -> None:
    with hbtable.open(":memory:") as database:
        files = database._cluster._fs  # type: ignore[attr-defined]  # an EmbeddedDatabase
        table = database.create_table("t", {"f": {"max_versions": 1}})
        for _ in range(5):
            table.put(b"r", {b"f:q": bytes(1 << 20)})
            database.flush_table("t")
        database.compact_table("t", major=True)
        database._portal.call(database._cluster.master.collect_garbage)  # type: ignore[attr-defined]
        assert files.list_files("trash") == []
        assert sum(file.length_bytes for file in files.list_files("sstables")) < 2 << 20


def test_a_closed_one_keeps_no_object() -> None:
    def opened() -> None:
        with hbtable.open(":memory:") as database:
            database.create_table("t", ["f"]).put(b"r", ROW)

    check_keeps_none(opened)


def test_reads_and_writes_leave_nothing_for_the_cycle_collector() -> None:
    """It runs beside all requests, and what waits for it is memory."""
    with hbtable.open(":memory:") as database:
        table = database.create_table("t", {"f": {}})

        def work() -> None:
            for number in range(200):
                table.put(b"%03d" % number, {b"f:q": b"v"})
                table.row(b"%03d" % number)
                table.counter_inc(b"%03d" % number, b"f:c")
                list(table.scan(row_prefix=b"%03d" % number))
                list(table.scan(row_prefix=b"%03d" % number, filter="KeyOnlyFilter()"))

        work()
        gc.collect()
        gc.disable()
        try:
            work()
            assert gc.collect() < 200
        finally:
            gc.enable()
