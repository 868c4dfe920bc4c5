"""Many other processes at the port between roles, or large calls of them: what they take of its memory is bounded."""

import pytest
from gevent.socket import create_connection

from hbtable.errors import Overloaded
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer, RpcServerOptions
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.network.sockets import serve
from hbtable.runtime.request_budget import RequestBudget, hold, work_for
from hbtable.thrift.frames import GOODBYE

HOST = "127.0.0.1"
LONG_TIMEOUTS = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60, census_seconds=60)


class Service:
    def __init__(self, mutate=lambda: None, value=b""):
        self._mutate = mutate
        self._value = value

    def mutate(self, tablet_id, mutations):
        self._mutate()

    def read_rows(self, tablet_id, rows, spec):
        self._mutate()
        return [(row, [(b"f:q", 5, self._value)]) for row in rows]


class Port:
    """One tablet server's port between roles."""

    def __init__(self, service, options=None):
        self.runtime = GeventRuntime()
        roles = LocalTransport()
        roles.register_server("s1", service, service)
        self.server = RpcServer(self.runtime, roles, lambda handle: serve(HOST, 0, handle), options)
        self.port = self.server.start()
        self.transport = RpcTransport(self.runtime, lambda name: f"{HOST}:{self.port}", lambda: None, LONG_TIMEOUTS)

    def connect(self):
        return create_connection((HOST, self.port))

    def write(self, value=b"v"):
        self.transport.tablet_service("s1").mutate(1, [RowMutation(b"r", [(PUT, b"f", b"q", 5, value)])])

    def until(self, holds):
        """A minute at most: a machine may stand still for a while."""
        for _ in range(12_000):
            if holds():
                return
            self.runtime.sleep(0.005)
        raise AssertionError("not within a minute")

    def close(self):
        self.transport.close()
        self.server.close()
        self.runtime.close()


@pytest.fixture
def opened():
    made = []

    def make(service=None, options=None):
        made.append(Port(service or Service(), options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_half_sent_calls_of_many_peers_take_no_more_memory_than_the_port_has(opened):
    limit = 1 << 20
    port = opened(options=RpcServerOptions(transfer_bytes=limit))
    peers = [port.connect() for _ in range(6)]
    budget = port.server.budget
    for number, peer in enumerate(peers, start=1):
        peer.sendall((64 << 20).to_bytes(4, "big") + bytes(300_000))
        port.until(lambda: budget.used_bytes + budget.cut_off * 300_004 == 300_004 * number)  # noqa: B023
        assert budget.used_bytes <= limit
    assert budget.cut_off == 3
    assert peers[0].recv(100) == GOODBYE, "it knows that its call was not begun"
    port.write()
    for peer in peers:
        peer.close()
    port.until(lambda: not port.server.budget.used_bytes)


def test_a_large_call_is_counted_until_it_is_answered(opened):
    held = []
    port = opened(Service(lambda: held.append(port.server.budget.used_bytes)))
    port.write(bytes(1 << 20))
    assert held[0] > 2 << 20, "as it came, and decoded"
    port.until(lambda: not port.server.budget.used_bytes)


def test_what_a_call_puts_together_is_counted_until_it_is_answered(opened):
    held = []

    def work():
        hold(3 << 20)
        held.append(port.server.budget.used_bytes)

    port = opened(Service(work))
    for _ in range(2):
        port.write()
    assert held == [3 << 20] * 2
    port.until(lambda: not port.server.budget.used_bytes)


def test_a_read_is_refused_for_want_of_room_before_its_caller_gives_it_up(opened):
    def work():
        hold(1 << 20)
        budget.end(first)
        growing.append(budget.begin(None))
        budget.grow(growing[0], 7 << 20)
        hold(3 << 20)

    port = opened(Service(work), RpcServerOptions(transfer_bytes=8 << 20))
    budget, growing, slept = port.server.budget, [], []
    oldest, first = budget.begin(None), budget.begin(None)
    budget.grow(oldest, 0)  # goes on whatever it takes
    budget.grow(first, 5 << 20)

    def sleep(seconds):
        slept.append(seconds)
        if sum(slept) > 0.9 * budget._room_seconds and not growing:  # nearly too late for it to begin
            budget.end(first)

    budget._sleep = sleep
    with pytest.raises(Overloaded, match="try again"):
        port.transport.tablet_service("s1").read_rows(1, [b"a"], ReadSpec())
    assert 1 < sum(slept) < 0.8 * RpcOptions().read_seconds
    budget.end(oldest)
    budget.end(growing[0])
    port.until(lambda: not budget.used_bytes)


def test_an_answer_that_was_read_is_counted_for_the_request_it_was_asked_for(opened):
    port = opened(Service(value=bytes(1 << 20)))
    memory = MemoryBudget(8 << 20, port.runtime.sleep, port.runtime.clock_seconds)
    request, later = RequestBudget(memory), RequestBudget(memory)
    service = port.transport.tablet_service("s1")
    try:
        work_for(request)
        assert len(service.read_rows(1, [b"a", b"b"], ReadSpec())) == 2
        assert 4 << 20 < memory.used_bytes < 5 << 20
        work_for(later)
        with pytest.raises(Overloaded, match="try again"):
            service.read_rows(1, [b"a"] * 4, ReadSpec())
    finally:
        work_for(None)
    later.clear()
    request.clear()
    assert memory.used_bytes == 0


def test_small_calls_are_not_counted(opened):
    held = []
    port = opened(Service(lambda: held.append(port.server.budget.used_bytes)))
    port.write()
    assert held == [0]


def test_idle_peers_of_one_address_lock_out_nobody(opened):
    port = opened(options=RpcServerOptions(connections=4))
    crowd = [port.connect() for _ in range(12)]
    port.write()
    assert crowd[0].recv(100) == GOODBYE
    for peer in crowd:
        peer.close()


class Restarting(Port):
    """A caller, and peers which it knows by the addresses that they have at the moment."""

    def __init__(self):
        self.addresses = {}
        self.runtime = GeventRuntime()
        self.transport = RpcTransport(self.runtime, self.addresses.get, lambda: None, LONG_TIMEOUTS)

    def starts(self, name, mutate=lambda: None):
        service, roles = Service(mutate), LocalTransport()
        roles.register_server(name, service, service)
        self.server = RpcServer(self.runtime, roles, lambda handle: serve(HOST, 0, handle))
        self.addresses[name] = f"{HOST}:{self.server.start()}"

    def write_to(self, name):
        self.transport.tablet_service(name).mutate(1, [RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")])])

    def idle(self):
        """How many connections it keeps to each peer that it knows."""
        return {name: len(server.peer.pool._idle) for name, server in self.transport._servers.items()}

    def usable(self):
        """Idle connections whose end has not arrived here."""
        pools = [server.peer.pool for server in self.transport._servers.values()]
        return [connection for pool in pools for connection in pool._idle if connection.is_usable()]


@pytest.fixture
def restarting():
    caller = Restarting()
    yield caller
    caller.close()


def test_peers_that_stopped_are_forgotten_with_their_connections(restarting):
    for number in range(5):
        restarting.starts(f"s{number}")
        restarting.write_to(f"s{number}")
        assert restarting.idle() == {f"s{number}": 1}
        restarting.server.close()
        restarting.until(lambda: not restarting.usable())


def test_peers_that_live_and_peers_that_are_being_called_keep_their_connections(restarting):
    release, called = restarting.runtime.event(), restarting.runtime.event()
    restarting.starts("idle")
    restarting.write_to("idle")
    idle = restarting.server
    restarting.starts("busy", lambda: (called.set(), release.wait()))
    writing = restarting.runtime.spawn(restarting.write_to, "busy")
    assert called.wait(60)
    busy = restarting.server
    restarting.starts("new")
    restarting.write_to("new")
    assert restarting.idle() == {"idle": 1, "busy": 0, "new": 1}
    release.set()
    assert writing.join(60)
    assert restarting.idle() == {"idle": 1, "busy": 1, "new": 1}
    for server in (idle, busy):
        server.close()
