"""What the roles of a cluster read from their configuration, say about obstacles, and do when their lock is lost."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.errors import InvalidConfiguration, Unavailable
from hbtable.fs.local import LocalFileSystem
from hbtable.launch.config.cluster_configuration import ClusterOptions, ListenOptions, read_cluster_configuration
from hbtable.launch.config.sections import tabletserver_options
from hbtable.launch.roles.addresses import Addresses
from hbtable.launch.roles.startup_checks import check_namenode, check_ports, check_writable
from hbtable.launch.roles.watchdog import LOST, Watchdog
from hbtable.lockservice.paths import MASTER, ServerFile, server_file, server_lock
from hbtable.master.bootstrap import check_log_kind, cluster_id
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def configured(tmp_path: Path, text: str, *overrides: str):
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    return read_cluster_configuration(str(path), {}, overrides)


# ---------------------------------------------------------------- configuration


def test_one_file_fills_all_roles(tmp_path: Path) -> None:
    text = '[cluster]\nfiles = "webhdfs://h:9870/x"\n'
    text += '[log]\nsegment_bytes = "1 MiB"\n[cache]\nblock_cache_bytes = "2 MiB"\n'
    configuration = configured(tmp_path, text, "cluster.root=/other")
    assert configuration.options("cluster", ClusterOptions) == ClusterOptions(root="/other", files="webhdfs://h:9870/x")
    options = tabletserver_options(configuration)
    assert (options.log.segment_bytes, options.block_cache_bytes) == (1 << 20, 2 << 20)


def test_an_unknown_key_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"no key zookeper; did you mean zookeeper\?"):
        configured(tmp_path, '[cluster]\nzookeper = "x"\n')
    with pytest.raises(InvalidConfiguration, match=r"no section \[server\]"):
        configured(tmp_path, "[server]\nport = 1\n")


def test_a_field_that_no_file_can_hold_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="no key client_settings"):
        configured(tmp_path, '[hdfs]\nclient_settings = "x"\n')


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_role_that_listens_everywhere_must_say_how_it_is_reached(host: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"listen\.announce"):
        ListenOptions(host=host).announced()
    assert ListenOptions(host=host, announce="node-1").announced() == "node-1"
    assert ListenOptions(host="10.0.0.1").announced() == "10.0.0.1"


# ---------------------------------------------------------------- the way to others


@pytest.fixture
def answering() -> Iterator[tuple[int, list[bytes]]]:
    """A server that gives the answer in the list to whatever it is sent, then hangs up; its port."""
    answers: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1000)
                    connection.sendall(answers[0])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], answers
        server.shutdown(socket.SHUT_RDWR)


IPC = b"HTTP/1.1 404 Not Found\r\n\r\nIt looks like you are making an HTTP request to a Hadoop IPC port."
WEB = b'HTTP/1.1 200 OK\r\n\r\n{"Path":"/user/root"}'


@pytest.mark.parametrize(
    ("scheme", "answer"), [("hdfs", b"\0\0\0\5hello"), ("webhdfs", b"\x15\3\1\0\2\2"), ("hdfs", b"")]
)
def test_what_is_no_namenode_is_not_tried_for_long(
    answering: tuple[int, list[bytes]], scheme: str, answer: bytes
) -> None:
    port, answers = answering
    answers.append(answer)
    words = "not as a NameNode does" if answer else "says nothing"
    with pytest.raises(Unavailable, match=rf"no NameNode can be reached at 127\.0\.0\.1:{port} \(.*{words}\)"):
        check_namenode(GeventRuntime(), f"{scheme}://127.0.0.1:{port}/x")


@pytest.mark.parametrize(
    ("scheme", "answer", "words"),
    [("hdfs", WEB, "is a web port"), ("webhdfs", IPC, "RPC port"), ("hdfs", IPC, ""), ("webhdfs", WEB, "")],
)
def test_the_wrong_port_of_a_namenode_is_named(
    answering: tuple[int, list[bytes]], scheme: str, answer: bytes, words: str
) -> None:
    port, answers = answering
    answers.append(answer)
    runtime = GeventRuntime()
    address = f"{scheme}://127.0.0.1:{port}/x"
    if not words:
        check_namenode(runtime, address)
        return
    with pytest.raises(InvalidConfiguration, match=words):
        check_namenode(runtime, address)


def test_a_namenode_that_is_not_there_is_said_and_a_second_one_will_do(answering: tuple[int, list[bytes]]) -> None:
    port, answers = answering
    answers.append(WEB)
    runtime = GeventRuntime()
    with pytest.raises(Unavailable, match=r"no NameNode can be reached at 127\.0\.0\.1:1 "):
        check_namenode(runtime, "webhdfs://127.0.0.1:1/x")
    check_namenode(runtime, f"webhdfs://127.0.0.1:1,127.0.0.1:{port}/x")


def test_a_port_in_use_is_noticed(answering: tuple[int, list[bytes]]) -> None:
    check_ports("127.0.0.1", [0])
    with pytest.raises(Unavailable, match=f"port {answering[0]} on 127.0.0.1 is in use"):
        check_ports("127.0.0.1", [0, answering[0]])


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    runtime = GeventRuntime()
    fs = LocalFileSystem(str(tmp_path / "data"), runtime)
    check_writable(runtime, fs, "here")
    assert fs.list_files("probes") == []


class _Refusing:
    log_kind = "local"

    def write_file(self, path: str, data: bytes) -> None:
        raise Unavailable("permission denied")


def test_a_folder_that_cannot_be_written_is_said() -> None:
    with pytest.raises(Unavailable, match=r"cluster\.files = 'hdfs://h:1/x' cannot be written: permission denied"):
        check_writable(GeventRuntime(), _Refusing(), "hdfs://h:1/x")


# ---------------------------------------------------------------- in the lock service


def in_simulation(test):
    """Runs `test(runtime, session)` on a lock service in memory."""
    runtime = SimulatedRuntime(1)
    runtime.run(lambda: test(runtime, MemoryLockService(runtime).open_session("test")))


def test_a_server_is_found_while_it_lives() -> None:
    def test(runtime, session):
        addresses = Addresses(session)
        assert addresses.server("1-a") is None
        assert addresses.gateway("1-a") is None
        assert (addresses.server(""), addresses.gateway("")) == (None, None), "asked for a tablet that nobody has"
        session.lock(server_lock("1-a"))
        session.create(server_file("1-a"), ServerFile("h:1", 5, "hdfs", door="h:2").encode())
        assert (addresses.server("1-a"), addresses.gateway("1-a")) == ("h:1", (b"h", 2))
        session.unlock(server_lock("1-a"))
        assert addresses.server("1-a") is None, "a transport that asks again learns that it is dead"
        session.delete(server_file("1-a"))
        assert addresses.server("1-a") is None

    in_simulation(test)


def test_a_server_file_without_a_gateway_is_understood() -> None:
    data = b'{"address": "h:1", "draining": false, "log_kind": "hdfs", "started_millis": 5}'
    assert ServerFile.decode("/servers/x", data) == ServerFile("h:1", 5, "hdfs")


def test_the_master_is_found_by_its_lock() -> None:
    def test(runtime, session):
        addresses = Addresses(session)
        assert addresses.master() is None
        session.lock(MASTER, b"h:3")
        assert addresses.master() == "h:3"

    in_simulation(test)


def test_who_can_be_asked_about_the_cluster_are_its_master_and_some_living_servers() -> None:
    def test(runtime, session):
        addresses = Addresses(session)
        assert addresses.first_roles() == []
        for number in range(1, 9):
            session.lock(server_lock(f"{number}-a"))
            session.create(server_file(f"{number}-a"), ServerFile(f"h:{number}", 5, "hdfs").encode())
        session.unlock(server_lock("1-a"))
        servers = [("tablet server", f"h:{number}") for number in range(2, 7)]
        assert addresses.first_roles() == servers
        session.lock(MASTER, b"h:9")
        assert addresses.first_roles() == [("master", "h:9"), *servers]
        session.write(server_file("3-a"), b"no JSON", session.read(server_file("3-a")).version)
        assert addresses.first_roles() == [("master", "h:9")], "what is damaged is for others to tell"

    in_simulation(test)


def test_a_role_that_cannot_fence_the_clusters_logs_is_refused() -> None:
    def test(runtime, session):
        check_log_kind(session, "webhdfs")  # a cluster to be
        cluster_id(runtime, session, "hdfs")
        check_log_kind(session, "hdfs")
        with pytest.raises(InvalidConfiguration, match=r"cannot fence.*hdfs://"):
            check_log_kind(session, "webhdfs")

    in_simulation(test)


# ---------------------------------------------------------------- the end


class _Session:
    ended = False
    is_valid = True

    def valid(self) -> bool:
        return self.is_valid and not self.ended

    def over(self) -> bool:
        return self.ended


def test_a_lost_session_ends_the_process_while_the_hub_hangs() -> None:
    codes: list[int] = []
    ended = threading.Event()

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    session = _Session()
    Watchdog(GeventRuntime(), end).watch(session)
    session.ended = True
    assert ended.wait(60), "this thread, the hub's, has not switched since"
    assert codes == [LOST]


@pytest.mark.slow  # waits for real seconds
def test_a_hub_that_hangs_ends_the_process_whose_lease_is_kept_all_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    runtime = GeventRuntime()
    codes: list[int] = []
    ended = threading.Event()

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    Watchdog(runtime, end, hung_seconds=1.0).watch(_Session())
    for _ in range(20):
        runtime.sleep(0.1)
    assert codes == [], "a hub that works is left alone"
    assert ended.wait(60), "this thread, the hub's, has not switched since"
    assert codes == [LOST]
    assert "nothing was done in this process for 1 s" in capfd.readouterr().err


def test_a_stop_without_the_lock_service_ends_the_process_and_waiting_for_it_does_not(
    capfd: pytest.CaptureFixture[str],
) -> None:
    ended, codes = threading.Event(), []

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    session = _Session()
    session.is_valid = False
    watchdog = Watchdog(GeventRuntime(), end, stranded_seconds=0.1)
    watchdog.watch(session)
    assert not ended.wait(0.3), "it may come back, and the process serves again"
    watchdog.ask_to_stop()
    assert ended.wait(60)
    assert codes == [LOST]
    assert "cannot stop in order" in capfd.readouterr().err


def test_a_session_that_is_closed_in_order_ends_nothing() -> None:
    codes: list[int] = []
    watchdog = Watchdog(GeventRuntime(), codes.append)
    watchdog.release()
    watchdog.lost()
    assert codes == []


def test_the_second_signal_ends_the_process_at_once() -> None:
    codes: list[int] = []
    watchdog = Watchdog(GeventRuntime(), codes.append)
    watchdog.ask_to_stop()
    assert codes == []
    watchdog.wait()
    watchdog.ask_to_stop()
    assert codes == [0]
