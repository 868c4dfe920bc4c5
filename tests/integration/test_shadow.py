"""hbtable shadow: clients get the primary's answers whatever becomes of the secondary, each lie of a secondary is
found, and two servers that are right are never said to differ."""

import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import happybase
import pytest
from Hbase_thrift import AlreadyExists, IOError, Mutation, TAppend, TIncrement, TScan

from hbtable.shell.shadow.comparing import IGNORED
from hbtable.shell.shadow.repeating import NO_ROOM, NOT_REACHED, NOT_THERE
from hbtable.shell.shadow.wire import Answer, interface
from tests.harness.shadowing import Liar, ShadowProcess, thrift_client
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

PAIRS: list[dict[str, str]] = [
    {"transport": transport, "protocol": protocol}
    for transport in ("buffered", "framed")
    for protocol in ("binary", "compact")
]
FAMILIES: Any = {"f": {"max_versions": 3}, "g": {"max_versions": 1}}
CANNOT_LIE = {"getClusterId", "getRegionInfo"}
"""They differ by nature."""


Servers = tuple[WarmServer, WarmServer]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("shadow")
    with (
        WarmServer(folder / "one", ["log.durability=os"]) as one,
        WarmServer(folder / "two", ["log.durability=os"]) as two,
    ):
        yield one, two


@pytest.fixture
def pair(servers: Servers) -> Iterator[Servers]:
    """Both are empty."""
    yield servers
    for server in servers:
        with closing(server.connect()) as connection:
            for table in connection.tables():
                connection.delete_table(table, disable=True)


def every_call(client: Any, name: bytes) -> None:
    """Each method of the interface, of a table that has rows."""
    client.getTableNames()
    client.getTableNamesWithIsTableEnabled()
    client.getColumnDescriptors(name)
    client.getTableRegions(name)
    client.isTableEnabled(name)
    client.getThriftServerType()
    client.getClusterId()
    client.getRegionInfo(name + b",,99999999999999")
    client.compact(name)
    client.majorCompact(name)
    put, later = [Mutation(column=b"f:a", value=b"1")], 5_000
    client.mutateRow(name, b"r", put, {})
    client.mutateRowTs(name, b"s", put, later, {})
    batch = interface().BatchMutation(row=b"t", mutations=put)
    client.mutateRows(name, [batch], {})
    client.mutateRowsTs(name, [batch], later, {})
    client.get(name, b"r", b"f:a", {})
    client.getVer(name, b"r", b"f:a", 2, {})
    client.getVerTs(name, b"s", b"f:a", later + 1, 2, {})
    client.getRow(name, b"r", {})
    client.getRowWithColumns(name, b"r", [b"f:a"], {})
    client.getRowTs(name, b"s", later + 1, {})
    client.getRowWithColumnsTs(name, b"s", [b"f"], later + 1, {})
    client.getRows(name, [b"r", b"s"], {})
    client.getRowsWithColumns(name, [b"r"], [b"f:a"], {})
    client.getRowsTs(name, [b"s"], later + 1, {})
    client.getRowsWithColumnsTs(name, [b"s"], [b"f"], later + 1, {})
    client.atomicIncrement(name, b"c", b"g:n", 3)
    client.increment(TIncrement(table=name, row=b"c", column=b"g:n", ammount=1))
    client.incrementRows([TIncrement(table=name, row=b"c", column=b"g:n", ammount=1)])
    client.append(TAppend(table=name, row=b"p", columns=[b"f:x"], values=[b"z"]))
    client.checkAndPut(name, b"r", b"f:a", b"1", Mutation(column=b"f:a", value=b"2"), {})
    scanners = [
        client.scannerOpenWithScan(name, TScan(sortColumns=True), {}),
        client.scannerOpen(name, b"", [b"f"], {}),
        client.scannerOpenWithStop(name, b"", b"s", [b"f"], {}),
        client.scannerOpenWithPrefix(name, b"s", [b"f"], {}),
        client.scannerOpenTs(name, b"", [b"f"], later + 1, {}),
        client.scannerOpenWithStopTs(name, b"", b"z", [b"f"], later + 1, {}),
    ]
    for scanner in scanners:
        assert client.scannerGet(scanner)
        while client.scannerGetList(scanner, 1):
            pass
        client.scannerClose(scanner)
    client.deleteAll(name, b"r", b"f:a", {})
    client.deleteAllTs(name, b"s", b"f:a", later, {})
    client.deleteAllRow(name, b"t", {})
    client.deleteAllRowTs(name, b"c", later, {})
    for refused in (client.grant, client.revoke):  # both, without users
        with pytest.raises(interface().IOError):
            refused(interface().TAccessControlEntity(username="u", scope=0, actions="R", tableName=name))
    client.disableTable(name)
    client.enableTable(name)
    client.createTable(name + b"2", [interface().ColumnDescriptor(name=b"f:")])
    client.disableTable(name + b"2")
    client.deleteTable(name + b"2")


def lie(name: str, _: Any, answer: Answer) -> Answer:
    """A wrong answer of the method's type."""
    true = getattr(answer, "success", None)
    structs = interface()
    if name == "scannerClose" or name.startswith("scannerOpen") or (true is None and "io" in answer.__dict__):
        result = type(answer)()
        if not any(value is not None for value in answer.__dict__.values()) or name.startswith("scannerOpen"):
            result.io = structs.IOError(message="java.io.IOException: a lie", canRetry=False)
        return result
    answer.success = _wrong(true, structs)
    return answer


def _wrong(true: Any, structs: Any) -> Any:
    if isinstance(true, bool):
        return not true
    if isinstance(true, int):
        return true + 1
    if isinstance(true, dict):
        return {}
    if true and hasattr(true[0], "value"):
        true[0].value += b"!"
    elif true and hasattr(true[0], "columns"):
        for row in true[:1]:
            for cell in [*(row.columns or {}).values(), *(one.cell for one in row.sortedColumns or ())]:
                cell.value += b"!"
    else:
        return true[1:] if true else [structs.TRowResult(row=b"made up", columns={})]
    return true


def test_each_pair_of_transport_and_protocol_gets_the_primary_s_answers(pair: Servers, tmp_path: Path) -> None:
    with ShadowProcess(pair[0].port, pair[1].port, tmp_path / "report") as shadow:
        for number, spoken in enumerate(PAIRS):
            with (
                closing(shadow.connect(**spoken)) as connection,
                closing(thrift_client(shadow.port, **spoken)) as client,
            ):
                name = f"t{number}"
                connection.create_table(name, FAMILIES)
                every_call(client, name.encode())
                connection.table(name).put(b"r", {b"f:\xff\x00": bytes(range(256))})
                assert connection.table(name).row(b"r") == {b"f:\xff\x00": bytes(range(256))}
                with pytest.raises(AlreadyExists):
                    connection.create_table(name, FAMILIES)
                with pytest.raises(IOError, match="NoSuchColumnFamily"):
                    connection.table(name).put(b"r", {b"h:a": b"1"})
                with pytest.raises(IOError, match="TableNotFound"):
                    connection.table("absent").row(b"r")
                connection.delete_table(name, disable=True)
        assert shadow.stop() == 0, shadow.said
    called = {one["method"] for one in shadow.report() if one["kind"] == "method"}
    assert len(called) == 49
    assert called == set(interface().Hbase.thrift_services)
    assert not shadow.differences()
    assert all(one["calls"] == one["equal"] for one in shadow.report() if one.get("method") not in (None, *CANNOT_LIE))


@long_test("a lie in each method")
def test_a_lie_in_each_method_is_found(pair: Servers, tmp_path: Path) -> None:
    lying = [""]

    def sometimes(name: str, arguments: Any, answer: Answer) -> Answer:
        return lie(name, arguments, answer) if name == lying[0] else answer

    methods = sorted(set(interface().Hbase.thrift_services) - CANNOT_LIE)
    with (
        Liar(pair[1].port, sometimes) as liar,
        ShadowProcess(pair[0].port, liar.port, tmp_path / "report", "--every", "0.1") as shadow,
        closing(shadow.connect()) as connection,
        closing(thrift_client(shadow.port, **PAIRS[0])) as client,
    ):
        for method in methods:
            known = set(shadow.differences())
            connection.create_table(method, FAMILIES)
            eventually(lambda: is_settled(shadow), SOON_SECONDS, "the calls are repeated")
            lying[0] = method
            every_call(client, method.encode())
            eventually(lambda: is_settled(shadow), SOON_SECONDS, "the calls are repeated")
            lying[0] = ""
            assert {name for name, _ in set(shadow.differences()) - known} == {method}
            connection.delete_table(method, disable=True)
        assert shadow.stop() == 1


def is_settled(shadow: ShadowProcess) -> bool:
    """Every call that was answered by now has its place in the report."""
    for _ in range(2):  # the first may have been begun before
        wait_for_a_report(shadow)
    return all(
        one["calls"]
        == one["equal"] + one["different"] + sum(one["order_unknown"].values()) + sum(one["skipped"].values())
        for one in shadow.report()
        if one["kind"] == "method"
    )


def wait_for_a_report(shadow: ShadowProcess) -> None:
    written = shadow.report_file.stat().st_mtime_ns
    eventually(lambda: shadow.report_file.stat().st_mtime_ns != written, SOON_SECONDS, "the next report")


def test_each_kind_of_difference_is_told_once_with_its_smallest_example(pair: Servers, tmp_path: Path) -> None:
    with (
        closing(pair[0].connect()) as one,
        closing(pair[1].connect()) as two,
    ):
        for connection in (one, two):
            connection.create_table("t", FAMILIES)
            connection.table("t").put(b"same", {b"f:a": b"1"}, timestamp=7)
        one.create_table("not-copied", FAMILIES)
        one.create_table("not-called", FAMILIES)
        for number, (here, there) in enumerate([(b"a long value", b"another"), (b"x", b"y"), (b"longer", b"value")]):
            row = b"value%d" % number
            one.table("t").put(row, {b"f:a": here, b"f:b": b"1"}, timestamp=7)
            two.table("t").put(row, {b"f:a": there, b"f:b": b"1"}, timestamp=7)
        one.table("t").put(b"time", {b"f:a": b"1"}, timestamp=8)
        two.table("t").put(b"time", {b"f:a": b"1"}, timestamp=9)
        one.table("t").put(b"here", {b"f:a": b"1", b"f:b": b"22"}, timestamp=8)
        two.table("t").put(b"there", {b"f:a": b"1"}, timestamp=8)
    with ShadowProcess(pair[0].port, pair[1].port, tmp_path / "report") as shadow:
        told = "".join(shadow.said)
        assert [name for name in ("not-copied", "not-called", "t") if f"table {name} is not at" in told] == [
            "not-copied", "not-called"
        ]  # fmt: skip
        with closing(shadow.connect()) as connection:
            table = connection.table("t")
            assert len(list(table.scan(batch_size=2))) == 6
            for number in range(3):
                table.row(b"value%d" % number)
            table.row(b"time")
            table.row(b"here")
            table.cells(b"here", b"f:a", versions=2)
            for _ in range(5):
                connection.table("not-copied").row(b"r")
            assert b"not-copied" in connection.tables()
        assert shadow.stop() == 1
    found = shadow.differences()
    values = found["getRowWithColumns", "value"]
    assert values["calls"] == 3
    cell = {"timestamp": 7}
    assert values["example"] == {
        "table": "t", "row": "value1", "column": "f:a",
        "primary": {"value": "x", **cell}, "secondary": {"value": "y", **cell}, "alone": "differs",
    }  # fmt: skip
    assert found["getRowWithColumns", "time"]["example"]["primary"]["timestamp"] == 8
    assert found["scannerGetList", "row at the primary only"]["example"]["column"] == "f:a"
    assert found["scannerGetList", "row at the secondary only"]["example"]["row"] == "there"
    assert found["getVer", "cell at the primary only"]["calls"] == 1
    assert [one for one in shadow.report() if one["kind"] == "table not at the secondary"] == [
        {"kind": "table not at the secondary", "table": "not-called", "calls": 0},
        {"kind": "table not at the secondary", "table": "not-copied", "calls": 5},
    ]
    assert "".join(shadow.said).count("table not-copied is not at the secondary: its calls") == 1
    assert not [one for one in found if one[0] == "getTableNames"]
    assert shadow.method("getTableNames")["skipped"] == {NOT_THERE: 1}


def test_times_that_a_client_gave_are_compared_and_those_of_servers_are_not(pair: Servers, tmp_path: Path) -> None:
    now = int(time.time() * 1000)

    def later(name: str, _: Any, answer: Answer) -> Answer:
        for row in answer.success or () if name == "getRowWithColumns" else ():
            row.columns[b"f:a"].timestamp += 5
        return answer

    with (
        Liar(pair[1].port, later) as liar,
        ShadowProcess(pair[0].port, liar.port, tmp_path / "report") as shadow,
    ):
        with closing(shadow.connect()) as connection:
            connection.create_table("t", FAMILIES)
            table = connection.table("t")
            table.put(b"servers", {b"f:a": b"1"})
            table.row(b"servers")
            table.put(b"own", {b"f:a": b"1"}, timestamp=now)
            table.row(b"own")
            ((_, chosen),) = table.cells(b"servers", b"f:a", include_timestamp=True)
            table.row(b"servers", timestamp=chosen + 1)
        assert shadow.stop() == 1
    (found,) = shadow.differences().values()
    assert (found["difference"], found["example"]["row"], found["calls"]) == ("time", "own", 1)
    assert shadow.method("getRowWithColumnsTs")["skipped"] == {"a time that the primary may have chosen": 1}


@pytest.mark.parametrize("fate", [signal.SIGSTOP, signal.SIGKILL])
def test_no_call_fails_or_waits_for_long_because_of_the_secondary(
    pair: Servers, tmp_path: Path, fate: signal.Signals
) -> None:
    """Frozen or dead. What it missed is not said to differ once it is back."""
    one, two = pair
    words = ("--wait", "0.01", "--timeout", "1", "--every", "0.1")
    with ShadowProcess(one.port, two.port, tmp_path / "report", *words) as shadow:
        with closing(shadow.connect()) as connection:
            connection.create_table("t", FAMILIES)
            table = connection.table("t")
            table.put(b"before", {b"f:a": b"1"})
            eventually(lambda: is_compared(shadow, table), SOON_SECONDS, "the secondary has the table")
            assert two.process is not None
            if fate is signal.SIGSTOP:
                two.process.send_signal(fate)
            else:
                two.kill()
            for number in range(300):
                table.put(b"r%d" % (number % 3), {b"f:a": b"%d" % number})
                assert table.row(b"r%d" % (number % 3)) == {b"f:a": b"%d" % number}
            if fate is signal.SIGSTOP:
                two.process.send_signal(signal.SIGCONT)
            else:
                two.start()
            eventually(lambda: is_compared(shadow, table), SOON_SECONDS, "the secondary is asked again")
            table.row(b"r1")
            list(table.scan())
        assert shadow.stop() == 0, shadow.said
    assert not shadow.differences()
    skipped = shadow.method("mutateRows")["skipped"]
    assert skipped.keys() <= {NO_ROOM, NOT_REACHED}
    assert skipped or fate is signal.SIGSTOP


def test_nothing_compared_is_an_exit_code_of_its_own(pair: Servers, tmp_path: Path) -> None:
    one, two = pair
    with ShadowProcess(one.port, two.port, tmp_path / "report") as shadow:
        assert shadow.stop() == 4
    assert shadow.said[-1].endswith("nothing was compared, of 0 calls\n")
    with ShadowProcess(one.port, two.port, tmp_path / "report") as shadow:
        two.kill()
        try:
            with closing(shadow.connect()) as connection:
                connection.create_table("t", FAMILIES)
                connection.table("t").put(b"r", {b"f:a": b"1"})
                assert len(list(connection.table("t").scan())) == 1
            assert shadow.stop() == 4
        finally:
            two.start()
    assert f"{NOT_REACHED}\n" in shadow.said[-1]
    assert shadow.said[-1].endswith("nothing was compared, of 6 calls\n")


def is_compared(shadow: ShadowProcess, table: happybase.Table) -> bool:
    """Whether a read is compared again."""
    before = reads_alike(shadow)
    table.row(b"before")
    time.sleep(0.3)
    return reads_alike(shadow) > before


def reads_alike(shadow: ShadowProcess) -> int:
    return sum(int(one["equal"]) for one in shadow.report() if one.get("method") == "getRowWithColumns")


@long_test("two right servers beside clients that race")
def test_servers_that_are_right_never_differ_whatever_clients_race(pair: Servers, tmp_path: Path) -> None:
    """Eight clients in the same few rows."""
    with ShadowProcess(pair[0].port, pair[1].port, tmp_path / "report") as shadow:
        with closing(shadow.connect()) as connection:
            connection.create_table("t", FAMILIES)
        failed: list[BaseException] = []
        clients = [threading.Thread(target=race, args=(shadow, number, 250, failed)) for number in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert not failed
        assert shadow.stop() == 0, shadow.said
    assert not shadow.differences()
    lines = [one for one in shadow.report() if one["kind"] == "method"]
    assert sum(one["equal"] for one in lines) > 0.5 * sum(one["calls"] for one in lines)


def race(shadow: ShadowProcess, number: int, calls: int, failed: list[BaseException]) -> None:
    chance = random.Random(number)
    try:
        with closing(shadow.connect(**chance.choice(PAIRS))) as connection:
            table = connection.table("t")
            for _ in range(calls):
                one_call(connection, table, chance)
    except BaseException as error:  # the test says it
        failed.append(error)
        raise


def one_call(connection: happybase.Connection, table: happybase.Table, chance: random.Random) -> None:
    row, column = b"r%d" % chance.randrange(12), chance.choice([b"f:a", b"f:b", b"g:a", b"g:b"])
    others = [b"r%d" % chance.randrange(12) for _ in range(4)]
    pieces = chance.choice([None, 1])

    def batch() -> None:
        with table.batch(batch_size=3) as batch:
            for other in others:
                if chance.random() < 0.3:
                    batch.delete(other)
                else:
                    batch.put(other, {column: b"b"})

    choices: list[Any] = [
        lambda: table.put(row, {column: b"%d" % chance.randrange(1000), b"f:a": b"v"}),
        lambda: table.put(row, {column: b"timed"}, timestamp=chance.randrange(1, 50)),
        lambda: table.row(row, columns=chance.choice([None, [column], [b"f"]])),
        lambda: table.row(row, timestamp=chance.randrange(1, 60)),
        lambda: table.rows(others),
        lambda: table.cells(row, column, versions=3, include_timestamp=True),
        lambda: table.delete(row, columns=chance.choice([None, [column], [b"f"]])),
        lambda: table.counter_inc(b"c" + row, b"g:c", chance.randrange(5)),
        lambda: table.counter_get(b"c" + row, b"g:c"),
        lambda: list(table.scan(batch_size=2, reverse=chance.random() < 0.3, scan_batching=pieces)),
        lambda: list(table.scan(limit=3, sorted_columns=True)),
        lambda: connection.client.append(TAppend(table=b"t", row=b"a" + row, columns=[b"f:x"], values=[b"z"])),
        lambda: connection.client.checkAndPut(b"t", row, column, b"v", Mutation(column=column, value=b"c"), {}),
        batch,
    ]
    chance.choice(choices)()


def test_what_is_ignored_is_what_the_manual_says() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "manual" / "migration.md").read_text()
    for fields in IGNORED.values():
        assert all(f"`{field}`" in page for field in fields)
