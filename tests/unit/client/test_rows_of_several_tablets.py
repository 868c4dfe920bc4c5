"""Rows that are asked for at once and lie in several tablets: repeated ones, the limit of the answer, and whose the
lists are that come back."""

import random

import pytest

from hbtable.errors import LimitExceeded
from hbtable.hbase.codec.answers import BinaryDialect
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.codec.large_answers import LargeAnswer, paced
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.cell import SERVER_TIME, Row
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from tests.simulation.conftest import Machine

LONG = 5000
ROWS = {b"a": 1, b"b": LONG, b"k": 3, b"l": LONG, b"z": 2}
"""Their numbers of cells, in tablets that begin at these:"""
SPLITS = [b"k", b"m"]


def made(cluster: EmbeddedCluster) -> None:
    cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}), SPLITS)
    cluster.client.table(b"t").mutate(
        [
            RowMutation(row, [(PUT, b"f", b"%06d" % number, SERVER_TIME, b"v") for number in range(count)])
            for row, count in ROWS.items()
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_row_comes_as_often_as_it_is_asked_for_and_never_shares_its_list(seed: int) -> None:
    """Whoever answers frees a long row as it is sent. Where two entries were one list, the second came out short."""
    choose = random.Random(seed)
    binary = ThriftInterface()
    method = binary.methods[b"getRows"]
    dialect = BinaryDialect(binary, True, paced(lambda: 0.0, lambda: None, lambda seconds: seconds))

    def body(cluster: EmbeddedCluster) -> None:
        made(cluster)
        for _ in range(8):
            asked = [choose.choice((*ROWS, b"none", b"zz")) for _ in range(choose.randrange(2, 9))]
            found = cluster.client.table(b"t").read_rows(asked, ReadSpec())
            assert [(row, len(cells)) for row, cells in found] == [(row, ROWS[row]) for row in asked if row in ROWS]
            assert len({id(cells) for _, cells in found}) == len(found)
            whole = sent(dialect.reply(method, 1, [(row, list(cells)) for row, cells in found]))
            assert sent(dialect.reply(method, 1, found)) == whole

    Machine(seed).life(body)


def sent(answer: bytes | LargeAnswer) -> bytes:
    return answer if isinstance(answer, bytes) else b"".join(answer.take())


def test_repeated_rows_count_as_often_as_they_come() -> None:
    def body(cluster: EmbeddedCluster) -> None:
        made(cluster)
        table = cluster.client.table(b"t")

        def read(*rows: bytes) -> list[Row]:
            return table.read_rows(rows, ReadSpec(max_bytes=5 * LONG * 50))

        assert len(read(b"b", b"l", b"b", b"l")) == 4
        with pytest.raises(LimitExceeded, match="answer_bytes"):
            read(*(b"b", b"l") * 3)

    Machine(1).life(body)
