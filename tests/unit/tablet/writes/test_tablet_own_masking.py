"""NEW_VERSION_BEHAVIOR: in one mutation, as in one after the other, a delete masks what comes before it."""

import random

import pytest

from hbtable.model.mutation import (
    DELETE_COLUMN,
    DELETE_FAMILY,
    DELETE_FAMILY_VERSION,
    DELETE_VERSION,
    PUT,
    Operation,
    RowMutation,
)
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.tablet_bench import Bench, put, values

SCHEMA = TableSchema(
    b"t",
    {
        b"f": FamilySchema(b"f", max_versions=1000, new_version_behavior=True),
        b"g": FamilySchema(b"g", max_versions=1000, new_version_behavior=True, locality_group="other"),
        b"old": FamilySchema(b"old", max_versions=1000),
    },
)
MARKERS = (DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_COLUMN, DELETE_VERSION)


@pytest.mark.parametrize("kind", MARKERS)
def test_a_delete_masks_the_put_before_it_and_not_the_one_after_it(kind: int) -> None:
    bench = Bench(schema=SCHEMA)
    first, second = (PUT, b"f", b"q", 5, b"first"), (PUT, b"f", b"q", 5, b"second")
    gone = (kind, b"f", b"q", 5, b"")

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([RowMutation(b"a", [first, gone]), RowMutation(b"b", [gone, second])])
        tablet.mutate([RowMutation(b"c", [first, gone, second])])
        assert [values(tablet, row) for row in (b"a", b"b", b"c")] == [{}, {b"f:q": b"second"}, {b"f:q": b"second"}]
        bench.crash()
        tablet = bench.open()
        assert [values(tablet, row) for row in (b"a", b"b", b"c")] == [{}, {b"f:q": b"second"}, {b"f:q": b"second"}]

    bench.run(main)


def test_what_was_there_before_is_masked_all_the_same() -> None:
    bench = Bench(schema=SCHEMA)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"before", 5), put(b"r", b"f:other", b"stays", 5)])
        again, gone = (PUT, b"f", b"q", 5, b"again"), (DELETE_COLUMN, b"f", b"q", 5, b"")
        tablet.mutate([RowMutation(b"r", [again, gone])])
        assert values(tablet, b"r") == {b"f:other": b"stays"}

    bench.run(main)


def _random_operation(rng: random.Random) -> Operation:
    kind = rng.choice((PUT, PUT, PUT, *MARKERS))
    qualifier = rng.choice((b"", b"a", b"a\x00", b"b"))
    value = b"%d" % rng.randrange(10**6) if kind == PUT else b""
    return kind, rng.choice((b"f", b"f", b"g")), qualifier, rng.randrange(1, 4), value


def test_operations_of_one_mutation_do_what_they_do_one_by_one() -> None:
    bench, rng = Bench(schema=SCHEMA), random.Random(18)

    def main() -> None:
        tablet = bench.open()
        for number in range(300):
            operations = [_random_operation(rng) for _ in range(rng.randrange(2, 12))]
            together, apart = b"t%d" % number, b"a%d" % number
            tablet.mutate([RowMutation(together, operations)])
            tablet.mutate([RowMutation(apart, [one]) for one in operations])
            spec = ReadSpec(max_versions=1000)
            found = [tablet.read_rows([row], spec) for row in (together, apart)]
            assert [cells for rows in found[:1] for _, cells in rows] == [
                cells for rows in found[1:] for _, cells in rows
            ], operations

    bench.run(main)
