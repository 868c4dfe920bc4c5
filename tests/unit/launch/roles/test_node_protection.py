"""The acting master protects every node when it begins to act, and again later; a standby protects none."""

import logging

import pytest

from hbtable.errors import HbtableError, LockLost, StorageFailed, Unavailable
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.roles.node_protection import NodeProtection
from hbtable.lockservice.identity import ID_FILE
from hbtable.lockservice.protection_mark import PROTECTION_MARK
from hbtable.lockservice.zookeeper.access import Protected
from hbtable.testing.simulated.runtime import SimulatedRuntime


class Session:
    protects = True

    def __init__(self) -> None:
        self.rounds = 0
        self.open = ["/c", "/c/a", "/c/users"]
        self.others: list[str] = []
        self.problem: HbtableError | None = None

    def protect_nodes(self) -> Protected:
        self.rounds += 1
        if self.problem is not None:
            raise self.problem
        found, self.open = self.open, []
        return Protected(found, self.others)


def test_the_master_looks_when_it_begins_to_act_and_every_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    runtime, session, acting = SimulatedRuntime(seed=1), Session(), [False]
    protection = NodeProtection(runtime, session, lambda: acting[0], MemoryFileSystem(runtime))

    def body() -> None:
        protection.start()
        runtime.sleep(1000.0)
        assert session.rounds == 0
        acting[0] = True
        runtime.sleep(5.0)
        assert session.rounds == 1
        runtime.sleep(500.0)
        assert session.rounds == 1
        session.open = ["/c/b"]
        runtime.sleep(200.0)
        assert session.rounds == 2
        acting[0] = False
        runtime.sleep(5.0)
        acting[0] = True
        runtime.sleep(5.0)
        assert session.rounds == 3
        protection.stop()
        runtime.sleep(1000.0)
        assert session.rounds == 3

    with caplog.at_level(logging.WARNING):
        runtime.run(body)
    assert [record.args for record in caplog.records] == [(3, "/c/users, /c, /c/a"), (1, "/c/b")]


def test_what_could_not_be_protected_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    runtime, session = SimulatedRuntime(seed=1), Session()
    protection = NodeProtection(runtime, session, lambda: True, MemoryFileSystem(runtime))
    session.problem = Unavailable("ZooKeeper is away")

    def body() -> None:
        protection.start()
        runtime.sleep(60.0)
        assert session.rounds > 5
        session.problem = None
        runtime.sleep(10.0)
        assert session.open == []
        protection.stop()

    with caplog.at_level(logging.WARNING):
        runtime.run(body)
    said = [record.getMessage() for record in caplog.records]
    assert [one for one in said if "may be everybody's; they are looked at again: ZooKeeper is away" in one] == said[:1]


def test_what_is_others_is_named_once_in_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    runtime, session = SimulatedRuntime(seed=1), Session()
    session.open, session.others = [], [f"/c/{number}" for number in range(30)]
    protection = NodeProtection(runtime, session, lambda: True, MemoryFileSystem(runtime))

    def body() -> None:
        protection.start()
        runtime.sleep(700.0)
        protection.stop()

    with caplog.at_level(logging.WARNING):
        runtime.run(body)
    assert len(caplog.records) == session.rounds == 2
    assert "30 nodes of ZooKeeper are others', who may change them: " in caplog.text
    assert "/c/26 ..." in caplog.text


def test_the_end_of_the_session_is_its_end() -> None:
    runtime, session = SimulatedRuntime(seed=1), Session()
    protection = NodeProtection(runtime, session, lambda: True, MemoryFileSystem(runtime))
    session.problem = LockLost("over")

    def body() -> None:
        protection.start()
        runtime.sleep(100.0)
        protection.stop()

    runtime.run(body)
    assert session.rounds == 1


class FullDisk(MemoryFileSystem):
    """Takes no file for a while."""

    full = True

    def write_file(self, path: str, data: bytes) -> None:
        if self.full:
            raise StorageFailed("no space is left")
        super().write_file(path, data)


def test_the_folder_remembers_that_every_node_is_protected_and_not_before(caplog: pytest.LogCaptureFixture) -> None:
    runtime, session = SimulatedRuntime(seed=1), Session()
    fs = FullDisk(runtime)
    session.problem, session.others = Unavailable("ZooKeeper is away"), ["/c/his"]
    protection = NodeProtection(runtime, session, lambda: True, fs)

    def body() -> None:
        fs.put_new(ID_FILE, b"7" * 32)
        protection.start()
        runtime.sleep(10.0)
        session.problem = None
        runtime.sleep(10.0)
        fs.full = False
        runtime.sleep(10.0)
        assert not fs.exists(PROTECTION_MARK)
        fs.full, session.others = True, []
        runtime.sleep(700.0)
        assert not fs.exists(PROTECTION_MARK)
        fs.full = False
        runtime.sleep(10.0)
        assert fs.read_file(PROTECTION_MARK) == b"7" * 32
        protection.stop()

    with caplog.at_level(logging.WARNING):
        runtime.run(body)
    assert caplog.text.count("does not say yet that nodes are protected; tried again: no space is left") == 1


def test_a_master_that_protects_no_node_says_nothing_to_the_folder() -> None:
    runtime, session = SimulatedRuntime(seed=1), Session()
    fs, session.open, session.protects = MemoryFileSystem(runtime), [], False
    protection = NodeProtection(runtime, session, lambda: True, fs)

    def body() -> None:
        protection.start()
        runtime.sleep(10.0)
        protection.stop()
        assert session.rounds == 1
        assert not fs.exists(PROTECTION_MARK)

    runtime.run(body)
