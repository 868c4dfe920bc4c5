"""Damaged and missing SSTables: what is sound is served, the rest is told at once, and nothing stalls for it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.errors import DataDamaged, HbtableError
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, delete, put, values

ROWS = [b"%03d" % number for number in range(200)]


@pytest.fixture
def bench() -> Bench:
    """A family of one stack, with small blocks: a file of ROWS has several."""
    return Bench(schema=TableSchema(b"t", {b"f": FamilySchema(b"f", block_bytes=1024, compression="NONE")}))


def filled(bench: Bench, rows: list[bytes] = ROWS) -> Tablet:
    tablet = bench.open()
    for row in rows:
        tablet.mutate([put(row, b"f:a", b"v" * 50)])
    tablet.flush()
    return tablet


def only_file(tablet: Tablet) -> str:
    ((_, (ref,)),) = tablet.record.files
    return ref.path


def flip(bench: Bench, path: str, at: int) -> None:
    content = bench.memory.disk.files[path].content
    content[at] ^= 0x10


def lose(bench: Bench, path: str) -> None:
    bench.memory.delete(path)


def break_footer(bench: Bench, path: str) -> None:
    flip(bench, path, len(bench.memory.disk.files[path].content) - 3)


def cut_in_half(bench: Bench, path: str) -> None:
    content = bench.memory.disk.files[path].content
    del content[len(content) // 2 :]


def empty(bench: Bench, path: str) -> None:
    del bench.memory.disk.files[path].content[:]


WHOLE_FILE = pytest.mark.parametrize("spoil", [lose, break_footer, cut_in_half, empty])


def readable(tablet: Tablet) -> tuple[list[bytes], list[DataDamaged]]:
    sound, errors = [], []
    for row in ROWS:
        try:
            assert values(tablet, row) == {b"f:a": b"v" * 50}
            sound.append(row)
        except DataDamaged as error:
            errors.append(error)
    return sound, errors


def scanned(tablet: Tablet, rows: RowRange, is_reversed: bool = False) -> list[bytes]:
    page = tablet.scan(ScanRequest(rows, EVERYTHING, is_reversed, max_rows=1000, max_bytes=1 << 20))
    return [row for row, _ in page.rows]


def test_all_rows_but_those_of_a_damaged_block_are_read_and_the_error_names_them(bench: Bench) -> None:
    def main() -> None:
        path = only_file(filled(bench))
        flip(bench, path, len(bench.memory.disk.files[path].content) // 2)
        tablet = bench.load()
        sound, errors = readable(tablet)
        assert 150 < len(sound) < 200
        first, stop = errors[0].first_row, errors[0].stop_row
        assert [row for row in ROWS if row not in sound] == [row for row in ROWS if first <= row < stop]
        assert path in str(errors[0])
        assert repr(first) in str(errors[0])
        assert "hbtable repair" in str(errors[0])
        for is_reversed in (False, True):
            request = ScanRequest(RowRange(), EVERYTHING, is_reversed, max_rows=1000, max_bytes=1 << 20)
            page = tablet.scan(request)
            in_order = [row for row in sound if (row >= stop if is_reversed else row < first)]
            assert [row for row, _ in page.rows] == (in_order[::-1] if is_reversed else in_order)
            assert page.next is not None
            with pytest.raises(DataDamaged):
                tablet.scan(replace(request, position=page.next))
            around = scanned(tablet, RowRange(b"", first), is_reversed) + scanned(tablet, RowRange(stop), is_reversed)
            assert sorted(around) == sound
        assert list(tablet.damaged.messages()) == [path]

    bench.run(main)


def test_the_damaged_last_block_of_a_file_says_nothing_of_rows_behind_the_file(bench: Bench) -> None:
    """Whoever passes over what is damaged, as the master does in METADATA, would pass over sound rows with it."""

    def main() -> None:
        flip(bench, only_file(filled(bench, ROWS[:5])), 50)  # in its only block
        tablet = bench.load()
        for row in ROWS[5:]:
            tablet.mutate([put(row, b"f:a", b"v" * 50)])
        sound, errors = readable(tablet)
        first, stop = errors[0].first_row, errors[0].stop_row
        assert [row for row in ROWS if row not in sound] == [row for row in ROWS if first <= row < stop]
        assert stop == ROWS[4] + b"\0"
        assert scanned(tablet, RowRange(stop)) == ROWS[5:]

    bench.run(main)


@WHOLE_FILE
def test_a_file_that_cannot_be_opened_stops_reads_and_no_writes(
    bench: Bench, spoil: Callable[[Bench, str], None]
) -> None:
    def main() -> None:
        path = only_file(filled(bench))
        spoil(bench, path)
        tablet = bench.load()
        tablet.mutate([put(b"new", b"f:a", b"1")])
        tablet.flush()
        tablet.mutate([delete(b"010", b"f:a")])
        for read in (lambda: values(tablet, b"new"), lambda: scanned(tablet, RowRange())):
            with pytest.raises(DataDamaged, match="hbtable repair") as caught:
                read()
            assert caught.value.path == path
        tablet.freeze_for_unload()
        tablet.close()
        assert path in [ref.path for _, refs in bench.records.record.files for ref in refs]  # nothing lets go of it

    bench.run(main)


def test_a_file_that_is_put_back_is_read_after_the_next_load(bench: Bench) -> None:
    def main() -> None:
        path = only_file(filled(bench))
        whole = bytes(bench.memory.disk.files[path].content)
        break_footer(bench, path)
        assert not readable(bench.load())[0]
        bench.memory.disk.files[path].content[:] = whole
        assert readable(bench.load())[0] == ROWS

    bench.run(main)


@pytest.mark.parametrize("spoil", [lose, break_footer, lambda bench, path: flip(bench, path, 30)])
def test_merges_go_on_around_a_damaged_file_and_writers_never_stall_for_it(
    bench: Bench, spoil: Callable[[Bench, str], None]
) -> None:
    bench.options = TabletOptions(merge_files=3, max_files=5, stall_files=8, write_wait_seconds=1.0)

    def main() -> None:
        spoil(bench, only_file(filled(bench, ROWS[:2])))
        tablet = bench.load()
        for number in range(60):
            tablet.mutate([put(b"new%d" % number, b"f:a", b"1" * 10)])
            tablet.flush()
            while tablet.needs_compaction():  # maintenance asks again after an error
                try:
                    tablet.compact(False)
                except HbtableError:
                    assert tablet.damaged
        assert tablet.status().sstables <= 10
        assert len(tablet.damaged) == 1

    bench.run(main)


def test_beside_a_damaged_file_a_major_compaction_keeps_what_masks_its_cells(bench: Bench) -> None:
    def main() -> None:
        path = only_file(filled(bench))
        whole = bytes(bench.memory.disk.files[path].content)
        tablet = bench.load()
        tablet.mutate([delete(b"010", b"f:a")])
        tablet.flush()
        flip(bench, path, 100)
        bench.cache.drop_file(path)
        with pytest.raises(DataDamaged):
            tablet.compact(True)
        tablet.compact(True)
        bench.memory.disk.files[path].content[:] = whole
        assert values(bench.load(), b"010") == {}

    bench.run(main)


def test_a_damaged_tablet_does_not_split_by_itself_and_children_of_a_split_know_the_damage(bench: Bench) -> None:
    def main() -> None:
        path = only_file(filled(bench))
        flip(bench, path, 100)
        tablet = bench.load()
        assert tablet.needs_split(1)
        readable(tablet)
        assert not tablet.needs_split(1)
        tablet.freeze_for_unload()
        left, right = bench.split(tablet, b"150")
        assert len(left.damaged) == len(right.damaged) == 1
        assert values(right, b"160")
        assert not left.needs_compaction()

    bench.run(main)
