"""The budget of a request goes with its calls to other roles, and what they cost it comes back."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from hbtable.errors import CostExceeded
from hbtable.model.cell import Row
from hbtable.model.read import ReadSpec
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve
from hbtable.runtime.request_budget import RequestBudget, RequestCost, current_budget, work_for

HOST = "127.0.0.1"
WAIT_SECONDS = 50.0


class TabletServer:
    """Does `work` with the budget that it finds at each call."""

    def __init__(self) -> None:
        self.work: Callable[[RequestBudget], None] = lambda budget: None
        self.seen: list[tuple[RequestCost, float]] = []
        self.clock: Callable[[], float] = lambda: 0.0

    def _do(self) -> None:
        budget = current_budget()
        assert budget is not None
        assert budget.deadline is not None
        self.seen.append((budget.cost, budget.deadline - self.clock()))
        self.work(budget)

    def increment(
        self, tablet_id: int, row: bytes, family: bytes, qualifier: bytes, amount: int, checksum: int = 0
    ) -> int:
        self._do()
        return amount

    def read_rows(self, tablet_id: int, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        self._do()
        return []


@pytest.fixture
def pair() -> Iterator[tuple[RpcTransport, TabletServer]]:
    runtime, roles, server = GeventRuntime(), LocalTransport(), TabletServer()
    server.clock = runtime.clock_seconds
    roles.register_server("s1", server, server)
    port = RpcServer(runtime, roles, lambda handle: serve(HOST, 0, handle))
    address = f"{HOST}:{port.start()}"
    options = RpcOptions(read_seconds=WAIT_SECONDS, write_seconds=WAIT_SECONDS)
    transport = RpcTransport(runtime, lambda name: address, lambda: None, options)
    yield transport, server
    work_for(None)
    transport.close()
    port.close()
    runtime.close()


def test_what_a_request_costs_adds_up_over_the_servers_that_it_asks(pair: tuple[RpcTransport, TabletServer]) -> None:
    transport, server = pair
    service = transport.tablet_service("s1")
    request = RequestBudget()
    work_for(request)
    server.work = lambda budget: budget.spend(RequestCost(1.5, 1 << 40, 7))
    service.read_rows(1, [b"a"], ReadSpec())
    assert request.cost == RequestCost(1.5, 1 << 40, 7)
    service.increment(1, b"r", b"f", b"q", 1)
    service.read_rows(1, [b"a"], ReadSpec())
    assert request.cost == RequestCost(4.5, 3 << 40, 21)
    assert [cost for cost, _ in server.seen] == [RequestCost(1.5 * n, n << 40, 7 * n) for n in range(3)]
    work_for(None)
    service.read_rows(1, [b"a"], ReadSpec())
    assert server.seen[-1][0] == RequestCost(), "nothing of another request"


def test_a_server_knows_how_long_its_caller_waits(pair: tuple[RpcTransport, TabletServer]) -> None:
    transport, server = pair
    for _ in range(2):
        transport.tablet_service("s1").read_rows(1, [b"a"], ReadSpec())
    assert all(0.5 * WAIT_SECONDS < seconds < 0.9 * WAIT_SECONDS for _, seconds in server.seen)


def test_what_was_refused_has_cost_something_too(pair: tuple[RpcTransport, TabletServer]) -> None:
    transport, server = pair
    request = RequestBudget()
    work_for(request)

    def refuse(budget: RequestBudget) -> None:
        budget.spend(RequestCost(2.0, 5, 6))
        raise CostExceeded("this request looked at 6 cells")

    server.work = refuse
    with pytest.raises(CostExceeded, match="6 cells"):
        transport.tablet_service("s1").read_rows(1, [b"a"], ReadSpec())
    assert request.cost == RequestCost(2.0, 5, 6)
