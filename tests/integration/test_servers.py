"""`hbtable start --servers N`: a cluster in one folder and behind one port, whose processes die."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import happybase
import happybase.connection
import pytest
from thriftpy2.transport import TSSLSocket

import hbtable
from hbtable.access.store import AccountFile
from tests.harness.certificates import CA, put_certificate
from tests.harness.free_ports import free_ports
from tests.harness.known_token import RECORD, TOKEN
from tests.harness.server import ServerProcess
from tests.harness.server_processes import await_end, is_server, kill_servers, server_pids
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_commands import run_warm

TABLES = [b"first", b"second", b"third", b"fourth"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path / "data", ["tablet.memtable_bytes=1 MiB"])
    server.arguments = ["--servers", "2"]
    with server:
        yield server
        pids = server_pids(server) if server.process is not None and server.process.poll() is None else []
        for pid in pids:
            if is_server(pid):
                os.kill(pid, signal.SIGCONT)
    await_end(pids)


def make_tables(server: ServerProcess) -> None:
    connection = server.connect()
    for name in TABLES:
        connection.create_table(name.decode(), {"f": {}})
    connection.close()


def put(server: ServerProcess, of: str) -> None:
    """A row into each table, by a connection of its own each, so that each process gets some."""
    for name in TABLES:
        connection = server.connect()
        connection.table(name).put(of.encode(), {b"f:of": name})
        connection.close()


def rows(connection: happybase.Connection) -> dict[bytes, list[bytes]]:
    return {name: [row for row, _ in connection.table(name).scan()] for name in TABLES}


def hosts(connection: happybase.Connection) -> set[bytes]:
    return {region["server_name"] for name in TABLES for region in connection.table(name).regions()}


def test_every_process_answers_for_all_tables_and_each_has_some(server: ServerProcess) -> None:
    make_tables(server)
    put(server, "a")
    for _ in range(3):
        connection = server.connect()
        assert rows(connection) == {name: [b"a"] for name in TABLES}
        connection.close()
    assert len(server_pids(server)) == 2


@long_test("a folder of one server, of three and of a program")
def test_the_folder_goes_to_one_server_to_three_to_a_program_and_back(server: ServerProcess, tmp_path: Path) -> None:
    make_tables(server)
    for arguments in ([], ["--servers", "3"], ["--servers", "1"], ["--servers", "auto"], []):
        put(server, f"before {len(arguments)}")
        assert server.stop() == 0
        server.arguments = arguments
        server.start()
    server.stop()
    checked = run_warm("check", str(server.folder))
    assert checked.returncode == 0, checked.stdout
    with hbtable.open(str(server.folder)) as database:
        for name in TABLES:
            assert [row for row, _ in database.table(name.decode()).scan()] == [b"before 0", b"before 2"]


def test_calls_for_another_process_rows_go_on_as_they_came_and_are_done_once(server: ServerProcess) -> None:
    make_tables(server)
    connections = [server.connect() for _ in range(2)]
    for number in range(20):
        for connection in connections:
            for name in TABLES:
                table = connection.table(name)
                assert table.counter_inc(b"row", b"f:n") == 2 * number + connections.index(connection) + 1
                table.put(b"other", {b"f:x": b"%d" % number})
                assert table.row(b"other") == {b"f:x": b"%d" % number}
                table.delete(b"other")
                assert table.row(b"other") == {}
    for connection in connections:
        connection.close()


def test_where_tls_is_required_calls_go_on_to_other_processes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = put_certificate("server", tmp_path)
    files = [f"tls.certificate={certificate}", f"tls.key={key}", "tls.required=true"]
    server = ServerProcess(tmp_path / "data", files)
    server.arguments = ["--servers", "2"]
    monkeypatch.setattr(happybase.connection, "TSocket", partial(TSSLSocket, cafile=CA))
    with server:
        connections = [happybase.Connection("localhost", server.port) for _ in range(2)]
        for name in TABLES:
            connections[0].create_table(name.decode(), {"f": {}})
        for connection in connections:
            rows(connection)  # its process knows where the tables are now
            for name in TABLES:
                connection.table(name).put(b"a", {b"f:of": name})
                assert connection.table(name).row(b"a") == {b"f:of": name}
            connection.close()


def test_a_process_that_is_killed_is_replaced_and_its_rows_are_served(server: ServerProcess) -> None:
    make_tables(server)
    before = server_pids(server)
    for number, pid in enumerate(before):
        put(server, f"row {number}")
        kill_servers([pid])
        await_end([pid])  # what is handed to it before is reset, as by any server that dies
        connection = server.connect()
        expected = [b"row %d" % one for one in range(number + 1)]
        assert rows(connection) == dict.fromkeys(TABLES, expected)
        connection.close()
        eventually(lambda: len(server_pids(server)) == 2, SOON_SECONDS, "another process to take its place")
    assert not set(before) & set(server_pids(server))
    assert server.stop() == 0


def test_of_a_launcher_that_is_killed_no_process_lives_on_not_even_a_stopped_one(server: ServerProcess) -> None:
    make_tables(server)
    put(server, "a")
    pids = server_pids(server)
    os.kill(pids[0], signal.SIGSTOP)
    server.kill()
    server.start()  # waits for the kernel, which ends them
    assert not any(map(is_server, pids))
    connection = server.connect()
    assert rows(connection) == {name: [b"a"] for name in TABLES}
    connection.close()


def test_while_any_process_of_it_lives_nobody_else_has_the_folder(server: ServerProcess) -> None:
    """The lock is the processes', too: without it a new start could begin before a stopped one of them is gone."""
    second = subprocess.run(
        [sys.executable, "-m", "hbtable", "start", "--data", str(server.folder), "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 1
    assert f"in use by process {server.process.pid}" in second.stderr  # type: ignore[union-attr]
    with pytest.raises(hbtable.HbtableError, match="in use"):
        hbtable.open(str(server.folder))


@pytest.mark.slow
def test_a_process_that_is_stopped_is_killed_and_never_writes_again(server: ServerProcess) -> None:
    make_tables(server)
    put(server, "a")
    pids = server_pids(server)
    os.kill(pids[0], signal.SIGSTOP)
    eventually(lambda: not is_server(pids[0]), SOON_SECONDS, "the stopped process to be killed")
    eventually(lambda: len(server_pids(server)) == 2, SOON_SECONDS, "another one to take its place")
    put(server, "b")
    connection = server.connect()
    assert rows(connection) == {name: [b"a", b"b"] for name in TABLES}
    connection.close()


def test_processes_that_had_no_descriptor_left_take_connections_again(server: ServerProcess) -> None:
    make_tables(server)
    limits = {pid: resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in server_pids(server)}
    for pid, (_, hard) in limits.items():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))  # what is open stays so
    for _ in limits:
        with socket.create_connection(("127.0.0.1", server.port), SOON_SECONDS) as refused:
            assert refused.recv(1) == b""
    for pid, limit in limits.items():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
    put(server, "a")
    connection = server.connect()
    assert rows(connection) == {name: [b"a"] for name in TABLES}
    connection.close()


def test_the_launchers_metrics_are_those_of_the_master_and_all_ask_who_reads_them(tmp_path: Path) -> None:
    port = free_ports(3)
    users = AccountFile(str(tmp_path / "data"))
    users.change(lambda accounts: accounts.with_user("program", None).with_token("program", RECORD, 0))
    defines = ["auth.enabled=true", "auth.superusers=program", f"server.http_port={port}"]
    server = ServerProcess(tmp_path / "data", defines)
    server.arguments = ["--servers", "2"]

    def metrics(of: int, page: str = "metrics", token: str = TOKEN) -> str:
        asked = urllib.request.Request(f"http://127.0.0.1:{of}/{page}", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=SOON_SECONDS) as answer:
            return str(answer.read().decode())

    with server:
        eventually(lambda: "hbtable_is_master 1" in metrics(port), SOON_SECONDS, "the launcher to be the master")
        assert "hbtable_rpc_connections" not in metrics(port)
        for of in (port + 1, port + 2):
            assert "hbtable_is_master" not in metrics(of)
            assert "hbtable_rpc_connections" in metrics(of)
        for of in (port, port + 1, port + 2):
            assert '"ok": true' in metrics(of, "livez", "wrong")
            for page in ("metrics", "slow"):
                with pytest.raises(urllib.error.HTTPError, match="401"):
                    metrics(of, page, "wrong")


def test_the_launcher_is_not_ready_while_no_process_serves(tmp_path: Path) -> None:
    port = free_ports(2)
    server = ServerProcess(tmp_path / "data", [f"server.http_port={port}"])
    server.arguments = ["--servers", "1"]

    def ready() -> list[str]:
        """The reasons against it."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=SOON_SECONDS) as answer:
                return list(json.load(answer)["reasons"])
        except urllib.error.HTTPError as error:
            return list(json.load(error)["reasons"])

    def ready_after_a_death() -> list[str]:
        kill_servers(server_pids(server))
        return ready()

    with server:
        assert ready() == []
        eventually(lambda: ready_after_a_death() == ["no server process serves"], SOON_SECONDS, "a 503")
        eventually(lambda: ready() == [], SOON_SECONDS, "the next process")


def test_a_count_that_cannot_be_is_refused(tmp_path: Path) -> None:
    for wrong in ("0", "65", "two", "-1", ""):
        refused = run_warm("start", "--data", str(tmp_path / "data"), f"--servers={wrong}")
        assert refused.returncode == 2
        assert "a number from 1 to 64 is due, or auto" in refused.stderr
    assert not (tmp_path / "data").exists()
