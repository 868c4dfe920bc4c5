"""Calls that one process of `hbtable start --servers` passes on and another one answers, by the client's connection."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import happybase
import happybase.connection
import pytest
from thriftpy2.transport import TSocket

from tests.harness.server import ServerProcess
from tests.harness.server_processes import await_end, is_server, kill_servers, server_pids
from tests.harness.waiting import SOON_SECONDS, eventually, freeze

TABLES = [b"first", b"second", b"third", b"fourth"]
ENOUGH = 12
"""Calls of one client to one process, after which they go over a link."""


class ClosingSocket(TSocket):
    """thriftpy2's own leaves a socket open whose peer has closed it."""

    sock: Any

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    monkeypatch.setattr(happybase.connection, "TSocket", ClosingSocket)
    server = ServerProcess(tmp_path / "data", ["log.durability=os"])
    server.arguments = ["--servers", "2"]
    with server:
        connection = server.connect()
        for name in TABLES:
            connection.create_table(name.decode(), {"f": {}})
        connection.close()
        yield server
        pids = server_pids(server) if server.process is not None and server.process.poll() is None else []
        for pid in pids:
            if is_server(pid):
                os.kill(pid, signal.SIGCONT)
    await_end(pids)


def has_link(pids: list[int]) -> bool:
    """Each end of a link has its page in memory."""
    return all("memfd:hbtable" in Path(f"/proc/{pid}/maps").read_text() for pid in pids)


def linked_client(server: ServerProcess) -> happybase.Connection:
    """A client with a link from its process to the other one."""
    connection = happybase.Connection("127.0.0.1", server.port, timeout=60000)

    def call_all() -> bool:
        for name in TABLES:
            for _ in range(ENOUGH):
                connection.table(name).row(b"row")
        return has_link(server_pids(server))

    eventually(call_all, SOON_SECONDS, "a link between the processes")
    return connection


def test_answers_of_both_processes_come_in_the_order_of_calls_that_did_not_wait_for_them(server: ServerProcess) -> None:
    connection = linked_client(server)
    client: Any = connection.client
    calls = [(name, b"%d" % number) for number in range(200) for name in TABLES]
    large = b"x" * 30000
    for name in TABLES:
        connection.table(name).put(b"large", {b"f:v": large})

    def send() -> None:
        for name, row in calls:
            client._send("atomicIncrement", tableName=name, row=row, column=b"f:n", value=int(row) + 1)
            client._send("getRow", tableName=name, row=b"large", attributes={})
            client._send("get", tableName=name, row=row, column=b"f:n", attributes={})

    sender = threading.Thread(target=send)
    sender.start()
    for _, row in calls:
        assert client._recv("atomicIncrement") == int(row) + 1
        assert client._recv("getRow")[0].columns[b"f:v"].value == large
        assert int.from_bytes(client._recv("get")[0].value, "big") == int(row) + 1
    sender.join()
    connection.close()


def test_calls_under_way_to_a_process_that_is_killed_are_carried_out_or_their_client_is_told(
    server: ServerProcess,
) -> None:
    """To each counter was added once what its client was told so of, and at most once what failed."""
    pids = server_pids(server)
    connections = [linked_client(server) for _ in range(6)]
    sure, perhaps = dict.fromkeys(TABLES, 0), dict.fromkeys(TABLES, 0)
    over = threading.Event()

    def count(connection: happybase.Connection) -> None:
        while not over.is_set():
            for name in TABLES:
                try:
                    connection.table(name).counter_inc(b"counter", b"f:n")
                    with guard:
                        sure[name] += 1
                except Exception:  # of the process that was killed, or its outcome is unknown
                    with guard:
                        perhaps[name] += 1
                    connection.close()
                    connection.open()
        connection.close()

    guard = threading.Lock()
    with ThreadPoolExecutor(len(connections)) as pool:
        tasks = [pool.submit(count, connection) for connection in connections]
        try:
            eventually(lambda: all(sure.values()), SOON_SECONDS, "calls to go on")
            kill_servers(pids[:1])
            eventually(lambda: len(server_pids(server)) == 2, SOON_SECONDS, "another process to take its place")
            before = dict(sure)
            eventually(lambda: all(sure[name] > before[name] for name in TABLES), SOON_SECONDS, "all to be served")
        finally:
            over.set()
        for task in tasks:
            task.result()
    connection = server.connect()
    for name in TABLES:
        counted = connection.table(name).counter_get(b"counter", b"f:n")
        assert sure[name] <= counted <= sure[name] + perhaps[name]
    connection.close()


def test_calls_that_a_stopped_process_never_read_are_carried_out_when_it_is_killed(server: ServerProcess) -> None:
    """Clients of the killed process lose their connection; those of the other one lose nothing."""
    pids = server_pids(server)
    connections = [linked_client(server) for _ in pids]  # one in each process: they are handed over in turns
    freeze(pids[0])

    def count(connection: happybase.Connection) -> list[int]:
        return [connection.table(name).counter_inc(b"row", b"f:n") for name in TABLES]

    with ThreadPoolExecutor(len(connections)) as pool:
        tasks = [pool.submit(count, connection) for connection in connections]
        eventually(lambda: all(task.running() for task in tasks), SOON_SECONDS, "calls to be on their way")
        kill_servers([pids[0]])
        failures = [task.exception(SOON_SECONDS) for task in tasks]
    assert [failure is None for failure in failures].count(True) == 1, failures
    for connection in connections:
        connection.close()
    connection = server.connect()
    for name in TABLES:
        assert connection.table(name).counter_get(b"row", b"f:n") in (1, 2)
    connection.close()


def test_a_limit_of_a_table_holds_through_the_doors_of_all_processes(server: ServerProcess) -> None:
    connections = [linked_client(server) for _ in range(2)]
    shell(server, "set_quota TYPE => THROTTLE, TABLE => 'first', LIMIT => '1req/hour'")

    def throttled(connection: happybase.Connection) -> bool:
        try:
            connection.table("first").row(b"row")
        except Exception as error:  # thriftpy2's IOError is generated
            return "RpcThrottlingException" in str(error)
        return False

    def served(connection: happybase.Connection) -> bool:
        return not throttled(connection)

    for connection in connections:
        eventually(partial(throttled, connection), SOON_SECONDS, "the limit to be in force")
        assert throttled(connection)
        for name in TABLES[1:]:
            assert connection.table(name).row(b"row") == {}
    shell(server, "set_quota TYPE => THROTTLE, TABLE => 'first', LIMIT => NONE")
    for connection in connections:
        eventually(partial(served, connection), SOON_SECONDS, "the limit to be lifted")
        connection.close()


def shell(server: ServerProcess, command: str) -> None:
    url = f"127.0.0.1:{server.port}"
    done = subprocess.run(
        [sys.executable, "-m", "hbtable", "shell", "-n", "--url", url, "-e", command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
