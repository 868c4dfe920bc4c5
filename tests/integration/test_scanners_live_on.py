"""Scanners on a real server process: a split, a major compaction, silence and an orderly restart do not end them; a
crash does, with HBase's words, and no id is ever given out twice."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from happybase.connection import Hbase

from tests.harness.server import ServerProcess
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

IllegalArgument = Hbase.scannerGetList_result.thrift_spec[2][2]
ROWS = [b"r%05d" % number for number in range(3000)]
SPLITTING = ("maintenance.split_bytes=300 KiB", "tablet.memtable_bytes=100 KiB", "log.durability=os")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with WarmServer(tmp_path / "data", SPLITTING) as running:
        running.connect().create_table("t", {"f": {}})
        _fill(running, ROWS[:1000])
        yield running


def _fill(server: ServerProcess, rows: list[bytes], value: bytes = b"v" * 200) -> None:
    with server.connect().table("t").batch(batch_size=500) as batch:
        for row in rows:
            batch.put(row, {b"f:a": value})


def _rest(client: Any, scan: int) -> list[bytes]:
    found: list[bytes] = []
    while rows := client.scannerGetList(scan, 70):
        found += [row.row for row in rows]
    return found


def _refusal(client: Any, scan: int) -> str:
    try:
        client.scannerGetList(scan, 1)
    except Exception as error:
        return f"{type(error).__name__}: {getattr(error, 'message', b'')!r}"
    return "none"


@pytest.mark.integration
@pytest.mark.parametrize("backwards", [False, True])
def test_a_scanner_goes_on_over_a_split(server: ServerProcess, backwards: bool) -> None:
    connection = server.connect()
    options = {"reversed": True} if backwards else {}
    scan = connection.client.scannerOpenWithScan(b"t", _scan(**options), {})
    first = [row.row for row in connection.client.scannerGetList(scan, 500)]
    regions = len(connection.table("t").regions())
    _fill(server, ROWS[1000:])
    eventually(lambda: len(server.connect().table("t").regions()) > regions, SOON_SECONDS, "a split")
    rest = _rest(connection.client, scan)
    found = first + rest
    expected = ROWS[:1000][::-1] if backwards else ROWS
    assert found == expected


def _scan(**options: Any) -> Any:
    return Hbase.scannerOpenWithScan_args.thrift_spec[2][2](**options)


@pytest.mark.integration
def test_a_scanner_goes_on_over_a_major_compaction(server: ServerProcess) -> None:
    connection = server.connect()
    scan = connection.client.scannerOpen(b"t", b"", [], {})
    first = [row.row for row in connection.client.scannerGetList(scan, 333)]
    table = connection.table("t")
    for row in (*ROWS[100:200], *ROWS[500:600]):
        table.delete(row)
    connection.compact_table("t", major=True)
    connection.compact_table("t", major=True)
    assert first + _rest(connection.client, scan) == ROWS[:500] + ROWS[600:1000]


@pytest.mark.integration
def test_an_idle_scanner_lives_its_time_and_no_longer(tmp_path: Path) -> None:
    """An hour by default; here two seconds of which one passes."""
    with WarmServer(tmp_path / "data", ["thrift.scanner_idle_seconds=2 s"]) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        _fill(server, ROWS[:100])
        unused = connection.client.scannerOpen(b"t", b"", [], {})
        while (found := _used_every_second(connection.client)) is None:
            pass
        assert found == ROWS[:30]
        assert _refusal(connection.client, unused) == "IllegalArgument: b'scanner ID is invalid'"


def _used_every_second(client: Any) -> list[bytes] | None:
    """Thirty rows of a scanner, in three fetches; None when this machine stood still for longer than it may be idle."""
    asked = time.monotonic()
    scan = client.scannerOpen(b"t", b"", [], {})
    found: list[bytes] = []
    for _ in range(3):
        time.sleep(1.0)
        before, asked = asked, time.monotonic()
        try:
            found += [row.row for row in client.scannerGetList(scan, 10)]
        except IllegalArgument:
            assert time.monotonic() - before >= 2.0, "it ended although it was used in time"
            return None
    return found


@pytest.mark.integration
def test_scanners_go_on_over_an_orderly_restart(server: ServerProcess) -> None:
    connection = server.connect()
    plain = connection.client.scannerOpen(b"t", b"", [], {})
    filtered = connection.client.scannerOpenWithScan(b"t", _scan(filterString=b"PageFilter(500)"), {})
    closed = connection.client.scannerOpen(b"t", b"", [], {})
    connection.client.scannerClose(closed)
    found = {scan: [row.row for row in connection.client.scannerGetList(scan, 100)] for scan in (plain, filtered)}
    assert server.stop() == 0

    server.start()
    connection = server.connect()
    assert found[plain] + _rest(connection.client, plain) == ROWS[:1000]
    assert found[filtered] + _rest(connection.client, filtered) == ROWS[:500]
    assert _refusal(connection.client, closed) == "IllegalArgument: b'scanner ID is invalid'"


@pytest.mark.integration
def test_a_crash_ends_scanners_with_hbases_words(server: ServerProcess) -> None:
    connection = server.connect()
    scan = connection.client.scannerOpen(b"t", b"", [], {})
    assert len(connection.client.scannerGetList(scan, 100)) == 100
    server.kill()
    server.start()
    connection = server.connect()
    assert _refusal(connection.client, scan) == "IllegalArgument: b'scanner ID is invalid'"
    assert len(list(connection.table("t").scan())) == 1000


@pytest.mark.integration
def test_a_crash_after_an_orderly_restart_does_not_bring_scanners_back(server: ServerProcess) -> None:
    """At positions that their clients have left behind they would return rows twice."""
    connection = server.connect()
    scan = connection.client.scannerOpen(b"t", b"", [], {})
    assert server.stop() == 0
    server.start()
    connection = server.connect()
    assert len(connection.client.scannerGetList(scan, 100)) == 100
    server.kill()
    server.start()
    connection = server.connect()
    assert _refusal(connection.client, scan) == "IllegalArgument: b'scanner ID is invalid'"


@pytest.mark.integration
def test_no_id_is_given_out_twice(server: ServerProcess) -> None:
    given: list[int] = []
    for kill in (False, True, True, False, True):
        connection = server.connect()
        given += [connection.client.scannerOpen(b"t", b"", [], {}) for _ in range(200)]
        if kill:
            server.kill()
        else:
            assert server.stop() == 0
        server.start()
    connection = server.connect()
    given.append(connection.client.scannerOpen(b"t", b"", [], {}))
    assert len(set(given)) == len(given)
    assert given == sorted(given)


@pytest.mark.integration
@pytest.mark.parametrize(
    "spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(b"?")], ids=["lost", "damaged"]
)
def test_no_id_comes_again_after_the_repair_of_their_counter(
    server: ServerProcess, spoil: Callable[[Path], None]
) -> None:
    """No scanner was open at the stop, so no file tells how far the ids had got."""
    connection = server.connect()
    given = {connection.client.scannerOpen(b"t", b"", [], {}) for _ in range(20)}
    for scan in given:
        connection.client.scannerClose(scan)
    assert server.stop() == 0

    spoil(server.folder / "lockservice/files/identifiers.sscanner")
    run_warm("repair", str(server.folder))
    done = run_warm("check", str(server.folder))
    assert done.returncode == 0, done.stdout
    server.start()
    connection = server.connect()
    assert not given & {connection.client.scannerOpen(b"t", b"", [], {}) for _ in range(20)}


@pytest.mark.integration
def test_beyond_their_memory_the_oldest_scanners_end(tmp_path: Path) -> None:
    with WarmServer(tmp_path / "data", ["thrift.scanner_memory_bytes=1 MiB"]) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        _fill(server, ROWS[:10])
        scans = [connection.client.scannerOpen(b"t", b"", [], {}) for _ in range(3000)]
        assert _refusal(connection.client, scans[0]) == "IllegalArgument: b'scanner ID is invalid'"
        assert [row.row for row in connection.client.scannerGetList(scans[-1], 20)] == ROWS[:10]


@pytest.mark.integration
def test_a_stop_that_cannot_save_scanners_ends_in_order(server: ServerProcess) -> None:
    """As on a full disk."""
    connection = server.connect()
    scan = connection.client.scannerOpen(b"t", b"", [], {})
    connection.client.scannerGetList(scan, 100)
    in_its_place = server.folder / "front-door" / "scanners"
    in_its_place.mkdir(parents=True)
    assert server.stop() == 0
    assert "scanners that are open end with this stop: " in server.errors.read_text()
    in_its_place.rmdir()

    server.start()
    connection = server.connect()
    assert _refusal(connection.client, scan) == "IllegalArgument: b'scanner ID is invalid'"
    assert len(list(connection.table("t").scan())) == 1000
