"""A counter does not grow on the disk because some cell of its family has a time in the future."""

import pytest

from hbtable.model.cell import SERVER_TIME
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, put

DAY = 86_400_000


@pytest.mark.parametrize("ahead", [None, DAY, 10_000 * DAY])
def test_flushes_and_merges_drop_the_versions_in_excess(ahead: int | None) -> None:
    bench = Bench(1, schema=TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=1)}))
    time = SERVER_TIME if ahead is None else bench.runtime.wall_millis() + ahead

    def cells(tablet: Tablet) -> list[int]:
        files = [file for stack in tablet._state.version.stacks for file in stack.files]
        return sorted(file.reader.properties.cells for file in files)

    def count(tablet: Tablet) -> None:
        for _ in range(300):
            tablet.increment(b"counter", b"f", b"n", 1)
            bench.runtime.sleep(0.002)
        tablet.flush()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"other", b"f:q", b"x", time)])
        tablet.flush()
        for flushes in range(1, 4):
            count(tablet)
            assert cells(tablet) == [1] * (flushes + 1)
        tablet.compact(True)
        assert cells(tablet) == [2]
        count(tablet)
        assert cells(tablet) == [1, 2]

    bench.run(main)
