"""hbtable.open().serve(): other programs use the tables while this one has them open."""

import shutil
import socket
from pathlib import Path

import happybase
import pytest
from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

import hbtable
from tests.harness.commands import run_python
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.integration


def test_other_programs_use_the_tables_until_it_is_closed(tmp_path: Path) -> None:
    with hbtable.open(str(tmp_path / "data"), durability="os") as database:
        table = database.create_table("t", ["f"])
        table.put("here", {"f:a": "1"})
        port = database.serve(port=0)
        connection = happybase.Connection("127.0.0.1", port, timeout=60_000)
        assert connection.table("t").row(b"here") == {b"f:a": b"1"}
        connection.table("t").put(b"there", {b"f:a": b"2"})
        assert table.row("there") == {b"f:a": b"2"}
        assert connection.table("t").regions()[0]["port"] == port
        program = (
            f"import hbtable\nwith hbtable.connect('127.0.0.1', {port}) as db:\n"
            "    print(db.table('t').counter_inc('c', 'f:n', 3))\n    db.create_table('u', ['f'])\n"
        )
        done = run_python(program, str(tmp_path))
        assert (done.stdout, done.stderr) == ("3\n", "")
        assert database.tables() == [b"t", b"u"]
    with pytest.raises((TException, OSError, EOFError)):
        connection.tables()
    connection.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", port))
    with hbtable.open(str(tmp_path / "data")) as database:
        assert len(list(database.table("t").scan())) == 3


def test_a_second_handle_keeps_serving(tmp_path: Path) -> None:
    first = hbtable.open(str(tmp_path / "data"), durability="os")
    second = hbtable.open(str(tmp_path / "data"), durability="os")
    port = first.serve(port=0)
    with pytest.raises(hbtable.InvalidRequest, match=rf"is served already, at 127\.0\.0\.1:{port}"):
        second.serve(port=0)
    first.close()
    with hbtable.connect("127.0.0.1", port, timeout=60_000) as connected:
        assert connected.tables() == []
        second.close()
        with pytest.raises((hbtable.OutcomeUnknown, hbtable.Unavailable)):
            connected.tables()
    with pytest.raises(hbtable.Unavailable, match="is closed"):
        first.serve(port=0)


def test_in_memory_and_only_read(tmp_path: Path) -> None:
    with hbtable.open(":memory:") as database:
        with hbtable.connect("127.0.0.1", database.serve(port=0), timeout=60_000) as connected:
            connected.create_table("t", ["f"]).put("r", {"f:a": "1"})
        assert database.table("t").row("r") == {b"f:a": b"1"}
    with hbtable.open(str(tmp_path / "data"), durability="os") as database:
        database.create_table("t", ["f"]).put("r", {"f:a": "1"})
    with hbtable.open(str(tmp_path / "data"), read_only=True) as database:
        connected = hbtable.connect("127.0.0.1", database.serve(port=0), timeout=60_000)
        assert connected.table("t").row("r") == {b"f:a": b"1"}
        with pytest.raises(hbtable.InvalidRequest, match="read_only=True"):
            connected.table("t").put("r", {"f:a": "2"})
        connected.close()


def test_what_cannot_be_served(tmp_path: Path) -> None:
    with hbtable.open(":memory:") as database:
        with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(hbtable.Unavailable):
            database.serve(port=taken.getsockname()[1])
        for arguments in ({"port": -1}, {"port": 65536}, {"port": "9090"}, {"host": 5}, {"host": ""}):
            with pytest.raises(hbtable.InvalidRequest):
                database.serve(**arguments)
        for host in ("0.0.0.0", "192.0.2.1", "::"):
            with pytest.raises(hbtable.InvalidRequest, match="has neither TLS nor users: listen on 127"):
                database.serve(host, 0)
        assert database.serve("localhost", port=0) > 0


def test_nobody_is_answered_once_the_folder_is_lost(tmp_path: Path) -> None:
    root = tmp_path / "data"
    with hbtable.open(str(root), durability="os") as database:
        database.create_table("t", ["f"])
        port = database.serve(port=0)
        connection = happybase.Connection("127.0.0.1", port, timeout=60_000)
        connection.tables()
        root.rename(root.with_name("moved"))
        shutil.copytree(root.with_name("moved"), root)

        def is_cut_off() -> bool:
            try:
                connection.tables()
            except (TException, TTransportException, OSError, EOFError):
                return True
            return False

        eventually(is_cut_off, SOON_SECONDS, "a connection that is cut off")
        connection.close()


def test_metrics(tmp_path: Path) -> None:
    with hbtable.open(":memory:") as database:
        database.create_table("t", ["f"]).put("r", {"f:a": "1"})
        text = database.metrics()
        assert "# HELP" in text
        assert "hbtable_" in text
    with pytest.raises(hbtable.Unavailable):
        database.metrics()
