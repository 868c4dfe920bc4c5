"""hbtable.connect(): what is its own; that it does what happybase does is in test_library.py."""

import inspect
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import happybase
import pytest

import hbtable
import hbtable.library
from hbtable.hbase.audit import UNHEARD
from hbtable.library.server_calls import READS
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("connect") / "data", ["log.durability=os"]) as server:
        yield server


def test_it_takes_happybases_arguments() -> None:
    theirs = list(inspect.signature(happybase.Connection).parameters.values())
    ours = list(inspect.signature(hbtable.connect).parameters.values())
    alike = [(one.name, one.kind, one.default) for one in ours[: len(theirs)]]
    assert alike == [(one.name, one.kind, one.default) for one in theirs]
    assert {one.kind for one in ours[len(theirs) :]} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"transport": "slow"}, ValueError),
        ({"compat": "1.0"}, ValueError),
        ({"protocol": "json"}, ValueError),
        ({"table_prefix": 5}, TypeError),
        ({"table_prefix_separator": 5}, TypeError),
        ({"host": 5}, TypeError),
        ({"host": "127.0.0.1:9090"}, ValueError),
        ({"host": "thrift://127.0.0.1"}, ValueError),
        ({"port": 0x10000}, ValueError),
        ({"port": "9090"}, TypeError),
        ({"timeout": 0}, ValueError),
        ({"tls": "yes"}, TypeError),
        ({"route": "yes"}, TypeError),
        ({"plain_text": "yes"}, TypeError),
        ({"folder": "data", "plain_text": True}, ValueError),
        ({"ca": 5}, TypeError),
        ({"user": "ann"}, ValueError),
        ({"secret": "file"}, ValueError),
        ({"user": 5, "secret": "file"}, TypeError),
        ({"folder": 5}, TypeError),
        ({"folder": ""}, ValueError),
        ({"folder": "a\0b"}, ValueError),
        ({"folder": "data", "port": 9091}, ValueError),
        ({"folder": "data", "route": True}, ValueError),
        ({"folder": "data", "user": "ann", "secret": "file"}, ValueError),
    ],
)
def test_arguments_that_cannot_be(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        hbtable.connect(autoconnect=False, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", [happybase.Connection, hbtable.connect])
def test_a_prefix_stands_before_the_names_of_tables(server: WarmServer, way: type) -> None:
    with_prefix = way("127.0.0.1", server.port, 60000, table_prefix=f"mine{way.__name__}")
    plain = way("127.0.0.1", server.port, 60000, transport="framed", protocol="compact", compat="0.96")
    with_prefix.create_table("t", {"f": {}})
    assert with_prefix.tables() == [b"t"]
    name = f"mine{way.__name__}_t".encode()
    assert name in plain.tables()
    with_prefix.table("t").put(b"r", {b"f:a": b"1"})
    assert with_prefix.table("t").name == name
    assert with_prefix.table(name, use_prefix=False).row(b"r") == plain.table(name).row(b"r") == {b"f:a": b"1"}
    with_prefix.delete_table("t", disable=True)
    assert name not in plain.tables()
    with_prefix.close()
    plain.close()


def test_refusals_are_sentences_as_of_open(server: WarmServer) -> None:
    with hbtable.connect("127.0.0.1", server.port) as connected, hbtable.open(":memory:") as opened:
        for database in (connected, opened):
            table = database.create_table("sentences", ["f"])
            with pytest.raises(hbtable.TableNotDisabled, match=r"table sentences is enabled, .* call disable_table"):
                database.delete_table("sentences")
            with pytest.raises(hbtable.TableNotFound, match="there is no table none; tables"):
                database.table("none").row("r")
            with pytest.raises(hbtable.InvalidRequest, match="the row is empty: a row key has 1 to 32,767 bytes"):
                table.put("", {"f:a": "1"})
            with pytest.raises(hbtable.LimitExceeded, match="the row is 32768 bytes long"):
                table.put("x" * 32_768, {"f:a": "1"})
            database.disable_table("sentences")
            with pytest.raises(hbtable.TableNotEnabled, match=r"table sentences is disabled, .* call enable_table"):
                list(table.scan())


def test_no_server() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(hbtable.Unavailable, match=r"no server answers at 127\.0\.0\.1:\d+ .* hbtable start"):
            hbtable.connect("127.0.0.1", held.getsockname()[1])


def test_a_server_that_is_no_hbtable_is_named_with_the_way_in() -> None:
    """A real HBase answers hbtable's own calls with Thrift's UNKNOWN_METHOD."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:

        def answer() -> None:
            accepted, _ = listening.accept()
            with accepted:
                call = accepted.recv(4096)
                (length,) = struct.unpack(">i", call[4:8])
                name_and_number = call[4 : 12 + length]
                accepted.sendall(b"\x80\1\0\3" + name_and_number + b"\x0b\0\1\0\0\0\3no!\x08\0\2\0\0\0\1\0")

        answered = threads.submit(answer)
        port = listening.getsockname()[1]
        database = hbtable.connect("127.0.0.1", port)
        with pytest.raises(hbtable.InvalidRequest, match=rf":{port} has no adminNamespaces: it is an HBase"):
            database.namespaces()
        database.close()
        answered.result()


def test_a_connection_is_made_again_after_a_close_and_by_the_first_call(server: WarmServer) -> None:
    database = hbtable.connect("127.0.0.1", server.port, autoconnect=False)
    database.tables()
    database.close()
    database.close()
    database.tables()
    with database:
        assert repr(database) == f"<hbtable database at 127.0.0.1:{server.port}>"


def test_a_server_that_breaks_off_during_a_write_leaves_the_outcome_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            made, _ = listening.accept()
            with made:
                made.recv(65536)

        database = hbtable.connect("127.0.0.1", listening.getsockname()[1], timeout=60_000)
        with ThreadPoolExecutor(1) as threads, database:
            serving = threads.submit(serve)
            with pytest.raises(hbtable.OutcomeUnknown, match="broke off during adminMutateRows"):
                database.table("t").put(b"r", {b"f:a": b"1"})
            serving.result()


def test_a_write_does_not_begin_on_a_connection_that_the_server_has_closed(tmp_path: Path) -> None:
    """What was never sent was said to be unknown, also after a restart of the server."""
    with ExitStack() as stack:
        server = stack.enter_context(WarmServer(tmp_path / "data", ["log.durability=os"]))
        database = stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60_000))
        table = database.create_table("t", {"f": {}})
        server.kill()
        with pytest.raises(hbtable.Unavailable, match="no server answers"):
            table.put(b"r", {b"f:a": b"1"})
        server.start()
        assert table.row(b"r") == {}
        server.kill()
        server.start()
        table.put(b"r", {b"f:a": b"2"})
        assert table.row(b"r") == {b"f:a": b"2"}


def test_it_works_where_the_system_does_not_tell_of_closed_connections(
    server: WarmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS."""
    monkeypatch.setattr("hbtable.shell.connection._TCP_INFO", None)
    with hbtable.connect("127.0.0.1", server.port) as database:
        assert database.tables() == database.tables()


def test_a_request_that_is_too_large_does_not_spoil_the_next(tmp_path: Path) -> None:
    """The server closes the connection after two seconds; until then it throws away what comes: the next write was
    lost, and its outcome said to be unknown."""
    options = ["log.durability=os", "thrift.message_bytes=1048576", "thrift.cell_bytes=524288"]
    with ExitStack() as stack:
        server = stack.enter_context(WarmServer(tmp_path / "data", options))
        database = stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60_000))
        table = database.create_table("t", {"f": {}})
        for number in range(3):
            with pytest.raises(hbtable.LimitExceeded, match="over this server's limit"):
                table.put(b"large", {b"f:a": b"x" * 3_000_000})
            assert table.counter_inc(b"n", b"f:n") == number + 1
        assert table.row(b"large") == {}


READ_CALLS: dict[str, Callable[[hbtable.Database], object]] = {
    "row": lambda database: database.table("t").row(b"r"),
    "rows": lambda database: database.table("t").rows([b"r", b"s"]),
    "cells": lambda database: database.table("t").cells(b"r", b"f:a"),
    "scan": lambda database: list(database.table("t").scan()),
    "families": lambda database: database.table("t").families(),
    "regions": lambda database: len(database.table("t").regions()),
    "tables": lambda database: database.tables(),
    "is_table_enabled": lambda database: database.is_table_enabled("t"),
    "table_exists": lambda database: database.table_exists("t"),
    "namespaces": lambda database: database.namespaces(),
    "namespace": lambda database: database.namespace("default"),
}


def test_reads_go_on_when_the_server_was_started_again(tmp_path: Path) -> None:
    """Each of them is the first call on a connection that is gone, of which it cannot know."""
    with ExitStack() as stack:
        server = stack.enter_context(WarmServer(tmp_path / "data", ["log.durability=os"]))
        databases = {
            name: stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60000)) for name in READ_CALLS
        }
        databases["row"].create_table("t", {"f": {}}).put(b"r", {b"f:a": b"1"})
        before = {name: read(databases[name]) for name, read in READ_CALLS.items()}
        server.kill()
        server.start()
        assert {name: read(databases[name]) for name, read in READ_CALLS.items()} == before


def test_a_read_that_no_server_answers_changed_nothing(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(WarmServer(tmp_path / "data", ["log.durability=os"]))
        databases = {
            name: stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60000)) for name in READ_CALLS
        }
        databases["row"].create_table("t", {"f": {}})
        for name, read in READ_CALLS.items():
            read(databases[name])
        server.kill()
        for name, read in READ_CALLS.items():
            with pytest.raises(hbtable.Unavailable, match="no server answers"):
                read(databases[name])


def test_all_that_the_library_asks_for_without_changing_anything_is_repeated() -> None:
    """A new call of the library is a read by the audit's list, or a change."""
    sources = [Path(hbtable.library.__path__[0]) / name for name in ("server_admin.py", "server_table.py")]
    asked = {
        name
        for source in sources
        for name in re.findall(r'_server\.(?:admin|hbase)\(\s*"(\w+)"', source.read_text(encoding="utf-8"))
    }
    changes = {name for name in asked if name not in UNHEARD}
    changes |= {"adminCheckAndMutate", "adminMutateIf", "adminMutateRows", "append", "atomicIncrement"}
    changes |= {"mutateRows", "mutateRowsTs"}
    assert asked - changes == READS


def test_a_server_that_does_not_answer_is_waited_for_no_longer_than_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        database = hbtable.connect("127.0.0.1", deaf.getsockname()[1], timeout=100)
        with pytest.raises(hbtable.Unavailable, match="broke off during getTableNames: timed out"):
            database.tables()
        with pytest.raises(hbtable.OutcomeUnknown, match="broke off during compact: timed out"):
            database.compact_table("t")
        database.close()


def test_threads_share_it(server: WarmServer) -> None:
    with hbtable.connect("127.0.0.1", server.port, timeout=60000) as database:
        table = database.create_table("shared", {"f": {}})
        begin = threading.Barrier(4)

        def work(number: int) -> None:
            begin.wait()
            for turn in range(25):
                table.counter_inc(b"c", b"f:n")
                table.put(b"%d-%d" % (number, turn), {b"f:a": b"%d" % turn})
                assert table.row(b"%d-%d" % (number, turn)) == {b"f:a": b"%d" % turn}

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert table.counter_get(b"c", b"f:n") == 100
        assert len(list(table.scan(batch_size=7))) == 101


def test_a_call_that_cannot_be_told_leaves_the_connection_usable(server: WarmServer) -> None:
    with hbtable.connect("127.0.0.1", server.port, timeout=60000) as database:
        for options in ({"max_versions": "3"}, {"max_versions": 2**40}, {"compression": 5}, {"attributes": 5}):
            with pytest.raises(hbtable.InvalidRequest):
                database.create_table("odd", {"f": options})  # type: ignore[dict-item]
            assert b"odd" not in database.tables()


def test_writes_without_the_log_and_large_batches(server: WarmServer) -> None:
    with hbtable.connect("127.0.0.1", server.port, timeout=60000) as database:
        table = database.create_table("large", {"f": {}, "g": {}})
        with table.batch(timestamp=5, wal=False) as batch:
            for number in range(1500):
                batch.put(b"%04d" % number, {b"f:a": b"1", b"g:": b"2"})
            batch.put(b"logged", {b"f:a": b"1"}, wal=True)
            batch.put(b"after", {b"f:a": b"1"})
        with table.batch(timestamp=6, wal=False) as batch:
            batch.delete(b"0000")
            batch.delete(b"0001", [b"f:a"])
            batch.delete(b"0002", [b"g:"])
        found = dict(table.scan(include_timestamp=True, batch_size=400))
        assert len(found) == 1501
        assert found[b"0001"] == {b"g:": (b"2", 5)}
        assert found[b"0002"] == {b"f:a": (b"1", 5)}


def test_server_errors_are_told_by_their_classes(server: WarmServer) -> None:
    with hbtable.connect("127.0.0.1", server.port, timeout=60000) as database:
        table = database.create_table("errors", {"f": {}})
        with pytest.raises(hbtable.TableNotFound):
            database.table("missing").row(b"r")
        with pytest.raises(hbtable.TableNotFound):
            database.delete_table("missing")
        with pytest.raises(hbtable.TableExists):
            database.create_table("errors", {"f": {}})
        with pytest.raises(hbtable.TableNotDisabled):
            database.delete_table("errors")
        with pytest.raises(hbtable.NoSuchFamily):
            table.put(b"r", {b"h:a": b"1"})
        table.put(b"r", {b"f:n": b"three"})
        with pytest.raises(hbtable.NotACounter):
            table.counter_inc(b"r", b"f:n")
        with pytest.raises(hbtable.LimitExceeded):
            table.put(b"r" * 40_000, {b"f:a": b"1"})
        with pytest.raises(hbtable.BadFilter):
            list(table.scan(filter=b"NoFilter("))
        database.disable_table("errors")
        with pytest.raises(hbtable.TableNotEnabled):
            table.row(b"r")
        with pytest.raises(hbtable.TableNotEnabled):
            list(table.scan())


@pytest.mark.parametrize("options", [{"max_versions": None}, {"max_versions": True}, {"in_memory": "no"}])
def test_what_thrift_would_turn_into_another_is_refused(server: WarmServer, options: dict[str, object]) -> None:
    with hbtable.connect("127.0.0.1", server.port, timeout=60000) as database:
        with pytest.raises(hbtable.InvalidRequest):
            database.create_table("turned", {"f": options})  # type: ignore[dict-item]
        assert b"turned" not in database.tables()
