"""hbtable.testing.FaultyCluster: each fault does what it says, and what a program wrote under all of them is there."""

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import happybase
import pytest

import hbtable
from hbtable.runtime.processes.temporary_folder import remove_abandoned
from hbtable.testing import FaultyCluster
from hbtable.testing.faulty_cluster import KINDS, Fault
from hbtable.testing.server_pids import server_pids_of
from tests.harness.commands import environment
from tests.harness.waiting import SOON_SECONDS, eventually, runs


@pytest.fixture(scope="module")
def cluster() -> Iterator[FaultyCluster]:
    with FaultyCluster(servers=2, seed=5) as cluster:
        yield cluster


@pytest.fixture
def table(cluster: FaultyCluster) -> Iterator[hbtable.Table]:
    with hbtable.connect(cluster.host, cluster.port) as db:
        yield db.create_table("t", ["f"], split_rows=["m"])
    with hbtable.connect(cluster.host, cluster.port) as db:
        db.delete_table("t", disable=True)


def persistently(call: Callable[[], Any]) -> Any:
    """As a program does it that may repeat the call."""
    found: list[Any] = []

    def works() -> bool:
        try:
            found.append(call())
        except (hbtable.Unavailable, hbtable.OutcomeUnknown):
            return False
        return True

    eventually(works, SOON_SECONDS, "the call to be answered")
    return found[0]


@pytest.mark.parametrize(("lost", "expected"), [("request", {}), ("answer", {b"f:a": b"1"})])
def test_the_next_one_is_lost_and_no_other(
    cluster: FaultyCluster, table: hbtable.Table, lost: str, expected: dict[bytes, bytes]
) -> None:
    table.put("before", {"f:a": "1"})
    before = cluster.count[f"lost {lost}"]
    getattr(cluster, f"lose_{lost}")()
    with pytest.raises(hbtable.OutcomeUnknown):
        table.put("r", {"f:a": "1"})
    assert cluster.count[f"lost {lost}"] == before + 1
    assert table.row("r") == expected
    table.put("r", {"f:a": "2"})
    assert table.row("r") == {b"f:a": b"2"}


def test_a_client_of_happybase_is_under_them_too(cluster: FaultyCluster, table: hbtable.Table) -> None:
    with closing(happybase.Connection(cluster.host, cluster.port)) as connection:
        cluster.lose_answer()
        with pytest.raises(Exception, match=r"read 0 bytes|Connection reset"):
            connection.table("t").put(b"h", {b"f:a": b"1"})
    assert table.row("h") == {b"f:a": b"1"}


def test_a_server_that_is_killed_is_replaced_and_loses_nothing(cluster: FaultyCluster, table: hbtable.Table) -> None:
    for row in ("a", "z"):
        table.put(row, {"f:a": row})
    before = set(server_pids_of(cluster._launcher))
    cluster.kill_server()
    eventually(lambda: len(set(server_pids_of(cluster._launcher)) - before) == 1, SOON_SECONDS, "a new process")
    assert persistently(lambda: [row for row, _ in table.scan()]) == [b"a", b"z"]


def test_a_server_that_is_paused_goes_on(cluster: FaultyCluster, table: hbtable.Table) -> None:
    eventually(lambda: len(server_pids_of(cluster._launcher)) == 2, SOON_SECONDS, "both servers")
    pids = server_pids_of(cluster._launcher)
    pause = threading.Thread(target=cluster.pause_server, args=(2.0,))
    pause.start()
    eventually(lambda: "T" in {state(pid) for pid in pids}, SOON_SECONDS, "one that stands")
    pause.join()
    assert "T" not in {state(pid) for pid in pids}
    persistently(lambda: table.put("r", {"f:a": "1"}))


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return ""


def test_what_was_acknowledged_under_all_of_them_is_there(cluster: FaultyCluster, table: hbtable.Table) -> None:
    before = cluster.count
    written = 0
    with cluster.faults(mean_seconds=0.1):
        while any((cluster.count - before)[kind] < 2 for kind in KINDS):
            persistently(lambda number=written: table.put(f"{number:06}", {"f:a": str(number)}, timestamp=1))
            written += 1
    found = persistently(lambda: dict(table.scan()))
    assert found == {b"%06d" % number: {b"f:a": b"%d" % number} for number in range(written)}
    count = cluster.count
    table.put("after", {"f:a": "1"})
    assert cluster.count == count  # nothing new is broken


def test_no_server_dies_by_chance_before_an_answer_came_since_the_last_death(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a load of thirty they died faster than others started, and a put had no answer within a minute."""
    cluster, proxy = FaultyCluster(), SimpleNamespace(answers=0)
    killed: list[int] = []
    monkeypatch.setattr(cluster, "_proxy", proxy)
    monkeypatch.setattr(FaultyCluster, "_kill", lambda self, server: killed.append(proxy.answers))
    for answers in (0, 0, 0, 1, 1, 4):
        proxy.answers = answers
        cluster._one(Fault("kill", 0.5, 0.0, 0.0))
    assert killed == [0, 1, 4]


def test_a_seed_brings_the_same_faults_again_whatever_the_servers_do() -> None:
    """Of two clusters that differ, and of which one was asked for a fault before."""
    histories = []
    for servers in (1, 2):
        with FaultyCluster(servers=servers, seed=9) as cluster:
            if servers == 2:
                cluster.kill_server()
            for mean_seconds in (0.05, 0.02):
                before = len(cluster.history)
                with cluster.faults(mean_seconds=mean_seconds):
                    eventually(lambda: len(cluster.history) >= before + 4, SOON_SECONDS, "four faults")  # noqa: B023
                histories.append(cluster.history[before : before + 4])
    assert histories[:2] == histories[2:]
    assert histories[0] != histories[1]
    assert len({fault.kind for history in histories for fault in history}) > 1


def test_it_ends_with_its_processes_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with FaultyCluster(servers=1) as cluster:
        pids = [cluster._launcher, *server_pids_of(cluster._launcher)]
        assert len(pids) == 2
        assert [path.name.startswith("hbtable-own-") for path in tmp_path.iterdir()] == [True]
    eventually(lambda: not any(state(pid) for pid in pids), SOON_SECONDS, "the processes to end")
    assert list(tmp_path.iterdir()) == []


STARTS: Final = """
import sys
from hbtable.testing import FaultyCluster
from hbtable.testing.faulty_cluster import Fault
from hbtable.testing.faulty_cluster import KINDS
from hbtable.testing.server_pids import server_pids_of
with FaultyCluster(servers=1) as cluster:
    print(cluster._launcher, *server_pids_of(cluster._launcher), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_program_and_is_not_configured_by_files(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def folders() -> list[Path]:
        return list(tmp_path.glob("hbtable-own-*"))

    Path(tmp_path, "hbtable.toml").write_text('[server]\nhost = "localhost"\nno_such_key = 1\n')
    variables = {"HBTABLE_CONFIG": "hbtable.toml", "HBTABLE_SERVER__HOST": "192.0.2.1", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        env=environment(variables),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        remove_abandoned("hbtable-own-")
        assert len(folders()) == 1
        process.send_signal(number)
    assert len(pids) == 2
    eventually(lambda: not any(map(runs, pids)), SOON_SECONDS, "the launcher and its server to end")
    remove_abandoned("hbtable-own-")  # as the next one does
    assert folders() == []


def test_what_is_wrong_is_said(cluster: FaultyCluster) -> None:
    for servers in (0, 17, -1):
        with pytest.raises(hbtable.InvalidRequest, match="'servers'"):
            FaultyCluster(servers=servers)
    for kinds in ((), ("kill", "flood")):
        with pytest.raises(hbtable.WrongValue, match=r"'kinds' .* 'pause'"), cluster.faults(kinds=kinds):
            pass
    with pytest.raises(hbtable.WrongValue, match="'mean_seconds'"), cluster.faults(mean_seconds=0):
        pass
