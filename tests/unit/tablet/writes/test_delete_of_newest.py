"""A delete of the newest versions of a column looks for those, and not at all that there are."""

import pytest

from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_VERSION, PUT, RowMutation
from hbtable.model.read import ALL_VERSIONS, ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.tablet_bench import Bench, everything, values

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=100_000)})
VERSIONS = 5000


@pytest.mark.parametrize("count", [1, 3])
def test_few_versions_are_read(count: int) -> None:
    bench = Bench(schema=SCHEMA)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", b"q", time, b"%d" % time) for time in range(1, VERSIONS + 1)])])
        tablet.flush()
        before = tablet.cells_examined
        tablet.mutate([RowMutation(b"r", [(DELETE_VERSION, b"f", b"q", SERVER_TIME, b"")] * count)])
        assert tablet.cells_examined - before <= 200 * count
        assert values(tablet, b"r") == {b"f:q": b"%d" % (VERSIONS - count)}
        spec = ReadSpec(max_versions=ALL_VERSIONS)
        assert len(tablet.read_rows([b"r"], spec)[0][1]) == VERSIONS - count
        assert len(everything(tablet)) == 1

    bench.run(main)
