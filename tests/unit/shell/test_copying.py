"""Comparing both sides of a copy, and what their digests are of."""

import io
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hbtable.hbase.admin.structs import AdminTablet
from hbtable.model.cell import Row
from hbtable.shell.copying.comparing import PartComparison, compare, whole_rows
from hbtable.shell.copying.copy_parts import CopyPart, left_of, restored
from hbtable.shell.copying.copy_progress import CopyProgress
from hbtable.shell.copying.digest import CellsDigest
from hbtable.shell.copying.hbtable_peer import HbtablePeer
from hbtable.shell.copying.page_size import PageSize, batches, size_of
from hbtable.shell.copying.peers import PeerAddress, parse_peer
from hbtable.shell.copying.thrift1_peer import Thrift1Peer
from hbtable.shell.copying.thrift2_peer import Thrift2Peer
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.servers import HbtableTransfer
from hbtable.shell.transfer.terminal_line import TerminalLine

CELLS = st.sets(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c"]), st.sampled_from([b"f:", b"f:a", b"g:"]), st.integers(0, 3)
    ),
    max_size=12,
)  # fmt: skip


def table(cells: set[tuple[bytes, bytes, int]], value: bytes = b"v") -> list[Row]:
    found: dict[bytes, list[tuple[bytes, int, bytes]]] = {}
    for row, column, time in sorted(cells, key=lambda one: (one[0], one[1], -one[2])):
        found.setdefault(row, []).append((column, time, value))
    return sorted(found.items())


def in_pages(rows: list[Row], sizes: list[int]) -> list[list[Row]]:
    """In pieces of so many cells, in pages of so many pieces."""
    size, page = sizes
    pieces = [(row, cells[first : first + size]) for row, cells in rows for first in range(0, len(cells), size)]
    return [pieces[first : first + page] for first in range(0, len(pieces), page)]


SIZES = st.lists(st.integers(1, 4), min_size=2, max_size=2)


@given(CELLS, CELLS, SIZES, SIZES)
def test_what_one_side_alone_has_is_found(
    ours: set[tuple[bytes, bytes, int]], theirs: set[tuple[bytes, bytes, int]], sizes: list[int], others: list[int]
) -> None:
    found = PartComparison()
    missing: list[Row] = []
    surplus: list[Row] = []
    compare(in_pages(table(ours), sizes), in_pages(table(theirs), others), found, missing.append, surplus.append)
    assert missing == table(ours - theirs)
    assert surplus == table(theirs - ours)
    assert (found.missing, found.surplus) == (len(ours - theirs), len(theirs - ours))
    assert (found.source.cells, found.target.cells) == (len(ours), len(theirs))
    assert (found.source == found.target) is (ours == theirs)


def test_a_cell_with_another_value_is_missing_and_not_surplus() -> None:
    found = PartComparison()
    missing: list[Row] = []
    cell = {(b"a", b"f:a", 1)}
    compare([table(cell, b"ours")], [table(cell, b"theirs")], found, missing.append, missing.append)
    assert missing == table(cell, b"ours")
    assert (found.missing, found.surplus) == (1, 0)
    assert found.source != found.target


@given(CELLS, SIZES, SIZES)
def test_a_digest_is_of_the_cells_and_not_of_how_they_came(
    cells: set[tuple[bytes, bytes, int]], sizes: list[int], others: list[int]
) -> None:
    one, two = CellsDigest(), CellsDigest()
    for page in in_pages(table(cells), sizes):
        one.add(page)
    for page in reversed(in_pages(table(cells), others)):
        two.add(page)
    assert one == two
    assert [row for row, _ in whole_rows(in_pages(table(cells), sizes))] == [row for row, _ in table(cells)]


@pytest.mark.parametrize(
    "other",
    [
        (b"rowf", [(b":a", 1, b"v")]),
        (b"row", [(b"f:a", 2, b"v")]),
        (b"row", [(b"f:", 1, b"av")]),
        (b"row", [(b"f:a", 1, b"w")]),
        (b"row", [(b"f:a", -1, b"v")]),
    ],
)
def test_each_part_of_a_cell_is_in_its_digest(other: Row) -> None:
    one, two = CellsDigest(), CellsDigest()
    one.add([(b"row", [(b"f:a", 1, b"v")])])
    two.add([other])
    assert one != two


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_counts_regions_rows_and_bytes_and_what_is_said_stays() -> None:
    now = [0.0]
    terminal = _Terminal()
    line = TerminalLine(lambda: now[0], stream=terminal)
    shown = CopyProgress(lambda: now[0], line, lambda text: terminal.write(text + "\n") and None)
    shown.begin("copying", regions=8, done=3, rows=1000)
    now[0] = 2.0
    shown.came([(b"row", [(b"f:a", 1, b"x" * 1954)])] * 2, 1)
    assert terminal.getvalue() == "\rcopying: 1,001 rows, 3.9 KiB, 3 of 8 regions, 0 rows/s, 2.0 KiB/s"[:80] + "\x1b[K"
    shown.ended()  # too soon after the last line
    assert terminal.getvalue().count("\r") == 1
    shown.say("made table t")
    assert terminal.getvalue().endswith("\r\x1b[Kmade table t\n")
    now[0] = 2.1
    shown.ended()
    assert "5 of 8 regions" in terminal.getvalue()


@pytest.mark.parametrize(("quiet", "stream"), [(True, _Terminal()), (False, io.StringIO())])
def test_no_line_where_none_is_wanted_or_no_terminal_is(quiet: bool, stream: io.StringIO) -> None:
    line = TerminalLine(lambda: 0.0, quiet, stream)
    line.show(lambda: "never")
    line.clear()
    assert stream.getvalue() == ""


def test_pages_grow_while_rows_are_small_and_shrink_when_they_are_not() -> None:
    size = PageSize()
    small, large = (b"r", [(b"f:a", 1, b"")]), (b"r", [(b"f:a", 1, b"x" * 5_000_000)])
    asked = []
    for row in (small, small, small, small, small, large, small):
        asked.append(size.rows)
        size.came([row] * size.rows)
    assert asked == [16, 64, 256, 1024, 2000, 2000, 1]
    assert size.rows == 4


def test_writes_are_bounded_by_their_bytes() -> None:
    page = [(b"%d" % number, [(b"f:a", 1, b"x" * 900_000)]) for number in range(7)]
    found = batches(page)
    assert [row for batch in found for row in batch] == page
    assert [len(batch) for batch in found] == [3, 3, 1]
    assert batches([]) == []
    assert size_of(page[0]) > 900_000


def test_a_part_comes_back_from_the_state_file() -> None:
    part = CopyPart(b"ns:t", b"\x00\xff", b"", b"\xfe", 5, 17, True)
    assert restored([part.saved()]) == [part]
    assert restored(None) == []
    assert part.shown() == "ns:t [\\x00\\xff, )"


@pytest.mark.parametrize(
    ("text", "peer"),
    [
        ("127.0.0.1:9090", PeerAddress("thrift", "127.0.0.1:9090")),
        ("thrift://h:1", PeerAddress("thrift", "thrift://h:1")),
        ("thrift+tls://ann@h:1?ca=f", PeerAddress("thrift", "thrift+tls://ann@h:1?ca=f")),
        ("thrift1://h:1", PeerAddress("thrift1", "thrift://h:1")),
        ("thrift2+tls://h:1", PeerAddress("thrift2", "thrift+tls://h:1")),
    ],
)
def test_addresses(text: str, peer: PeerAddress) -> None:
    assert parse_peer(text) == peer


@pytest.mark.parametrize("text", ["http://h:1", "thrift3://h:1", "thrift+ssl://h:1", "://h:1", "thrift+://h:1"])
def test_schemes_of_others_are_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="thrift2://"):
        parse_peer(text)


PART: dict[str, Any] = CopyPart(b"t", b"", b"", b"k").saved()


@pytest.mark.parametrize(
    "left",
    [
        {"parts": []},
        {"began_millis": 1},
        {"began_millis": "x", "parts": []},
        {"began_millis": 1, "parts": 5},
        {"began_millis": 1, "parts": [5]},
        {"began_millis": 1, "parts": [{}]},
        {"began_millis": 1, "parts": [{**PART, "row": 5}]},
        {"began_millis": 1, "parts": [{**PART, "row": "a"}]},
        {"began_millis": 1, "parts": [{**PART, "rows": "5"}]},
    ],
)
def test_a_damaged_state_is_refused(left: dict[str, Any]) -> None:
    assert left_of(Path("state"), {"began_millis": 1, "parts": [PART]}) == (1, [CopyPart(b"t", b"", b"", b"k")])
    with pytest.raises(ArgumentError, match="state is damaged"):
        left_of(Path("state"), left)


# ---------------------------------------------------------------- regions


class Regions:
    """HBase's lists of a table's regions, with every replica of each; of some it says less. Our own list of tablets,
    which is read page by page, while they are split and merged."""

    def __init__(self, bounds: list[tuple[bytes | None, bytes | None]]) -> None:
        self._found = [SimpleNamespace(startKey=start, endKey=stop) for start, stop in bounds]

    def hbase(self, method: str, table: bytes) -> list[SimpleNamespace]:
        assert method == "getTableRegions"
        return self._found

    def thrift2(self, method: str, table: bytes) -> list[SimpleNamespace]:
        assert method == "getAllRegionLocations"
        return [SimpleNamespace(regionInfo=one) for one in self._found]

    def admin(self, method: str, table: bytes) -> list[AdminTablet]:
        assert method == "adminTablets"
        return [AdminTablet(start_row=one.startKey or b"", stop_row=one.endKey or b"") for one in self._found]

    def close(self) -> None:
        raise AssertionError


def ranges(peer: Any, bounds: list[tuple[bytes, bytes]] | list[tuple[bytes | None, bytes | None]]) -> list[Any]:
    made = peer(Regions(list(bounds)))
    found: list[Any] = (made.ranges if isinstance(made, HbtableTransfer) else made.regions)(b"t")
    return found


@pytest.mark.parametrize("peer", [Thrift1Peer, Thrift2Peer, HbtablePeer, HbtableTransfer])
@pytest.mark.parametrize(
    "bounds",
    [
        [(b"", b"m"), (b"m", b"")],
        [(b"", b"m"), (b"", b"m"), (b"m", b""), (b"m", b"")],
        [(b"m", b""), (b"m", None), (None, b"m"), (None, None)],
        [(b"", b""), (b"", b"m"), (b"m", b"")],
    ],
    ids=["one of each", "two of each", "unassigned", "a region and what it was split into"],
)
def test_the_regions_of_a_table_have_each_row_once(peer: Any, bounds: list[tuple[bytes | None, bytes | None]]) -> None:
    """An export had the rows of a table with two replicas of each region twice."""
    assert ranges(peer, bounds) == [(b"", b"m"), (b"m", b"")]


ROWS = st.sampled_from([b"", *(bytes([letter]) for letter in b"abcdefg")])


@given(st.lists(st.tuples(ROWS, ROWS)), st.sampled_from([Thrift1Peer, Thrift2Peer, HbtablePeer, HbtableTransfer]))
def test_whatever_list_of_regions_came_together_has_each_row_once(bounds: list[tuple[bytes, bytes]], peer: Any) -> None:
    """A merge between two pages of the list brought its rows twice, and a split left rows out."""
    found = ranges(peer, bounds)
    assert (found[0][0], found[-1][1]) == (b"", b"")
    assert all(stop == start and start > b"" for (_, stop), (start, _) in pairwise(found))
    assert {start for start, _ in bounds} <= {start for start, _ in found}


class RegionsTable:
    """Notes what a scan of hbase:meta asks for."""

    def __init__(self) -> None:
        self.asked: list[SimpleNamespace] = []

    def hbase_struct(self, name: str, **fields: Any) -> SimpleNamespace:
        return SimpleNamespace(name=name, **fields)

    thrift2_struct = hbase_struct

    def hbase(self, method: str, *arguments: Any) -> Any:
        if method in ("scannerOpenWithScan", "openScanner"):
            assert arguments[0] == b"hbase:meta"
            self.asked.append(arguments[1])
        return []

    thrift2 = hbase


@pytest.mark.parametrize(
    ("peer", "columns"),
    [(Thrift1Peer, [b"info:regioninfo"]), (Thrift2Peer, [SimpleNamespace(family=b"info", qualifier=b"regioninfo")])],
)
def test_of_a_region_no_more_is_read_than_that_it_is_there(peer: Any, columns: list[Any]) -> None:
    server = RegionsTable()
    assert peer(server).region_names(b"t") == []
    (scan,) = server.asked
    found = [
        SimpleNamespace(family=one.family, qualifier=one.qualifier) if hasattr(one, "family") else one
        for one in scan.columns
    ]
    assert found == columns
