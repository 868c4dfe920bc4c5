"""Answers that surprise, and that a real HBase 2.6.1 gave to the same calls: programs get the same here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import happybase
import pytest
from Hbase_thrift import ColumnDescriptor, IOError, Mutation, TIncrement

import hbtable
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
NO_FAMILY = b"NoSuchColumnFamilyException: Column family x does not exist"


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("odd")
    with WarmServer(folder / "data") as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        connection.table("t").put(b"r", {b"f:q": b"1"})
        yield connection
        connection.close()


def test_a_put_into_no_family_is_refused_once_the_check_holds(connection: happybase.Connection) -> None:
    client = connection.client
    put = Mutation(column=b"x:q", value=b"3")
    assert client.checkAndPut(b"t", b"r", b"f:q", b"2", put, {}) is False
    with pytest.raises(IOError) as refused:
        client.checkAndPut(b"t", b"r", b"f:q", b"1", put, {})
    assert NO_FAMILY in refused.value.message
    for expected in (b"1", None):
        with pytest.raises(IOError) as refused:
            client.checkAndPut(b"t", b"r", b"x:q", expected, Mutation(column=b"f:q", value=b"3"), {})
        assert NO_FAMILY in refused.value.message


def test_the_library_answers_the_same() -> None:
    with hbtable.open(":memory:") as database:
        table = database.create_table("t", ["f"])
        table.put(b"r", {b"f:q": b"1"})
        assert table.check_and_put(b"r", b"f:q", b"2", {b"x:q": b"3"}) is False
        with pytest.raises(hbtable.NoSuchFamily):
            table.check_and_put(b"r", b"f:q", b"1", {b"x:q": b"3"})
        with pytest.raises(hbtable.NoSuchFamily):
            table.check_and_put(b"r", b"x:q", None, {b"f:q": b"3"})


def test_a_counter_without_a_colon_is_that_of_the_empty_qualifier(connection: happybase.Connection) -> None:
    table = connection.table("t")
    assert table.counter_inc(b"c", b"f", 5) == 5
    assert table.counter_inc(b"c", b"f:", 2) == 7
    assert table.row(b"c") == {b"f:": b"\0\0\0\0\0\0\0\x07"}
    with pytest.raises(IOError):
        connection.client.increment(TIncrement(table=b"t", row=b"c", column=b"f", ammount=5))


@pytest.mark.parametrize("seconds", [0, -1, -5])
def test_no_time_to_live_is_for_ever(connection: happybase.Connection, seconds: int) -> None:
    name = b"ttl%d" % -seconds
    connection.client.createTable(name, [ColumnDescriptor(name=b"f:", timeToLive=seconds)])
    assert connection.client.getColumnDescriptors(name)[b"f:"].timeToLive == 2**31 - 1
    connection.table(name).put(b"r", {b"f:q": b"v"})
    assert connection.table(name).row(b"r") == {b"f:q": b"v"}
