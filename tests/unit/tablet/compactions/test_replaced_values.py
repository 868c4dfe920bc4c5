"""A put replaces an earlier one of the same column and time for good, also where it is in excess itself, or deleted."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.model.mutation import DELETE_VERSION, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, delete, put

ONE = FamilySchema(b"f", max_versions=1)
KEEPING = replace(ONE, ttl_seconds=1, min_versions=1, max_versions=2, attributes=(("KEEP_DELETED_CELLS", "TTL"),))


def found(tablet: Tablet, upto: int = 1 << 62) -> list[tuple[int, bytes]]:
    rows = tablet.read_rows([b"r"], ReadSpec(max_versions=5, max_timestamp=upto))
    return [cell[1:] for _, cells in rows for cell in cells]


def put_at(tablet: Tablet, value: bytes, time: int) -> None:
    tablet.mutate([put(b"r", b"f:q", value, time)])


def altered(tablet: Tablet, family: FamilySchema) -> None:
    tablet.schema = TableSchema(b"t", {b"f": family}, version=tablet.schema.version + 1)


def flush_behind(tablet: Tablet) -> None:
    tablet.flush()


def merge_behind(tablet: Tablet) -> None:
    """The values that replace the first one come in two SSTables, which are merged without its own."""
    tablet.flush()
    put_at(tablet, b"later", 30)
    tablet.flush()
    plan = tablet.needs_compaction()
    assert plan.startswith("merge 2 "), plan
    tablet.compact(False)


def of_the_time_before(tablet: Tablet) -> None:
    assert found(tablet, 15) == [(10, b"new")]


def of_what_a_delete_uncovers(tablet: Tablet) -> None:
    for time in 20, 30:
        tablet.mutate([RowMutation(b"r", [(DELETE_VERSION, b"f", b"q", time, b"")])])
    assert found(tablet) == [(10, b"new")]


def of_more_versions(tablet: Tablet) -> None:
    altered(tablet, replace(ONE, max_versions=3))
    assert found(tablet)[-1] == (10, b"new")


def replaced(bring: Callable[[Tablet], None], look: Callable[[Tablet], None]) -> None:
    bench = Bench(schema=TableSchema(b"t", {b"f": ONE}))
    bench.options = replace(bench.options, merge_files=2)

    def main() -> None:
        tablet = bench.open()
        # Large, so that nothing merges it.
        tablet.mutate([put(b"%d" % row, b"f:q", b"v" * 1000, 10) for row in range(100)])
        put_at(tablet, b"old", 10)
        tablet.flush()
        put_at(tablet, b"new", 10)
        put_at(tablet, b"newest", 20)
        bring(tablet)
        look(tablet)
        tablet.compact(True)
        assert b"old" not in dict(found(tablet, 15)).values()

    bench.run(main)


@pytest.mark.parametrize("bring", [flush_behind, merge_behind])
@pytest.mark.parametrize("look", [of_the_time_before, of_what_a_delete_uncovers, of_more_versions])
def test_what_an_excess_put_has_replaced_stays_hidden(
    bring: Callable[[Tablet], None], look: Callable[[Tablet], None]
) -> None:
    is_found("uncovered", lambda: replaced(bring, look))


def test_what_a_deleted_put_has_replaced_stays_hidden_where_deleted_cells_are_kept() -> None:
    bench = Bench(schema=TableSchema(b"t", {b"f": KEEPING}))

    def main() -> None:
        tablet = bench.open()
        put_at(tablet, b"old", 10)
        tablet.flush()
        put_at(tablet, b"new", 10)
        tablet.mutate([delete(b"r", b"f:q", 20)])
        assert found(tablet, 15) == [(10, b"new")]
        tablet.flush()
        assert found(tablet, 15) == [(10, b"new")]
        tablet.compact(True)
        assert found(tablet, 15) == []

    bench.run(main)


def test_a_put_of_the_servers_time_is_in_excess_at_once() -> None:
    """It is later than what older SSTables hold."""
    bench = Bench(schema=TableSchema(b"t", {b"f": ONE}))

    def main() -> None:
        tablet = bench.open()
        for _ in range(3):
            for number in range(10):
                tablet.mutate([put(b"r", b"f:q", b"%d" % number)])
                bench.runtime.sleep(0.001)
            tablet.flush()
        assert [ref.cells for _, refs in tablet.record.files for ref in refs] == [1, 1, 1]

    bench.run(main)


def test_an_older_put_in_memory_under_another_grouping_counts() -> None:
    family, other = replace(ONE, locality_group="x"), FamilySchema(b"g", locality_group="x")
    bench = Bench(schema=TableSchema(b"t", {b"f": family, b"g": other}))

    def main() -> None:
        tablet = bench.open()
        put_at(tablet, b"old", 10)
        altered(tablet, ONE)
        put_at(tablet, b"new", 10)
        put_at(tablet, b"newest", 20)
        tablet.flush()
        assert found(tablet, 15) == [(10, b"new")]

    bench.run(main)
