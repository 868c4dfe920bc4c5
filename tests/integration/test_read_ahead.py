"""Pages made ahead by a server with everything in it: a scan shows each write acknowledged before its fetch."""

from collections.abc import Iterator
from typing import Any

import happybase
import pytest

import hbtable
from hbtable.hbase.read_ahead import ReadAhead

pytestmark = pytest.mark.integration

PAGE = 20
OLD = b"old" * 5000
PAGES = 8
ROWS = [b"r%03d" % number for number in range(PAGE * PAGES)]


@pytest.fixture
def database() -> Iterator[Any]:
    with hbtable.open(":memory:") as opened:
        with opened.create_table("t", {"f": {"max_versions": 1}}).batch() as batch:
            for row in ROWS:
                batch.put(row, {b"f:q": OLD})
        yield opened


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each fetch that found a page made ahead: whether it was given out."""
    found = []
    take = ReadAhead.take

    def noting(*arguments: Any) -> Any:
        answer = take(*arguments)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(ReadAhead, "take", noting)
    return found


@pytest.fixture
def connection(database: Any) -> Iterator[happybase.Connection]:
    connection = happybase.Connection("127.0.0.1", database.serve(port=0), timeout=60_000)
    yield connection
    connection.close()


@pytest.mark.parametrize("compacted", [False, True])
def test_a_scan_takes_its_pages_from_those_made_ahead(
    database: Any, connection: happybase.Connection, taken: list[bool], compacted: bool
) -> None:
    if compacted:
        database.compact_table("t", major=True)
    found = list(connection.table("t").scan(batch_size=PAGE))
    assert found == [(row, {b"f:q": OLD}) for row in ROWS]
    assert taken == [True] * (PAGES - 2) or taken == [True] * (PAGES - 1)


def test_a_write_before_a_fetch_is_seen_by_it(
    database: Any, connection: happybase.Connection, taken: list[bool]
) -> None:
    scan = connection.table("t").scan(batch_size=PAGE)
    rows = [next(scan)[0] for _ in range(2 * PAGE)]
    for row in ROWS[2 * PAGE : 3 * PAGE]:
        database.table("t").put(row, {b"f:q": b"new"})
    third = [next(scan) for _ in range(PAGE)]
    assert third == [(row, {b"f:q": b"new"}) for row in ROWS[2 * PAGE : 3 * PAGE]]
    assert [*rows, *(row for row, _ in third), *(row for row, _ in scan)] == ROWS
    assert taken == [False]


def test_a_table_that_is_disabled_before_a_fetch_is_not_shown(
    database: Any, connection: happybase.Connection, taken: list[bool]
) -> None:
    scan = connection.table("t").scan(batch_size=PAGE)
    for _ in range(2 * PAGE):
        next(scan)
    database.disable_table("t")
    with pytest.raises(Exception, match="disabled"):
        next(scan)
    assert taken == [False]
