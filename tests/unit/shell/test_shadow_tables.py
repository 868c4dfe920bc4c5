"""Calls of tables that the secondary lacks, and answers that name them."""

from contextlib import closing
from typing import Any

import pytest

from hbtable.shell.shadow.races import LACKS
from hbtable.shell.shadow.repeating import NOT_THERE, WaitingRoom
from hbtable.shell.shadow.wire import Answer, interface
from tests.harness.shadowing import ProxyHere, Scripted

STRUCTS = interface()
ABSENT = STRUCTS.IOError(message="org.apache.hadoop.hbase.TableNotFoundException: t", canRetry=False)


def calls() -> WaitingRoom:
    return WaitingRoom(1000, 1 << 20)


@pytest.mark.parametrize("more", [[], [b"made here"]])
def test_a_list_of_tables_is_not_equal_where_the_secondary_lacks_one(more: list[bytes]) -> None:
    """Nor does it differ, but by others."""

    def names(primary: bool) -> Answer:
        return STRUCTS.Hbase.getTableNames_result(success=[b"t", b"not copied"] if primary else [b"t", *more])

    with (
        Scripted(lambda *_: names(True)) as primary,
        Scripted(lambda *_: names(False)) as secondary,
        ProxyHere(primary.port, secondary.port, calls()) as proxy,
    ):
        proxy.around.lacking.add(b"not copied")
        with closing(proxy.client()) as client:
            client.getTableNames()
        proxy.stop()
    assert proxy.method("getTableNames")["equal"] == 0
    assert proxy.differences() == ([("getTableNames", "table")] if more else [])
    assert proxy.method("getTableNames")["skipped"] == ({} if more else {NOT_THERE: 1})


def test_a_table_that_the_primary_refuses_to_make_anew_is_not_made_at_the_secondary() -> None:
    there: list[str] = []

    def refused(name: str, _: Any) -> Answer:
        exist = STRUCTS.AlreadyExists(message="table name already in use")
        return STRUCTS.Hbase.createTable_result(exist=exist)

    def repeated(name: str, _: Any) -> Answer:
        there.append(name)
        return STRUCTS.Hbase.createTable_result()

    with (
        Scripted(refused) as primary,
        Scripted(repeated) as secondary,
        ProxyHere(primary.port, secondary.port, calls()) as proxy,
    ):
        proxy.around.lacking.add(b"t")
        with closing(proxy.client()) as client, pytest.raises(STRUCTS.AlreadyExists):
            client.createTable(b"t", [])
        proxy.stop()
    assert there == []
    assert proxy.around.lacking == {b"t"}
    assert proxy.method("createTable")["skipped"] == {NOT_THERE: 1}


def test_a_call_of_two_tables_does_not_end_the_comparison_of_the_one_that_is_there() -> None:
    def primary_says(name: str, _: Any) -> Answer:
        return getattr(STRUCTS.Hbase, f"{name}_result")(**({} if name == "incrementRows" else {"success": []}))

    def secondary_says(name: str, arguments: Any) -> Answer:
        if name == "incrementRows":
            return STRUCTS.Hbase.incrementRows_result(io=ABSENT)
        return primary_says(name, arguments)

    with (
        Scripted(primary_says) as primary,
        Scripted(secondary_says) as secondary,
        ProxyHere(primary.port, secondary.port, calls()) as proxy,
    ):
        with closing(proxy.client()) as client:
            for row in (b"r", b"s"):
                amounts = [STRUCTS.TIncrement(table=table, row=row, column=b"f:n", ammount=1) for table in (b"t", b"u")]
                client.incrementRows(amounts)
            client.getRow(b"u", b"elsewhere", {})
        proxy.stop()
    assert proxy.around.lacking == set()
    assert proxy.method("incrementRows")["skipped"] == {NOT_THERE: 2}
    assert proxy.method("getRow")["equal"] == 1
    assert proxy.reason(b"u", b"r") == LACKS
