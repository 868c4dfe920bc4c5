"""The promises of rpc.transport over every adapter: calls and errors arrive unchanged."""

from collections.abc import Callable, Iterator

import pytest

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.errors import (
    BadFilter,
    Conflict,
    Corruption,
    HbtableError,
    NoSuchFamily,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    TableNotFound,
    Unavailable,
)
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, ScanPage, ScanPosition, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.status import CacheEviction, Collection, ServedChanges, ServedTablet, TabletStatus
from hbtable.model.tablet import LogRef, SSTableRef, TabletRecord
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.rpc.transport import Transport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve

HOST = "127.0.0.1"
NAME = "server-1"
RECORD = TabletRecord(
    16, 17, RowRange(b"a", b"\xff"), 5, NAME, 3,
    (("g", (SSTableRef("f/1", 10, 2**32 - 1, 1, 9, 4),)),), (LogRef("old", 7),), TabletRecord(16, 18, RowRange(), 6),
)  # fmt: skip
SCHEMA = TableSchema(b"ns:t", {b"f": FamilySchema(b"f", attributes=(("k", "v"),))}, 4, 99, (("READONLY", "true"),))
CELL = (b"f:q", -5, b"v\0")
ROW = (b"r", [CELL, (b"f:", 2**63 - 1, b"")])
MUTATION = RowMutation(b"r", [(PUT, b"f", b"q", -1, b"v")], True, 5)


class Recorder:
    """All three services: remembers what it was called with, answers or raises what it was told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.outcome: object = None

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            self.calls.append((name, *arguments))
            if isinstance(self.outcome, BaseException):
                raise self.outcome
            return self.outcome

        return call


Adapter = tuple[Transport, Recorder, LocalTransport]


@pytest.fixture(params=["local", "thrift", "thrift, but in this process"])
def adapter(request: pytest.FixtureRequest) -> Iterator[Adapter]:
    recorder, roles = Recorder(), LocalTransport()
    roles.register_server(NAME, recorder, recorder)
    roles.register_master(recorder)
    if request.param == "local":
        yield roles, recorder, roles
        return
    runtime = GeventRuntime()
    server = RpcServer(runtime, roles, lambda handle: serve(HOST, 0, handle))
    address = f"{HOST}:{server.start()}"
    shortcut = roles if "process" in request.param else None
    transport = RpcTransport(runtime, lambda name: address, lambda: address, local=shortcut)
    yield transport, recorder, roles
    transport.close()
    server.close()
    runtime.close()


SPEC = ReadSpec({b"f": None, b"g": frozenset([b"", b"q"])}, 1, 9, 3, b"PageFilter(1)", False, True)
REQUEST = ScanRequest(RowRange(b"a", b"b"), SPEC, True, 2, 3, 4, ScanPosition(b"r", 2**62, b"\1state"))
TABLET_CALLS = [
    ("mutate", (17, [MUTATION]), None),
    ("read_rows", (17, [b"r", b""], SPEC), [ROW, (b"", [])]),
    ("read_rows", (17, [b"r"], EVERYTHING), []),
    ("scan", (17, REQUEST), ScanPage([ROW], ScanPosition(b"s", 1, b"more"), True, b"state")),
    ("scan", (17, ScanRequest()), ScanPage([], None)),
    ("scan_with_times", (17, REQUEST, {b"f": (0, 2**63 - 1), b"": (3, 9)}), ScanPage([ROW], None)),
    ("scan_with_times", (17, ScanRequest(), {}), ScanPage([], None)),
    ("increment", (17, b"r", b"f", b"q", -(2**63), 2**32 - 1), 2**63 - 1),
    ("append", (17, b"r", [(b"f", b"q", b"x")], 1000, 7), [CELL]),
    ("check_and_mutate", (17, b"r", b"f", b"q", None, MUTATION, 0), False),
    ("mutate_if", (17, b"r", EVERYTHING, "", None, MUTATION, 0), True),
    ("mutate_if", (17, b"r", ReadSpec({b"f": frozenset((b"q",))}, 3, 9), ">", b"v", MUTATION, 8), False),
    ("check_and_mutate", (17, b"r", b"f", b"q", b"", MUTATION, 8), True),
    ("add_to_columns", (17, MUTATION), [CELL]),
]
ADMIN_CALLS = [
    ("load_tablet", (4, RECORD, SCHEMA), None),
    ("unload_tablet", (4, 17), None),
    ("update_schema", (4, 16, SCHEMA), None),
    ("sort_log_part", (4, "dead", b"part"), SortedRun(1, 2, 2**32 - 1, 77)),
    ("flush", (17,), None),
    ("compact", (17, True, b"f"), None),
    ("roll_log", (), None),
    ("switch_compactions", (False,), True),
    ("split", (17, None), False),
    ("split", (17, b"m"), True),
    ("tablets", (16,), [TabletStatus(RECORD, 1, 2, 3, 4, 5, 6)]),
    ("tablets", (16,), [TabletStatus(RECORD, 1, 2, 3, 4, 5, 6, True, False)]),
    ("tablets", (-1,), []),
    ("served_changes", (0,), ServedChanges(0, True, [], [])),
    ("served_changes", (2**40,), ServedChanges(2**40 + 1, False, [ServedTablet(16, 22, 3, 2**33)], [23, 2**40])),
    ("served_record", (22,), RECORD),
    ("family_usage", (b"",), [{"table": "t", "families": "f", "files": "5"}]),
    ("family_usage", (b"ns:t",), []),
    ("files_in_flight", (), {"f/1", "f/2"}),
    ("clear_block_cache", (16,), CacheEviction(3, 1 << 40)),
    ("task_deaths", (), ["one", "two"]),
    ("ping", (), None),
]
MASTER_CALLS = [
    ("create_table", (SCHEMA, [b"m", b"t"], "ann"), None),
    ("delete_table", (b"t",), None),
    ("enable_table", (b"t",), None),
    ("disable_table", (b"t",), None),
    ("alter_table", (SCHEMA,), None),
    ("truncate_table", (b"t", True), None),
    ("move_tablet", (b"t", 17, "server-2"), None),
    ("merge_tablets", (b"t", [17, 18]), None),
    ("balance", (), True),
    ("balance_switch", (False,), True),
    ("balancer_enabled", (), False),
    ("normalize", ([b"t", b"u"],), True),
    ("normalizer_switch", (False,), True),
    ("normalizer_enabled", (), False),
    ("decommission", (["server-1", "server-2"], True), None),
    ("recommission", ("server-1",), None),
    ("collect_garbage", (), Collection(2, 2**40)),
    ("look_at_everything", (), None),
    ("balancer_rests", (), "it is switched off"),
    ("master_task_deaths", (), ["one"]),
    ("ping_master", (), None),
    ("create_namespace", (b"n", {"k": "v"}), None),
    ("alter_namespace", (b"n", {}), None),
    ("delete_namespace", (b"n",), None),
    ("set_throttle", ("ann", b"", b"t", False, "READ_SIZE", 2**40, 60, True), None),
    ("set_space_limit", (b"n", b"", 2**40, "DISABLE"), None),
    ("space_usage", (), [{"table": "t", "bytes": "5"}]),
    ("set_quota_exemption", ("ann", True), None),
    ("set_throttling", (False,), True),
    ("throttling_enabled", (), False),
    ("quotas", (), [{"user": "ann", "limit": "5"}, {}]),
]


def plain(value: object) -> object:
    if isinstance(value, RowMutation):
        return (value.row, value.operations, value.skip_log, value.ttl_millis)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def check(target: object, recorder: Recorder, calls: list[tuple[str, tuple[object, ...], object]]) -> None:
    for name, arguments, answer in calls:
        recorder.outcome = answer
        assert getattr(target, name)(*arguments) == answer, name
        called = recorder.calls[-1]
        assert [plain(one) for one in called] == [name, *(plain(one) for one in arguments)]


def test_calls_and_answers_arrive_unchanged(adapter: Adapter) -> None:
    transport, recorder, _ = adapter
    check(transport.tablet_service(NAME), recorder, TABLET_CALLS)
    check(transport.tablet_admin(NAME), recorder, ADMIN_CALLS)
    check(transport.master(), recorder, MASTER_CALLS)


@pytest.mark.parametrize(
    "error",
    [
        StaleLocation("tablet 17 is not served"),
        Unavailable("not now"),
        OutOfSpace("full"),
        OutcomeUnknown("who knows"),
        NoSuchFamily("no family 'x'"),
        Conflict("changed"),
        TableNotFound("t"),
        Corruption("some/file", 5, "the checksum does not match"),
        BadFilter("unknown filter", 7),
        HbtableError("something else"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_arrive_by_class_with_their_fields(adapter: Adapter, error: HbtableError) -> None:
    transport, recorder, _ = adapter
    recorder.outcome = error
    for call in (
        lambda: transport.tablet_service(NAME).mutate(17, [MUTATION]),
        lambda: transport.tablet_service(NAME).read_rows(17, [b"r"], EVERYTHING),
        lambda: transport.tablet_admin(NAME).tablets(),
        lambda: transport.master().delete_table(b"t"),
    ):
        with pytest.raises(HbtableError) as raised:
            call()
        assert type(raised.value) is type(error)
        assert (str(raised.value), vars(raised.value)) == (str(error), vars(error))


def test_a_server_that_is_gone_is_a_stale_location_and_a_missing_master_is_unavailable(adapter: Adapter) -> None:
    transport, recorder, roles = adapter
    service = transport.tablet_service(NAME)
    service.mutate(17, [MUTATION])
    roles.remove_server(NAME)
    roles.register_master(None)
    done = len(recorder.calls)
    with pytest.raises(StaleLocation):
        transport.tablet_service(NAME).mutate(17, [MUTATION])
    with pytest.raises(StaleLocation):
        transport.tablet_admin(NAME).unload_tablet(1, 17)
    with pytest.raises(Unavailable):
        transport.master().delete_table(b"t")
    assert len(recorder.calls) == done
