"""The calls between roles and the client's own take every wrong value for every parameter: each is refused in a
message, or does what it says. Afterwards the neighbours are unharmed, and the cluster starts after a power loss.

Parameters are found by introspection; what a struct holds is swept field by field.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from itertools import count
from typing import Any

import pytest

from hbtable.client.table import Table
from hbtable.errors import AlreadyExists, InvalidRequest, MemoryDamaged, NotFound, StaleLocation
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, MAX_ROW_BYTES, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.quotas.settings import ThrottleType
from hbtable.rpc import declaration
from hbtable.rpc.services import MasterService, TabletService
from tests.harness.wrong_values import VALUES

PROPER = (InvalidRequest, NotFound, AlreadyExists, StaleLocation, MemoryDamaged)
NEIGHBOURS = range(40)
MUTATION: dict[str, Any] = {"row": b"m", "kind": PUT, "family": b"f", "qualifier": b"q", "timestamp": 5, "value": b"v"}
TABLET: dict[str, dict[str, Any]] = {
    "mutate": {"mutations": None},
    "read_rows": {"rows": [b"m"], "spec": EVERYTHING},
    "scan": {"request": ScanRequest()},
    "scan_with_times": {"request": ScanRequest(), "family_times": {b"f": (0, 9)}},
    "increment": {"row": b"m", "family": b"f", "qualifier": b"c", "amount": 1, "checksum": 0},
    "append": {"row": b"m", "values": [(b"f", b"q", b"v")], "ttl_millis": 0, "checksum": 0},
    "check_and_mutate": {
        "row": b"m",
        "family": b"f",
        "qualifier": b"none",
        "expected": None,
        "mutation": None,
        "checksum": 0,
    },
    "mutate_if": {
        "row": b"m",
        "spec": ReadSpec({b"f": frozenset((b"none",))}),
        "operator": "",
        "value": None,
        "mutation": None,
        "checksum": 0,
    },
    "add_to_columns": {"mutation": None},
    "delete_range": {"start_row": b"m", "stop_row": b"n", "timestamp": 5},
}
SCHEMA = TableSchema(b"made", {b"f": FamilySchema(b"f")})
MASTER: dict[str, dict[str, Any]] = {
    "create_table": {"schema": SCHEMA, "split_rows": (), "creator": ""},
    "delete_table": {"name": b"absent"},
    "enable_table": {"name": b"absent"},
    "disable_table": {"name": b"absent"},
    "alter_table": {"schema": SCHEMA},
    "truncate_table": {"name": b"absent", "keep_splits": False},
    "create_namespace": {"name": b"n", "properties": {"a": "b"}},
    "alter_namespace": {"name": b"there", "properties": {"a": "b"}},
    "delete_namespace": {"name": b"n"},
    "set_throttle": {
        "user": "ann",
        "namespace_name": b"",
        "table": b"t",
        "every_server": False,
        "throttle_type": "READ_SIZE",
        "limit": 1 << 40,
        "seconds": 60,
        "cluster": False,
    },
    "set_space_limit": {"namespace_name": b"", "table": b"t", "limit": 1 << 40, "policy": "NO_WRITES"},
    "set_quota_exemption": {"user": "ann", "exempt": True},
    "set_throttling": {"on": True},
}
WITHOUT_VALUES = {
    "move_tablet",
    "merge_tablets",
    "balance",
    "balance_switch",
    "balancer_enabled",
    "normalize",
    "normalizer_switch",
    "normalizer_enabled",
    "decommission",
    "recommission",
    "collect_garbage",
    "look_at_everything",
    "ping_master",
    "master_task_deaths",
    "throttling_enabled",
    "quotas",
    "space_usage",
    "balancer_rests",
}
"""Calls that store nothing a caller gave them."""


def declared(service: type) -> dict[str, list[str]]:
    return {
        name: [each for each in inspect.signature(method).parameters if each not in ("self", "tablet_id")]
        for name, method in inspect.getmembers(service, inspect.isfunction)
        if name in declaration.calls_of(service)
    }


def test_the_sweep_knows_every_parameter() -> None:
    assert declared(TabletService) == {name: list(arguments) for name, arguments in TABLET.items()}
    master = declared(MasterService)
    assert {name: master[name] for name in MASTER} == {name: list(arguments) for name, arguments in MASTER.items()}
    assert master.keys() - MASTER.keys() == WITHOUT_VALUES


def refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except PROPER as error:
        assert str(error)  # noqa: PT017 - a message, whichever it is
        return True
    return False


def mutations() -> Iterator[tuple[str, RowMutation]]:
    """A good mutation with one wrong thing in it, in each place and in each form that a write can have; each of a row
    of its own, so that none hides another."""
    fresh = (b"m%06d" % number for number in count())
    for what, value in VALUES.items():
        for name in MUTATION:
            for more in (False, True):
                it = {**MUTATION, "row": next(fresh), name: value()}
                operation = (it["kind"], it["family"], it["qualifier"], it["timestamp"], it["value"])
                second = (DELETE_COLUMN, b"f", b"second", SERVER_TIME, b"")
                yield f"{name} {what}", RowMutation(it["row"], [second, operation] if more else [operation])
        timed = (PUT, b"f", b"q", SERVER_TIME, value())
        yield f"server-timed value {what}", RowMutation(next(fresh), [timed])
        yield f"server-timed qualifier {what}", RowMutation(next(fresh), [(PUT, b"f", value(), SERVER_TIME, b"v")])
        timed = (PUT, b"f", b"q", SERVER_TIME, b"v")
        yield f"time to live {what}", RowMutation(next(fresh), [timed], ttl_millis=value())


def check_cells(table: Table) -> None:
    """Every key and value is bytes, and the neighbours have theirs."""
    request: ScanRequest | None = ScanRequest(spec=ReadSpec(max_versions=1_000_000))
    neighbours = {}
    while request is not None:
        page = table.scan_page(request)
        for row, cells in page.rows:
            for column, _, value in cells:
                assert (type(row), type(column), type(value)) == (bytes, bytes, bytes)
            if row.startswith(b"row"):
                neighbours[row] = cells[0][2]
        request = None if page.next is None else replace(request, position=page.next)
    assert neighbours == {b"row%06d" % n: b"v" * 100 for n in NEIGHBOURS}


def with_a_table(machine: Any, body: Callable[[EmbeddedCluster, Table], None]) -> None:
    """`body`, a power loss, and a look at everything."""

    def first(cluster: EmbeddedCluster) -> list[Any]:
        family = FamilySchema(b"f", max_versions=1_000_000)
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": family}))
        cluster.client.admin.create_namespace(b"there", {})
        machine.write(cluster, NEIGHBOURS)
        for type in ThrottleType:  # what is wrong is counted, before anybody sees that it is
            cluster.transport.master().set_throttle(table=b"t", throttle_type=type.name, limit=1 << 60)
        machine.runtime.sleep(1.0)
        body(cluster, cluster.client.table(b"t"))
        check_cells(cluster.client.table(b"t"))
        return cluster.client.table(b"t").scan_page(ScanRequest(max_rows=10_000, max_bytes=1 << 40)).rows

    def second(cluster: EmbeddedCluster) -> None:
        assert cluster.client.table(b"t").scan_page(ScanRequest(max_rows=10_000, max_bytes=1 << 40)).rows == before
        check_cells(cluster.client.table(b"t"))
        cluster.client.admin.flush(b"t")
        cluster.client.admin.major_compact(b"t")
        check_cells(cluster.client.table(b"t"))

    before = machine.life(first, clean=False)
    machine.life(second)


@pytest.mark.slow
def test_mutations(machine: Any) -> None:
    def body(cluster: EmbeddedCluster, table: Table) -> None:
        record = cluster.client.admin.tablets(b"t")[0]
        service = cluster.transport.tablet_service(record.owner)
        for what, mutation in mutations():
            if not refused(lambda mutation=mutation: table.mutate([mutation])):
                check_kept(table, mutation, what)
            if not refused(lambda mutation=mutation: service.mutate(record.tablet_id, [mutation])):
                check_kept(table, mutation, what)
            refused(lambda mutation=mutation: table.check_and_mutate(mutation.row, b"f", b"none", None, mutation))

    with_a_table(machine, body)


def check_kept(table: Table, mutation: RowMutation, what: str) -> None:
    kind, family, qualifier, timestamp, value = mutation.operations[-1]
    if kind != PUT or mutation.ttl_millis:
        return
    [(_, cells)] = table.read_rows([mutation.row], ReadSpec(max_versions=1_000_000))
    there = [(timestamp, content) for column, timestamp, content in cells if column == family + b":" + qualifier]
    if 0 <= timestamp < 2**63 - 1:
        assert (timestamp, value) in there, what
    else:
        assert there[0][1] == value, what


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in TABLET if name != "mutate"])
def test_other_calls_of_a_tablet(machine: Any, method: str) -> None:
    def body(cluster: EmbeddedCluster, table: Table) -> None:
        def scan_with_times(request: Any, family_times: Any) -> object:
            return table.scan_page(replace(request, family_times=family_times))

        record = cluster.client.admin.tablets(b"t")[0]
        service = cluster.transport.tablet_service(record.owner)

        def delete_range(start_row: Any, stop_row: Any, timestamp: Any) -> None:
            table.delete_range(RowRange(start_row, stop_row), timestamp)

        special = {"scan": table.scan_page, "scan_with_times": scan_with_times, "delete_range": delete_range}
        ours = special.get(method) or getattr(table, method)
        for arguments in calls_of(method):
            refused(lambda arguments=arguments: getattr(service, method)(record.tablet_id, **arguments))
            arguments.pop("checksum", None)  # a client's table takes it itself
            refused(lambda arguments=arguments: ours(**arguments))

    with_a_table(machine, body)


def calls_of(method: str) -> Iterator[dict[str, Any]]:
    good = {**TABLET[method]}
    if "mutation" in good:
        good["mutation"] = RowMutation(b"m", [(PUT, b"f", b"q", SERVER_TIME, b"v")])
    spec_fields = [field.name for field in fields(ReadSpec) if field.name not in ("columns", "cache_blocks", "raw")]
    for value in VALUES.values():
        for name in good:
            if name == "rows":
                yield {**good, name: [value()]}
                yield {**good, name: [b"m", value()]}
            elif name == "values":
                for place in range(3):
                    one: list[Any] = [b"f", b"q", b"v"]
                    one[place] = value()
                    yield {**good, name: [tuple(one)]}
            elif name == "spec":
                for field in spec_fields:
                    yield {**good, name: replace(EVERYTHING, **{field: value()})}
            elif name == "request":
                for field in ("cells_per_row", "max_rows", "max_bytes"):
                    yield {**good, name: replace(ScanRequest(), **{field: value()})}
                for rows in (RowRange(value(), b""), RowRange(b"", value())):
                    yield {**good, name: ScanRequest(rows)}
                for field in spec_fields:
                    yield {**good, name: ScanRequest(spec=replace(EVERYTHING, **{field: value()}))}
            elif name == "family_times":
                for times in (value(), (value(), 9), (0, value()), (1, 2, value())):
                    yield {**good, name: {b"f": times}}
                with suppress(TypeError, ValueError):  # no key of a dictionary
                    yield {**good, name: {value(): (0, 9)}}
                yield {**good, name: value()}
            elif name != "mutation":
                yield {**good, name: value()}


@pytest.mark.slow
@pytest.mark.parametrize("method", MASTER)
def test_calls_of_the_master(machine: Any, method: str) -> None:
    def body(cluster: EmbeddedCluster, table: Table) -> None:
        master = cluster.transport.master()
        for arguments in administration(method):
            refused(lambda arguments=arguments: getattr(master, method)(**arguments))
            for name in cluster.client.names():
                if name != b"t":
                    assert cluster.client.table(name).scan_page(ScanRequest()).rows == []
                    schema = cluster.client.admin.schema(name)
                    assert cluster.client.catalog.read_table(name).schema == schema  # type: ignore[union-attr]
                    cluster.client.admin.disable_table(name)
                    cluster.client.admin.delete_table(name)
            for namespace in set(cluster.client.admin.namespaces()) - {b"default", b"hbase", b"there"}:
                cluster.client.admin.namespace_properties(namespace)
                cluster.client.admin.delete_namespace(namespace)

    with_a_table(machine, body)


def administration(method: str) -> Iterator[dict[str, Any]]:
    good = MASTER[method]
    for value in VALUES.values():
        for name in good:
            if name == "schema":
                for field in fields(TableSchema):
                    yield {**good, name: replace(SCHEMA, **{field.name: value()})}
                for field in fields(FamilySchema):
                    family: Any = replace(FamilySchema(b"f"), **{field.name: value()})
                    yield {**good, name: replace(SCHEMA, families={b"f": family})}
            elif name == "split_rows":
                yield {**good, name: value()}
                yield {**good, name: [b"k", value()]}
            elif name == "properties":
                yield {**good, name: value()}
                yield {**good, name: {"a": value()}}
            elif name != "keep_splits":
                yield {**good, name: value()}


@pytest.mark.parametrize("size", [32_750, 32_759, 32_767])
def test_a_tablet_may_end_at_the_longest_row(machine: Any, size: int) -> None:
    """METADATA's own row is longer than the tablet's end: it was too long to be written, and the cluster never
    started again."""
    row = b"x" * size

    def first(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        table = cluster.client.table(b"t")
        table.mutate([machine.put(b"a", b"1"), machine.put(row, b"2")])
        assert cluster.client.admin.split(b"t", row)
        cluster.client.admin.create_table(machine.schema(b"u"), [row])
        cluster.client.table(b"u").mutate([machine.put(row, b"3")])

    def second(cluster: EmbeddedCluster) -> None:
        assert machine.contents(cluster) == {b"a": b"1", row: b"2"}
        assert machine.contents(cluster, b"u") == {row: b"3"}
        assert [tablet.range.stop for tablet in cluster.client.admin.tablets(b"t")] == [row, b""]

    machine.life(first)
    machine.life(second, clean=False)
    machine.life(second)


def test_splits(machine: Any) -> None:
    """One at a row that was too long for METADATA was committed and could not be finished: no start ever after."""

    def body(cluster: EmbeddedCluster, table: Table) -> None:
        [record] = cluster.client.admin.tablets(b"t")
        for value in VALUES.values():
            admin = cluster.transport.tablet_admin(record.owner)
            refused(lambda value=value, admin=admin: admin.split(record.tablet_id, value()))
            refused(lambda value=value: cluster.client.admin.split(b"t", value()))
        tablets = cluster.client.admin.tablets(b"t")
        assert all(len(tablet.range.stop) <= MAX_ROW_BYTES for tablet in tablets)
        assert len(tablets) > 3

    with_a_table(machine, body)


def test_a_cluster_with_a_split_at_too_long_a_row_starts_again(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hbtable.tabletserver.split.MAX_ROW_BYTES", 1 << 30)

    def body(cluster: EmbeddedCluster, table: Table) -> None:
        assert cluster.client.admin.split(b"t", b"z" * 70_000)
        table.mutate([machine.put(b"zz", b"v" * 100)])

    with_a_table(machine, body)
