"""Arguments by the ten thousand: others run while they are decoded and converted, and the outcome is the usual one."""

from typing import Any

import pytest

from hbtable.model.mutation import DELETE_COLUMN, PUT
from hbtable.model.read import columns_of
from hbtable.thrift.binary_reader import _fast_strings

MANY = 20_000


@pytest.fixture
def client(gateway: Any, connect: Any) -> Any:
    """Framed, so that each message is there at once."""
    gateway.context.message_bytes = 64 << 20
    return connect(gateway, "binary", True)


def pauses(client: Any, method: str, **arguments: Any) -> int:
    before = client.gateway.runtime.pauses
    client.call(method, **arguments)
    return int(client.gateway.runtime.pauses - before)


def test_many_columns(client: Any) -> None:
    columns = [b"f:%d" % number for number in range(MANY)]
    assert pauses(client, "getRowWithColumns", tableName=b"t", row=b"r", columns=columns) >= MANY // 1024 + MANY // 1024
    assert client.gateway.table.specs[-1].columns == {b"f": frozenset(b"%d" % number for number in range(MANY))}
    scan = client.thrift.TScan(columns=columns)
    assert pauses(client, "scannerOpenWithScan", tableName=b"t", scan=scan) >= MANY // 1024


def test_columns_are_the_same_with_pauses_and_without() -> None:
    names = [b"f:%d" % (number % 9000) for number in range(MANY)] + [b"g"]
    paused: list[int] = []
    assert columns_of(names, lambda: paused.append(1)) == columns_of(names)
    assert len(paused) == MANY // 1024


def test_many_rows(client: Any) -> None:
    rows = [b"%d" % number for number in range(MANY)]
    assert pauses(client, "getRows", tableName=b"t", rows=rows) >= MANY // 256
    with pytest.raises(client.thrift.IOError, match="Row length is 0"):
        client.call("getRows", tableName=b"t", rows=[*rows, b""])


def test_many_mutations_of_a_row_keep_their_order(client: Any) -> None:
    mutation = client.thrift.Mutation
    mutations = [mutation(isDelete=number % 2 == 1, column=b"f:%d" % number, value=b"v") for number in range(MANY)]
    assert pauses(client, "mutateRow", tableName=b"t", row=b"r", mutations=mutations) >= MANY // 1024
    operations = client.gateway.table.mutations[-1].operations
    assert [operation[:3] for operation in operations] == [
        *((DELETE_COLUMN, b"f", b"%d" % number) for number in range(1, MANY, 2)),
        *((PUT, b"f", b"%d" % number) for number in range(0, MANY, 2)),
    ]


def test_many_rows_of_mutations(client: Any) -> None:
    thrift = client.thrift
    put = [thrift.Mutation(column=b"f:a", value=b"v")]
    batches = [thrift.BatchMutation(row=b"%d" % number, mutations=put) for number in range(MANY)]
    assert pauses(client, "mutateRows", tableName=b"t", rowBatches=batches) >= MANY // 1024 + MANY // 1000
    assert len(client.gateway.table.rows) == MANY


def test_strings_are_read_in_the_fast_way_only_when_they_are_few(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def counted(data: bytes, position: int, count: int) -> Any:
        counts.append(count)
        return _fast_strings(data, position, count)

    monkeypatch.setattr("hbtable.thrift.binary_reader._fast_strings", counted)
    client.call("getRows", tableName=b"t", rows=[b"r"] * 300)
    client.call("getRows", tableName=b"t", rows=[b"r"] * MANY)
    assert counts == [300]
