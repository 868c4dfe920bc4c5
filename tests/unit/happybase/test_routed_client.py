"""Each call goes to the server that has its row; where that fails, by another way, and no write twice."""

import contextlib
import random
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.transport import TTransportException

from hbtable.happybase.routed_client import RoutedClient
from hbtable.library.routes import Routes

HOME = ("home", 1)
FIRST, SECOND = ("first", 1), ("second", 2)


class Server:
    """One server's client: remembers its calls, and breaks when told."""

    def __init__(self, cluster: "Cluster", address: Any) -> None:
        self.cluster = cluster
        self.address = address
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.breaks: Exception | None = None
        self.closed = 0
        """So many connections to it were."""

    def close(self) -> None:
        self.closed += 1

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)

        def call(*arguments: Any) -> Any:
            self.calls.append((method, arguments))
            if self.breaks is not None:
                raise self.breaks
            return self.cluster.answer(self, method, arguments)

        return call

    def names(self) -> list[str]:
        return [method for method, _ in self.calls if method != "getTableRegions"]


class Cluster:
    """Rows before m are the first server's, the others the second's; the client came to a third one."""

    def __init__(self) -> None:
        self.regions = [(b"", FIRST), (b"m", SECOND)]
        self.servers = {address: Server(self, address) for address in (HOME, FIRST, SECOND)}
        self.dead: set[Any] = set()
        self.routes = Routes(threading.Lock())
        self.client = RoutedClient(
            self.servers[HOME], HOME, self.routes, self.connect, self.servers[HOME].close, lambda: None
        )
        self.connected: list[Any] = []

    def connect(self, address: Any) -> Server:
        self.connected.append(address)
        if address in self.dead:
            raise ConnectionRefusedError
        return self.servers[address]

    def answer(self, server: Server, method: str, arguments: tuple[Any, ...]) -> Any:
        if method == "getTableRegions":
            return [
                SimpleNamespace(startKey=start, serverName=host.encode(), port=port)
                for start, (host, port) in self.regions
            ]
        if method.startswith("getRows"):
            return [SimpleNamespace(row=row, by=server.address) for row in arguments[1] if not row.startswith(b"none")]
        if method.startswith("scannerOpen"):
            return {HOME: 10, FIRST: 11, SECOND: 12}[server.address]
        return server.address


def test_a_row_s_calls_go_to_its_owner() -> None:
    cluster = Cluster()
    client = cluster.client
    assert client.getRow(b"t", b"a", {}) == FIRST
    assert client.getRow(b"t", b"m", {}) == SECOND
    assert client.mutateRow(b"t", b"z", [], {}) == SECOND
    assert client.atomicIncrement(b"t", b"b", b"f:c", 1) == FIRST
    assert client.checkAndPut(b"t", b"l", b"f:c", b"", None, {}) == FIRST
    assert client.increment(SimpleNamespace(table=b"t", row=b"n")) == SECOND
    assert client.append(SimpleNamespace(table=b"t", row=b"c")) == FIRST
    assert client.getTableNames() == HOME
    assert cluster.connected == [FIRST, SECOND], "each once"
    assert [name for name, _ in cluster.servers[HOME].calls].count("getTableRegions") == 1


def test_rows_come_in_the_order_asked_whoever_has_them() -> None:
    cluster = Cluster()
    rows = [b"z", b"a", b"none1", b"a", b"m", b"none2", b"b"]
    found = cluster.client.getRowsWithColumns(b"t", rows, [], {})
    assert [one.row for one in found] == [b"z", b"a", b"a", b"m", b"b"]
    assert [one.by for one in found] == [SECOND, FIRST, FIRST, SECOND, FIRST]
    assert cluster.client.getRows(b"t", [], {}) == []


def test_a_batch_is_divided_in_its_order() -> None:
    cluster = Cluster()
    batches = [SimpleNamespace(row=row, number=number) for number, row in enumerate([b"a", b"z", b"a", b"b", b"z"])]
    cluster.client.mutateRows(b"t", batches, {})
    sent = {
        address: [one.number for _, (_, some, _) in cluster.servers[address].calls for one in some]
        for address in (FIRST, SECOND)
    }
    assert sent == {FIRST: [0, 2, 3], SECOND: [1, 4]}


def test_a_scanner_stays_where_it_was_opened() -> None:
    cluster = Cluster()
    client = cluster.client
    scanner = client.scannerOpenWithScan(b"t", SimpleNamespace(startRow=b"q"), {})
    assert client.scannerGetList(scanner, 10) == SECOND
    assert client.scannerClose(scanner) == SECOND
    assert client.scannerGetList(client.scannerOpen(b"t", b"", [], {}), 1) == FIRST


def test_a_server_that_cannot_be_reached_is_gone_around_for_a_while() -> None:
    cluster = Cluster()
    cluster.dead.add(SECOND)
    assert cluster.client.mutateRow(b"t", b"z", [], {}) == HOME
    for _ in range(900):
        assert cluster.client.getRow(b"t", b"z", {}) == HOME
    assert cluster.connected == [SECOND]
    cluster.dead.clear()
    for _ in range(200):
        last = cluster.client.getRow(b"t", b"z", {})
    assert last == SECOND


@pytest.mark.parametrize(("method", "again"), [("getRow", True), ("mutateRow", False), ("atomicIncrement", False)])
def test_a_connection_that_breaks_repeats_a_read_and_no_write(method: str, again: bool) -> None:
    cluster = Cluster()
    broken = cluster.servers[SECOND]
    broken.breaks = TTransportException(TTransportException.END_OF_FILE, "TSocket read 0 bytes")
    call = getattr(cluster.client, method)
    if again:
        assert call(b"t", b"z", None) == HOME
    else:
        with pytest.raises(TTransportException):
            call(b"t", b"z", None)
    assert broken.names() == [method]
    assert cluster.servers[HOME].names() == [method] * again
    broken.breaks = None
    assert cluster.client.getRow(b"t", b"z", None) == HOME, "it is not asked at once"


def test_the_seed_s_own_break_is_the_caller_s() -> None:
    cluster = Cluster()
    cluster.regions = [(b"", HOME)]
    cluster.client.getRow(b"t", b"a", {})
    cluster.servers[HOME].breaks = TTransportException(TTransportException.END_OF_FILE, "TSocket read 0 bytes")
    with pytest.raises(TTransportException):
        cluster.client.getRow(b"t", b"a", {})
    assert cluster.servers[HOME].closed == 1


Break = Callable[[RoutedClient, int], object]
BREAKS: dict[str, Break] = {
    "read": lambda client, scanner: client.getRow(b"t", b"z", {}),
    "reads": lambda client, scanner: client.getRows(b"t", [b"z"], {}),
    "write": lambda client, scanner: client.mutateRow(b"t", b"z", [], {}),
    "batch": lambda client, scanner: client.mutateRows(b"t", [SimpleNamespace(row=b"z")], {}),
    "open": lambda client, scanner: client.scannerOpen(b"t", b"z", [], {}),
    "fetch": lambda client, scanner: client.scannerGetList(scanner, 10),
    "close": lambda client, scanner: client.scannerClose(scanner),
}
BROKEN = [TimeoutError(), TTransportException(TTransportException.END_OF_FILE), TProtocolException()]


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("call", BREAKS)
def test_a_connection_that_breaks_is_closed_and_not_used_again(call: str, error: Exception) -> None:
    """What is left of its answer would be the next call's."""
    cluster = Cluster()
    client, owner = cluster.client, cluster.servers[SECOND]
    scanner = client.scannerOpen(b"t", b"q", [], {})
    assert scanner == 12
    owner.breaks = error
    with contextlib.suppress(type(error)):
        BREAKS[call](client, scanner)
    owner.breaks = None
    assert owner.closed == 1
    asked = len(owner.calls)
    assert client.getRow(b"t", b"z", {}) == HOME
    if call != "close":
        assert client.scannerGetList(scanner, 10) == HOME, "which says that it does not know it"
        assert client.scannerClose(scanner) is None, "the first error is to be seen, and not that of closing"
    assert len(owner.calls) == asked


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("method", ["getRow", "mutateRow", "scannerGetList", "getTableNames", "createTable"])
def test_the_seed_s_connection_is_closed_when_it_breaks(method: str, error: Exception) -> None:
    cluster = Cluster()
    cluster.regions = []
    home = cluster.servers[HOME]
    cluster.client.getRow(b"t", b"a", {})
    home.breaks = error
    with pytest.raises(type(error)):
        getattr(cluster.client, method)(b"t", b"a", {})
    assert home.closed == 1


def test_tablets_that_moved_are_found_again_and_changes_of_a_table_at_once() -> None:
    cluster = Cluster()
    assert cluster.client.getRow(b"t", b"z", {}) == SECOND
    cluster.regions = [(b"", FIRST)]
    assert cluster.client.getRow(b"t", b"z", {}) == SECOND
    cluster.client.disableTable(b"t")
    assert cluster.client.getRow(b"t", b"z", {}) == FIRST
    cluster.regions = [(b"", SECOND)]
    owners = [cluster.client.getRow(b"t", b"z", {}) for _ in range(6000)]
    assert owners[0] == FIRST
    assert owners[-1] == SECOND


def test_every_row_goes_where_a_model_says() -> None:
    choose = random.Random(5)
    for _ in range(200):
        cluster = Cluster()
        starts = sorted({b"", *(bytes([choose.randrange(97, 123)]) for _ in range(choose.randrange(6)))})
        cluster.regions = [(start, choose.choice([HOME, FIRST, SECOND])) for start in starts]
        choose.shuffle(cluster.regions)
        for letter in range(97, 123):
            row = bytes([letter])
            owner = max((start, owner) for start, owner in cluster.regions if start <= row)[1]
            assert cluster.client.getRow(b"t", row, {}) == owner
