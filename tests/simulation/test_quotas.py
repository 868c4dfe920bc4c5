"""Quotas through every door: who sets them, and whose calls are refused in which words."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.access.user import User
from hbtable.errors import SpaceLimitReached, Throttled
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.tablet import METADATA_TABLE_ID
from tests.harness.guarded_gateway import GuardedGateway, interface

ADMIN, ANN, BOB = User("admin"), User("ann"), User("bob")
REFUSED = (
    "org.apache.hadoop.hbase.quotas.RpcThrottlingException: number of requests exceeded - wait 1hr, 0ms; the quota of "
    "table t is 1req/hour: send less, or have it raised (list_quotas shows all)"
)


@pytest.fixture
def gateway() -> GuardedGateway:
    return GuardedGateway()


def inside(gateway: GuardedGateway, body: Callable[[], Any]) -> None:
    def main() -> None:
        gateway.start()
        try:
            gateway.client(ADMIN, "thrift1").createTable(b"t", [interface("thrift1").ColumnDescriptor(name=b"f")])
            body()
        finally:
            gateway.stop()

    gateway.runtime.run(main)


def set_throttle(gateway: GuardedGateway, user: str, table: bytes, limit: int = 1, seconds: int = 3600) -> None:
    gateway.client(ADMIN, "admin").adminSetThrottle(user, b"", table, False, "REQUEST_NUMBER", limit, seconds, False)
    gateway.runtime.sleep(1.0)  # of virtual time: in force everywhere within a second


def test_each_door_refuses_in_its_words_what_can_be_tried_again(gateway: GuardedGateway) -> None:
    one, two = interface("thrift1"), interface("thrift2")

    def body() -> None:
        thrift1, thrift2 = gateway.client(ADMIN, "thrift1"), gateway.client(ADMIN, "thrift2")
        own = gateway.client(ADMIN, "admin")
        set_throttle(gateway, "", b"t")
        thrift1.mutateRow(b"t", b"r", [one.Mutation(column=b"f:q", value=b"v")], {})
        for call in (
            lambda: thrift1.get(b"t", b"r", b"f:q", {}),
            lambda: thrift1.mutateRow(b"t", b"r", [one.Mutation(column=b"f:q", value=b"w")], {}),
            lambda: thrift1.scannerGetList(thrift1.scannerOpen(b"t", b"", [b"f"], {}), 5),
        ):
            with pytest.raises(one.IOError) as refused:
                call()
            assert (refused.value.message, refused.value.canRetry) == (REFUSED, True)
        for call in (
            lambda: thrift2.get(b"t", two.TGet(row=b"r")),
            lambda: thrift2.putMultiple(b"t", [two.TPut(b"r", [two.TColumnValue(b"f", b"q", b"w")])]),
            lambda: thrift2.getScannerResults(b"t", two.TScan(), 5),
        ):
            with pytest.raises(two.TIOError) as refused2:
                call()
            assert (refused2.value.message, refused2.value.canRetry) == (REFUSED, True)
        begin = gateway.runtime.clock_seconds()
        table = gateway.cluster.client.table(b"t")
        with pytest.raises(Throttled, match="number of requests exceeded - wait 1hr, 0ms"):
            table.read_rows([b"r"], ReadSpec())
        with pytest.raises(Throttled):
            table.mutate([RowMutation(b"r", [(PUT, b"f", b"q", 5, b"w")])])
        assert gateway.runtime.clock_seconds() < begin + 1.0, "the client library does not try in vain"
        own.adminSetThrottling(False)
        gateway.runtime.sleep(1.0)
        assert [cell.value for cell in thrift1.get(b"t", b"r", b"f:q", {})] == [b"v"]

    inside(gateway, body)


def test_one_users_storm_leaves_anothers_calls_served(gateway: GuardedGateway) -> None:
    """As counts in virtual time: ann gets what her quota allows, and bob's calls all find their row."""
    two = interface("thrift2")
    allowed, answered = 20, [0]

    def body() -> None:
        grant = interface("admin").AdminGrant
        for name in ("ann", "bob"):
            gateway.client(ADMIN, "admin").adminGrant(grant(holder=name, actions="R", table=b"t"), False)
        set_throttle(gateway, "ann", b"t", allowed, 1)
        ends = gateway.runtime.clock_seconds() + 10

        def storm() -> None:
            client = gateway.client(ANN, "thrift2")
            while gateway.runtime.clock_seconds() < ends:
                try:
                    client.get(b"t", two.TGet(row=b"r"))
                    answered[0] += 1
                except two.TIOError:
                    gateway.runtime.sleep(0.1)

        tasks = [gateway.runtime.spawn(storm, name="storm") for _ in range(30)]
        bob, served = gateway.client(BOB, "thrift2"), 0
        while gateway.runtime.clock_seconds() < ends:
            before = gateway.runtime.clock_seconds()
            bob.get(b"t", two.TGet(row=b"r"))
            assert gateway.runtime.clock_seconds() < before + 0.1
            served += 1
            gateway.runtime.sleep(0.1)
        for task in tasks:
            task.join()
        assert served >= 50
        assert answered[0] <= allowed * 12, "a whole limit at once, and its rate for ten seconds and a wait"

    inside(gateway, body)


def test_quotas_of_a_table_and_a_namespace_end_with_them(gateway: GuardedGateway) -> None:
    def body() -> None:
        thrift1, own = gateway.client(ADMIN, "thrift1"), gateway.client(ADMIN, "admin")
        own.adminCreateNamespace(b"n", {})
        set_throttle(gateway, "", b"t")
        set_throttle(gateway, "ann", b"t")
        set_throttle(gateway, "ann", b"")
        own.adminSetThrottle("", b"n", b"", False, "READ_SIZE", 5, 60, True)
        assert [(one.get("user"), one.get("table"), one.get("namespace")) for one in own.adminQuotas()] == [
            (None, None, "n"),
            (None, "t", None),
            ("ann", None, None),
            ("ann", "t", None),
        ]
        thrift1.disableTable(b"t")
        thrift1.deleteTable(b"t")
        own.adminDeleteNamespace(b"n")
        assert [one["user"] for one in own.adminQuotas()] == ["ann"]

    inside(gateway, body)


def has_come(gateway: GuardedGateway, happened: Callable[[], bool]) -> None:
    """Within the time in which the master measures tables, and servers hear of it."""
    for _ in range(30):
        if happened():
            return
        gateway.runtime.sleep(1.0)
    raise AssertionError("it did not happen")


def refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except interface("thrift1").IOError as error:
        return "SpaceLimitingException" in error.message and not error.canRetry
    return False


def test_a_table_that_is_too_large_takes_no_puts_until_it_is_smaller(gateway: GuardedGateway) -> None:
    one = interface("thrift1")

    def body() -> None:
        thrift1, own = gateway.client(ADMIN, "thrift1"), gateway.client(ADMIN, "admin")

        def put(table: bytes = b"t") -> None:
            thrift1.mutateRow(table, b"r", [one.Mutation(column=b"f:q", value=b"v" * 5000)], {})

        thrift1.createTable(b"u", [one.ColumnDescriptor(name=b"f")])
        put()
        own.adminFlush(b"t", 0)
        own.adminSetSpaceLimit(b"", b"t", 1, "NO_INSERTS")
        has_come(gateway, lambda: refused(put))
        put(b"u")
        (found,) = (usage for usage in own.adminSpaceUsage() if usage["table"] == "t")
        assert int(found.pop("bytes")) > 0
        assert found == {"table": "t", "limit": "1", "policy": "NO_INSERTS", "violated": "true"}
        thrift1.deleteAllRow(b"t", b"r", {})
        own.adminCompact(b"t", True, 0, b"")
        has_come(gateway, lambda: not refused(put))

    inside(gateway, body)


def test_what_is_not_compacted_is_refused_and_what_is_over_its_namespaces_limit_as_well(
    gateway: GuardedGateway,
) -> None:
    one = interface("thrift1")

    def body() -> None:
        thrift1, own = gateway.client(ADMIN, "thrift1"), gateway.client(ADMIN, "admin")
        own.adminCreateNamespace(b"n", {})
        thrift1.disableTable(b"t")
        thrift1.deleteTable(b"t")
        thrift1.createTable(b"n:t", [one.ColumnDescriptor(name=b"f")])

        def delete() -> None:
            thrift1.deleteAllRow(b"n:t", b"r", {})

        thrift1.mutateRow(b"n:t", b"r", [one.Mutation(column=b"f:q", value=b"v")], {})
        own.adminFlush(b"n:t", 0)
        own.adminSetSpaceLimit(b"n", b"", 1, "NO_WRITES_COMPACTIONS")
        has_come(gateway, lambda: refused(delete))
        server = gateway.cluster.server.admin
        (tablet,) = (one.record for one in server.tablets() if one.record.table_id != METADATA_TABLE_ID)
        with pytest.raises(SpaceLimitReached, match="NO_WRITES_COMPACTIONS Compactions are disallowed"):
            server.compact(tablet.tablet_id, True)
        own.adminSetSpaceLimit(b"n", b"", 0, "")
        has_come(gateway, lambda: not refused(delete))
        server.compact(tablet.tablet_id, True)

    inside(gateway, body)


def test_a_table_that_was_disabled_because_of_its_limit_is_enabled_with_it_and_no_other(
    gateway: GuardedGateway,
) -> None:
    one = interface("thrift1")

    def body() -> None:
        thrift1, own = gateway.client(ADMIN, "thrift1"), gateway.client(ADMIN, "admin")

        def fill(name: bytes) -> None:
            thrift1.mutateRow(name, b"r", [one.Mutation(column=b"f:q", value=b"v")], {})
            own.adminFlush(name, 0)

        thrift1.createTable(b"u", [one.ColumnDescriptor(name=b"f")])
        fill(b"t")
        fill(b"u")
        thrift1.disableTable(b"u")
        for name in (b"t", b"u"):
            own.adminSetSpaceLimit(b"", name, 1, "DISABLE")
        has_come(gateway, lambda: not thrift1.isTableEnabled(b"t"))
        gateway.runtime.sleep(30.0)
        assert not thrift1.isTableEnabled(b"t"), "though a table that nobody serves has no size"
        own.adminTruncateTable(b"t", False)
        gateway.runtime.sleep(30.0)
        assert thrift1.isTableEnabled(b"t"), "it is empty"
        fill(b"t")
        has_come(gateway, lambda: not thrift1.isTableEnabled(b"t"))
        for name in (b"t", b"u"):
            own.adminSetSpaceLimit(b"", name, 0, "")
        has_come(gateway, lambda: thrift1.isTableEnabled(b"t"))
        gateway.runtime.sleep(30.0)
        assert not thrift1.isTableEnabled(b"u")
        assert own.adminQuotas() == []

    inside(gateway, body)


def test_a_table_that_nobody_serves_keeps_its_size(gateway: GuardedGateway) -> None:
    """It is on the disk, and counts for its namespace's limit. Nobody serves it while it is disabled, and for a moment
    when its tablets move."""
    one = interface("thrift1")

    def body() -> None:
        thrift1, own = gateway.client(ADMIN, "thrift1"), gateway.client(ADMIN, "admin")

        def put(table: bytes) -> None:
            thrift1.mutateRow(table, b"r", [one.Mutation(column=b"f:q", value=b"v" * 5000)], {})

        def size() -> int:
            return next(int(usage["bytes"]) for usage in own.adminSpaceUsage() if usage["table"] == "t")

        own.adminCreateNamespace(b"n", {})
        for name in (b"n:large", b"n:small"):
            thrift1.createTable(name, [one.ColumnDescriptor(name=b"f")])
        put(b"t")
        put(b"n:large")
        for name in (b"t", b"n:large"):
            own.adminFlush(name, 0)
        served = size()
        assert served > 0
        for name in (b"t", b"n:large"):
            thrift1.disableTable(name)
        assert size() == served
        own.adminSetSpaceLimit(b"n", b"", 100, "NO_INSERTS")
        has_come(gateway, lambda: refused(lambda: put(b"n:small")))
        gateway.runtime.sleep(30.0)
        assert refused(lambda: put(b"n:small"))

    inside(gateway, body)


def test_files_that_two_halves_share_count_once(gateway: GuardedGateway) -> None:
    one = interface("thrift1")

    def body() -> None:
        thrift1, own = gateway.client(ADMIN, "thrift1"), gateway.client(ADMIN, "admin")
        for row in (b"a", b"z"):
            thrift1.mutateRow(b"t", row, [one.Mutation(column=b"f:q", value=b"v" * 5000)], {})
        own.adminFlush(b"t", 0)
        (before,) = own.adminSpaceUsage()
        own.adminSplit(b"t", b"m")
        has_come(gateway, lambda: len(thrift1.getTableRegions(b"t")) == 2)
        assert own.adminSpaceUsage() == [before]

    inside(gateway, body)


def test_a_table_is_meant_by_each_spelling_of_its_name(gateway: GuardedGateway) -> None:
    def body() -> None:
        master = gateway.cluster.transport.master()
        master.set_throttle(table=b"default:t", throttle_type="READ_SIZE", limit=5)
        master.set_space_limit(table=b"default:t", limit=5, policy="DISABLE")
        assert [one["table"] for one in master.quotas()] == ["t", "t"]
        master.set_throttle(table=b"default:t")
        master.set_space_limit(table=b"default:t")
        assert master.quotas() == []

    inside(gateway, body)


@pytest.mark.parametrize(
    "arguments",
    [
        ("", b"", b"", False, "READ_SIZE", 5, 1, False),
        ("ann", b"", b"", True, "READ_SIZE", 5, 1, False),
        ("", b"n", b"t", False, "READ_SIZE", 5, 1, False),
        ("ann", b"", b"", False, "READ", 5, 1, False),
        ("ann", b"", b"", False, "", 5, 1, False),
        ("ann", b"", b"", False, "READ_SIZE", -5, 1, False),
        ("ann", b"", b"", False, "READ_SIZE", 5, 2, False),
        ("", b"", b"", True, "READ_SIZE", 5, 1, True),
    ],
)
def test_what_no_quota_can_be_is_refused(gateway: GuardedGateway, arguments: tuple[Any, ...]) -> None:
    def body() -> None:
        own = gateway.client(ADMIN, "admin")
        with pytest.raises(interface("admin").IllegalArgument, match=r"quota|throttle"):
            own.adminSetThrottle(*arguments)
        assert own.adminQuotas() == []

    inside(gateway, body)
