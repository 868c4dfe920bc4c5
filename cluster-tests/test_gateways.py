"""Gateways of a cluster that serve no tablets (`hbtable thrift`): any number behind a balancer, and none that stops is
noticed by clients that come and go."""

import http.client
import signal
import threading
from collections.abc import Callable
from contextlib import closing

import happybase
import pytest

import hbtable
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.tcp_balancer import Backend, TcpBalancer, is_ready
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

CLIENTS = 4
SETTINGS = "[gateway]\nnotice_seconds = 3.0\nleave_seconds = 60.0\n"


@pytest.fixture
def cluster(cluster_with: Callable[[str], ProcessCluster]) -> ProcessCluster:
    return cluster_with(SETTINGS).start(2)


class Clients:
    """Threads that connect, put, read, scan and go, again and again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(CLIENTS)]
        self.errors: list[BaseException] = []
        self.visits = 0

    def _work(self, number: int) -> None:
        written: set[bytes] = set()
        while not self._ended.is_set() and not self.errors:
            try:
                self._visit(b"%d" % number, written)
            except BaseException as error:
                self.errors.append(error)

    def _visit(self, client: bytes, written: set[bytes]) -> None:
        with closing(happybase.Connection("127.0.0.1", self._port, timeout=120_000)) as connection:
            table = connection.table("t")
            for _ in range(5):
                row = b"%b-%06d" % (client, len(written))
                table.put(row, {b"f:v": row})
                written.add(row)
                assert table.row(row) == {b"f:v": row}
            assert {row for row, _ in table.scan(row_prefix=client + b"-")} == written
        self.visits += 1

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


def backend(gateway: RoleProcess) -> Backend:
    return Backend(gateway.port, gateway.http_port)


@long_test("one of two gateways stops")
def test_no_client_notices_that_one_of_two_gateways_stops(cluster: ProcessCluster) -> None:
    cluster.create_table("t", [b"1", b"2", b"3"])
    stopping, staying = cluster.start_gateway(), cluster.start_gateway()
    with (
        TcpBalancer([backend(stopping), backend(staying)]) as balancer,
        Clients(balancer.port) as clients,
    ):
        eventually(lambda: clients.visits >= 20 or bool(clients.errors), SOON_SECONDS, "clients come and go")
        assert min(balancer.passed.values()) > 0, balancer.passed
        assert stopping.stop() == 0
        assert clients.errors == []
        assert balancer.ready() == {backend(staying)}, "the balancer had noticed before"
        visits = clients.visits
        eventually(lambda: clients.visits > visits + 10 or bool(clients.errors), SOON_SECONDS, "they go on")
        assert clients.errors == []
        again = cluster.start_gateway("--port", str(stopping.port), "--http-port", str(stopping.http_port))
        before = balancer.passed[backend(stopping)]
        eventually(lambda: balancer.passed[backend(stopping)] > before, SOON_SECONDS, "it is used again")
        assert again.port == stopping.port
    assert clients.errors == []


def test_a_gateway_serves_whatever_a_tablet_server_does(cluster: ProcessCluster) -> None:
    gateway = cluster.start_gateway()
    assert gateway.http_port
    with hbtable.connect("127.0.0.1", gateway.port, timeout=120_000) as database:
        table = database.create_table("made", {"f": {"max_versions": 3}}, split_rows=[b"m"])
        with table.batch() as batch:
            for number in range(200):
                batch.put(b"%c%03d" % (97 + number % 26, number), {b"f:v": b"%d" % number})
        assert len(list(table.scan())) == 200
        assert table.counter_inc(b"counter", b"f:c") == 1
        assert [one.written_cells for one in table.usage()] == [201]
        database.flush_table("made")
        database.alter_table("made", add={"g": {}})
        assert set(table.families()) == {b"f", b"g"}
        owners = {region["port"] for region in table.regions()}
        assert owners <= {server.port for server in cluster.servers}, "a gateway owns nothing"
    assert "thrift" not in cluster.servers[0].log()


def test_a_scanner_goes_on_at_the_same_address_after_a_restart(cluster: ProcessCluster) -> None:
    cluster.create_table("t", [])
    gateway = cluster.start_gateway("-D", "gateway.notice_seconds=0", "-D", "gateway.leave_seconds=0")
    with closing(gateway.connect()) as connection:
        table = connection.table("t")
        for number in range(100):
            table.put(b"%03d" % number, {b"f:": b"x"})
        scanner = connection.client.scannerOpen(b"t", b"", [], {})
        first = [one.row for one in connection.client.scannerGetList(scanner, 40)]
    assert gateway.stop() == 0
    again = cluster.start_gateway("--port", str(gateway.port))
    with closing(again.connect()) as connection:
        rest = [one.row for one in connection.client.scannerGetList(scanner, 100)]
    assert first + rest == [b"%03d" % number for number in range(100)]


def test_idle_clients_are_closed_when_their_time_is_over(cluster: ProcessCluster) -> None:
    gateway = cluster.start_gateway("-D", "gateway.notice_seconds=0", "-D", "gateway.leave_seconds=1")
    with closing(gateway.connect()) as connection:
        assert connection.tables() == []
        assert gateway.stop() == 0
    assert "1 clients were still connected after 1 s" in gateway.log()


def test_http_clients_are_asked_to_go(cluster: ProcessCluster) -> None:
    """One that keeps its connection is answered on it, and told to make another."""
    gateway = cluster.start_gateway("-D", "gateway.notice_seconds=600")
    name = b"getTableNames"
    call = b"\x80\x01\x00\x01" + len(name).to_bytes(4, "big") + name + bytes(4) + b"\x00"
    with closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=SOON_SECONDS)) as connection:

        def asked() -> http.client.HTTPResponse:
            connection.request("POST", "/", call, {"Content-Type": "application/x-thrift"})
            answer = connection.getresponse()
            assert name in answer.read()
            return answer

        assert asked().getheader("Connection") is None
        gateway.process.send_signal(signal.SIGTERM)
        eventually(lambda: not is_ready(backend(gateway)), SOON_SECONDS, "it is not ready any more")
        answer = asked()
        assert answer.getheader("Connection") == "close"
        assert answer.will_close
        assert asked().status == 200, "over a new connection"
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(SOON_SECONDS) == 0, "the second signal ends it at once"
