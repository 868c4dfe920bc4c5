"""The keys and records of a call of puts are those of the plain encoders, however columns follow each other."""

import random
from itertools import pairwise

import pytest

from hbtable.commitlog.records import decode_records
from hbtable.encoding.cell_key import cell_key
from hbtable.errors import InvalidRequest
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.writes.apply import WriteBuilder
from hbtable.tablet.writes.clock import TabletClock

NOW = 1_700_000_000_000
FAMILIES = (b"f", b"ff", b"g")
SCHEMA = TableSchema(
    b"t", {b"f": FamilySchema(b"f"), b"ff": FamilySchema(b"ff", locality_group="f"), b"g": FamilySchema(b"g")}
)


def builder() -> WriteBuilder:
    return WriteBuilder(LocalityGroupLayout(SCHEMA), RowRange(), 16, 3, TabletClock(lambda: NOW, lambda: 0.0), 1 << 20)


@pytest.mark.parametrize("seed", range(30))
def test_keys_and_records_are_those_of_the_plain_encoders(seed: int) -> None:
    choose = random.Random(seed)
    mutations = []
    for number in range(choose.choice((1, 2, 40))):
        family, qualifier = choose.choice(FAMILIES), choose.choice((b"", b"q", b"f", b"q\x00", b"\x00"))
        row = choose.choice((b"row", b"r\x00w")) + b"%d" % number
        mutations.append(
            RowMutation(row, [(PUT, family, qualifier, SERVER_TIME, choose.randbytes(5))], choose.random() < 0.2)
        )
    built = builder().build(mutations, 7)
    expected = []
    for number, mutation in enumerate(mutations):
        _, family, qualifier, _, value = mutation.operations[0]
        expected.append((cell_key(mutation.row, family, qualifier, NOW, PUT, 7 + number), value))
    made = [pair for pairs in built.by_stack for pair in pairs]
    assert sorted(made) == sorted(expected)
    assert all(left[0][-9:] > right[0][-9:] for pairs in built.by_stack for left, right in pairwise(pairs))
    log = b"".join(built.records)
    records = list(decode_records(log, 0, len(log), "log"))
    logged = [number for number, mutation in enumerate(mutations) if not mutation.skip_log]
    assert [(record.sequence, record.pairs) for record in records] == [(7 + n, [expected[n]]) for n in logged]
    assert built.logged == len(logged)
    assert built.last_sequence == 6 + len(mutations)


def test_a_qualifier_that_equals_the_one_before_and_is_no_bytes_is_refused() -> None:
    puts = [RowMutation(b"r", [(PUT, b"f", name, SERVER_TIME, b"")]) for name in (b"q", bytearray(b"q"))]
    with pytest.raises(InvalidRequest, match="the qualifier"):
        builder().build(puts, 1)
