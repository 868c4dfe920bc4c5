"""A copy between two dicts: what the comparison mends, what it reads for it, and that pages are read ahead."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from hbtable.model.cell import Cell, Row
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.shell.copying import copy_workers, copying
from hbtable.shell.copying.copying import CopyOptions, Surroundings, run_copy
from hbtable.shell.copying.mended_rows import MendedRows
from hbtable.shell.copying.peers import PeerAddress
from hbtable.shell.copying.read_ahead import read_ahead
from hbtable.shell.errors import ShellError

Cells = dict[bytes, dict[tuple[bytes, int], bytes]]


class DictPeer:
    """A peers.CopyPeer of one table of one region."""

    untold = ""
    why_left = ""

    def __init__(self, name: str, cells: Cells, page_rows: int = 100) -> None:
        self.name = name
        self.cells = cells
        self.read_rows = 0
        self.cells_read = 0
        self._page_rows = page_rows

    def identity(self) -> frozenset[str]:
        return frozenset([self.name])

    def tables(self) -> list[bytes]:
        return [b"t"]

    def schema(self, table: bytes) -> TableSchema:
        return TableSchema(table, {b"f": FamilySchema(b"f")})

    def namespace(self, name: bytes) -> None: ...

    def regions(self, table: bytes) -> list[tuple[bytes, bytes]]:
        return [(b"", b"")]

    def pages(self, schema: TableSchema, start: bytes, stop: bytes, since: int, wanted: Any) -> Iterator[list[Row]]:
        there = list(self.cells)  # others write meanwhile
        rows = sorted(row for row in there if row >= start and (not stop or row < stop))
        for first in range(0, len(rows), self._page_rows):
            some = rows[first : first + self._page_rows]
            self.read_rows += len(some)
            page = [(row, self._cells(row, since)) for row in some]
            self.cells_read += sum(len(cells) for _, cells in page)
            yield [one for one in page if one[1]]

    def _cells(self, row: bytes, since: int) -> list[Cell]:
        return [(column, at, value) for (column, at), value in sorted(self.cells.get(row, {}).items()) if at >= since]

    def tells_lifetimes(self, table: bytes) -> bool:
        return True

    def write(self, table: bytes, rows: Sequence[Row]) -> None:
        for row, cells in rows:
            self.cells.setdefault(row, {}).update({(column, at): value for column, at, value in cells})

    def delete(self, table: bytes, rows: Sequence[Row]) -> int:
        for row, cells in rows:
            for column, at, _ in cells:
                del self.cells[row][column, at]
            if not self.cells[row]:
                del self.cells[row]
        return 0

    def close(self) -> None: ...


def compared(
    folder: Path, source: Cells, target: Cells, delete: bool, said: list[str] | None = None
) -> tuple[list[str], DictPeer, DictPeer]:
    """What it said, and the peers. Nothing is left to be copied: the comparison finds all."""
    said = [] if said is None else said
    peers = {"127.0.0.1:1": DictPeer("one", source), "127.0.0.1:2": DictPeer("two", target)}
    state = folder / "state"
    state.unlink(missing_ok=True)
    options = CopyOptions(
        PeerAddress("thrift", "127.0.0.1:1"), PeerAddress("thrift", "127.0.0.1:2"), state, workers=1, delete=delete
    )
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: True, said.append, quiet=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(copy_workers, "connect_peer", lambda peer, _: peers[peer.address])
        patched.setattr(copying._Copy, "_copy_part", lambda *_: None)
        run_copy(options, around)
    return said, peers["127.0.0.1:1"], peers["127.0.0.1:2"]


def cell(value: bytes = b"v") -> dict[tuple[bytes, int], bytes]:
    return {(b"f:a", 1): value}


def test_only_what_was_mended_is_read_again(tmp_path: Path) -> None:
    """A region of which some cells were deleted at the source was read twice as a whole."""
    keys = [b"%06d" % number for number in range(5000)]
    source: Cells = {key: cell() for key in keys}
    target: Cells = {key: cell() for key in keys}
    for gone in (keys[10], keys[4000], keys[4100]):
        del source[gone]
    del target[keys[2500]]
    said, one, two = compared(tmp_path, source, target, delete=True)
    assert target == source
    (alike,) = [line for line in said if "digest" in line]
    assert alike.endswith("alike, missing and written: 1, only at the target and deleted: 3")
    assert one.read_rows - len(source) < 200
    assert two.read_rows - len(source) < 200


@pytest.mark.parametrize("one_by_one", [True, False])
def test_what_the_target_cannot_delete_is_left_and_counted_once(tmp_path: Path, one_by_one: bool) -> None:
    """It was said to be deleted, a hundred times over. A server that deletes a part of it is asked again."""
    source: Cells = {b"1": cell()}
    target: Cells = {b"1": cell(), b"2": cell(), b"3": cell()}
    calls: list[int] = []
    said: list[str] = []
    delete = DictPeer.delete

    def deletes_less(peer: DictPeer, table: bytes, rows: Sequence[Row]) -> int:
        calls.append(len(rows))
        done = 1 if one_by_one and len(rows) == 2 else 0
        delete(peer, table, rows[:done])
        return len(rows) - done

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DictPeer, "delete", deletes_less)
        patched.setattr(DictPeer, "why_left", "it cannot")
        with pytest.raises(ShellError, match="the two sides differ"):
            compared(tmp_path, source, target, delete=True, said=said)
    assert len(target) == (2 if one_by_one else 3)
    assert calls == ([2, 1] if one_by_one else [2])
    differs, left, *_ = said
    if one_by_one:
        assert differs.endswith("missing: 0, only at the target: 1, only at the target and deleted: 1")
    else:
        assert differs.endswith("missing: 0, only at the target: 2")
    assert left.endswith("cells that only the target has are left there: it cannot")


@pytest.mark.parametrize(("looks", "mended"), [(1, False), (1, True), (9, False), (9, True)])
def test_a_cell_that_a_side_gives_twice_makes_them_differ(tmp_path: Path, looks: int, mended: bool) -> None:
    """No cell is missing or surplus then, so there was nothing to look at again, which was found alike. A row that
    changes while it is read in pieces may give one twice: then another look says what is there."""
    rows: Cells = {b"1": cell(), b"2": cell()}
    target = {b"1": rows[b"1"]} if mended else dict(rows)
    left, pages = [looks], DictPeer.pages

    def twice(peer: DictPeer, schema: TableSchema, start: bytes, stop: bytes, since: int, wanted: Any) -> Any:
        for page in pages(peer, schema, start, stop, since, wanted):
            if peer.name == "one" and page[0][0] == b"1" and left[0]:
                left[0] -= 1
                page[0] = b"1", page[0][1] * 2
            yield page

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DictPeer, "pages", twice)
        if looks > 1:
            with pytest.raises(ShellError, match="the two sides differ"):
                compared(tmp_path, rows, target, delete=False)
        else:
            said, *_ = compared(tmp_path, rows, target, delete=False)
            (alike,) = [line for line in said if "digest" in line]
            assert ": 2 cells, digest" in alike
            assert ", alike" in alike


ROWS = st.dictionaries(
    st.sampled_from([b"%02d" % number for number in range(30)]),
    st.dictionaries(st.tuples(st.sampled_from([b"f:a", b"f:b"]), st.integers(1, 2)), st.sampled_from([b"x", b"y"]),
                    min_size=1),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, ROWS, st.booleans())
def test_any_two_sides_are_alike_in_the_end(tmp_path: Path, source: Cells, target: Cells, delete: bool) -> None:
    """Or it is an error, without --delete."""
    before = {row: dict(cells) for row, cells in source.items()}
    surplus = any(place not in source.get(row, {}) for row, cells in target.items() for place in cells)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hbtable.shell.copying.mended_rows._NEAR", 3)
        patched.setattr("hbtable.shell.copying.mended_rows._MOST", 4)
        if surplus and not delete:
            with pytest.raises(ShellError, match="the two sides differ"):
                compared(tmp_path, source, target, delete)
            for row, cells in before.items():
                assert cells.items() <= target[row].items()
        else:
            compared(tmp_path, source, target, delete)
            assert target == before
    assert source == before


def test_rows_near_each_other_are_one_range() -> None:
    rows = MendedRows()
    for row, position in ((b"a", 0), (b"a", 0), (b"c", 500), (b"m", 1001)):
        rows.add(row, position)
    rows.begin()
    rows.add(b"x", 0)
    assert rows.taken() == [(b"a", b"c\0"), (b"m", b"m\0"), (b"x", b"x\0")]
    assert rows.taken() == []


def test_a_page_is_read_while_the_one_before_is_used() -> None:
    asked = threading.Event()

    def pages() -> Iterator[int]:
        yield 1
        asked.set()
        yield 2

    found = read_ahead(pages())
    assert next(found) == 1
    assert asked.wait(60)
    assert list(found) == [2]


def test_an_error_of_reading_comes_where_its_page_would() -> None:
    def pages() -> Iterator[int]:
        yield 1
        raise ShellError("broken")

    found = read_ahead(pages())
    assert next(found) == 1
    with pytest.raises(ShellError, match="broken"):
        next(found)


def test_who_closes_it_has_the_connection_for_himself() -> None:
    """A page under way is waited for."""
    reading, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def pages() -> Iterator[int]:
        yield 1
        reading.set()
        assert go_on.wait(60)
        ended.set()
        yield 2

    found = read_ahead(pages())
    assert next(found) == 1
    assert reading.wait(60)
    threading.Timer(0.05, go_on.set).start()
    found.close()
    assert ended.is_set()
