"""happybase, unmodified, against a real server in this process: every transport and protocol, a restart, a drain."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hbtable.launch.config.sections import ServerOptions, read_configuration
from hbtable.launch.serve import SingleServer
from hbtable.runtime.threads.portal import Portal

happybase: Any = pytest.importorskip("happybase")

FORMS = list(itertools.product(["buffered", "framed"], ["binary", "compact"]))


class Running:
    """A server whose hub lives in a thread of its own, so that blocking clients can talk to it from this one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._portal: Portal | None = None
        self._server: SingleServer | None = None
        self.port = 0

    def start(self) -> None:
        self._portal = Portal()
        self._server = self._portal.call(self._make)
        self._portal.call(self._server.start)
        self.port = self._server.gateway.port

    def _make(self) -> SingleServer:
        configuration = read_configuration(None, {"HOME": os.devnull}, ())
        return SingleServer(
            configuration, ServerOptions(data=str(self._folder), port=0, http_port=0), str(self._folder)
        )

    def stop(self) -> None:
        if self._portal is not None and self._server is not None:
            self._portal.call(self._server.stop)
            self._portal.close()
            self._portal = self._server = None

    def split(self, table: bytes, row: bytes) -> None:
        assert self._portal is not None
        assert self._server is not None
        self._portal.call(self._server.cluster.client.admin.split, table, row)

    def connect(self, transport: str = "buffered", protocol: str = "binary") -> Any:
        return happybase.Connection("127.0.0.1", self.port, transport=transport, protocol=protocol)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "data")
    running.start()
    yield running
    running.stop()


@pytest.mark.integration
@pytest.mark.parametrize(("transport", "protocol"), FORMS)
def test_what_happybase_does(server: Running, transport: str, protocol: str) -> None:
    connection = server.connect(transport, protocol)
    connection.create_table("t", {"cf1": {}, "cf2": {"max_versions": 1}})
    table = connection.table("t")
    with table.batch(batch_size=100) as batch:
        for number in range(1000):
            batch.put(b"r%04d" % number, {b"cf1:a": b"v%d" % number, b"cf2:": b"x"})

    assert len(list(table.scan(batch_size=300))) == 1000
    assert [row for row, _ in table.scan(row_prefix=b"r00", limit=5, batch_size=2)] == [b"r%04d" % n for n in range(5)]
    assert [row for row, _ in table.scan(reverse=True, limit=3)] == [b"r0999", b"r0998", b"r0997"]
    assert len(list(table.scan(filter=b"PrefixFilter('r01') AND KeyOnlyFilter()"))) == 100
    assert dict(table.rows([b"r0002", b"none"]))[b"r0002"] == {b"cf1:a": b"v2", b"cf2:": b"x"}
    assert table.families()[b"cf1"]["max_versions"] == 3

    table.delete(b"r0001")
    table.put(b"r0001", {b"cf1:b": b"again"})
    assert table.row(b"r0001") == {b"cf1:b": b"again"}
    table.put(b"old", {b"cf1:a": b"1"}, timestamp=1234)
    assert table.row(b"old", timestamp=1234) == {}
    assert table.row(b"old", timestamp=1235, include_timestamp=True) == {b"cf1:a": (b"1", 1234)}

    assert table.counter_inc(b"c", b"cf1:n", 5) == 5
    table.counter_set(b"c", b"cf1:n", 2)
    assert table.counter_dec(b"c", b"cf1:n") == 1
    connection.compact_table("t", major=True)
    (region,) = table.regions()
    assert region["name"].startswith(b"t,,")
    assert connection.is_table_enabled("t")
    connection.delete_table("t", disable=True)
    assert connection.tables() == []
    connection.close()


@pytest.mark.integration
def test_a_scan_goes_on_over_an_orderly_restart(server: Running) -> None:
    connection = server.connect()
    connection.create_table("t", {"f": {}})
    with connection.table("t").batch() as batch:
        for number in range(100):
            batch.put(b"r%03d" % number, {b"f:a": b"v"})
    scan = connection.client.scannerOpen(b"t", b"", [], {})
    assert len(connection.client.scannerGetList(scan, 60)) == 60
    connection.close()
    server.stop()

    server.start()
    connection = server.connect()
    rest = connection.client.scannerGetList(scan, 1000)
    assert [row.row for row in rest] == [b"r%03d" % number for number in range(60, 100)]
    assert connection.client.scannerOpen(b"t", b"", [], {}) > scan
    connection.close()


@pytest.mark.integration
def test_idle_clients_do_not_hold_up_a_stop(server: Running) -> None:
    connections = [server.connect(*form) for form in FORMS]
    assert [connection.tables() for connection in connections] == [[]] * 4
    server.stop()
    for connection in connections:
        with pytest.raises(Exception, match=r"read 0 bytes|reset|TSocket"):
            connection.tables()


@pytest.mark.parametrize(("transport", "protocol"), FORMS)
def test_a_batch_that_is_too_long_has_an_error_that_happybase_can_show(
    server: Running, transport: str, protocol: str
) -> None:
    """It reads an undeclared exception's text as bytes, and str() of that one fails."""
    connection = server.connect(transport, protocol)
    table = connection.table("long")
    batch = table.batch()
    for number in range(70):
        batch.put(b"%d" % number, {b"f:a": bytes(1_000_000)})
    with pytest.raises(
        Exception, match=r"over this server's limit of 67108864 bytes .* send smaller batches"
    ) as raised:
        batch.send()
    assert type(raised.value).__name__ == "IOError"
    connection.close()
