"""The promises of lockservice.interface, as tests of whatever the fixture `adapter` gives: imported by tests/ports for
the adapters of one process and by cluster-tests for a real ZooKeeper."""

from collections.abc import Callable

import pytest

from hbtable.errors import AlreadyExists, Conflict, FileNotFound, InvalidRequest, LimitExceeded, LockLost
from hbtable.lockservice.interface import LockService, Session, VersionedFile
from hbtable.runtime.interface import Runtime
from tests.harness.waiting import RunningTime


class Adapter:
    """A lock service, what it is like after a restart, and how to run a test's body where it may switch."""

    def __init__(
        self, service: LockService, restarted: Callable[[], LockService], runtime: Runtime, run: Callable[..., None]
    ) -> None:
        self.service = service
        self.restarted = restarted
        self.runtime = runtime
        self.run = run
        self.settle_seconds = 0.01
        """After so long nothing more follows from a change."""


def test_a_file_is_created_read_written_and_deleted(adapter: Adapter) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        session.create("/root-tablet", b"first")
        assert session.read("/root-tablet") == (b"first", 1)
        assert session.write("/root-tablet", b"second", 1) == 2
        assert session.write("/root-tablet", b"", 2) == 3
        assert session.read("/root-tablet") == (b"", 3)
        session.delete("/root-tablet", 3)
        with pytest.raises(FileNotFound):
            session.read("/root-tablet")
        session.create("/root-tablet", b"again")
        assert session.read("/root-tablet") == (b"again", 1)
        session.delete("/root-tablet")

    adapter.run(body)


def test_errors_name_the_path_and_change_nothing(adapter: Adapter) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        session.create("/a", b"1")
        with pytest.raises(AlreadyExists, match="/a"):
            session.create("/a", b"2")
        with pytest.raises(Conflict, match="/a has version 1, not 7"):
            session.write("/a", b"2", 7)
        with pytest.raises(Conflict, match="/a"):
            session.delete("/a", 2)
        assert session.read("/a") == (b"1", 1)
        for call in (lambda: session.read("/b"), lambda: session.write("/b", b"", 1), lambda: session.delete("/b")):
            with pytest.raises(FileNotFound, match="/b"):
                call()

    adapter.run(body)


def test_of_many_compare_and_sets_one_wins_each_round(adapter: Adapter) -> None:
    runtime = adapter.runtime
    conflicts: list[int] = []

    def add(session: Session) -> None:
        for _ in range(5):
            while True:
                file = session.read("/counter")
                try:
                    session.write("/counter", b"%d" % (int(file.data) + 1), file.version)
                    break
                except Conflict:
                    conflicts.append(1)

    def body() -> None:
        sessions = [adapter.service.open_session(f"s{number}") for number in range(4)]
        sessions[0].create("/counter", b"0")
        tasks = [runtime.spawn(add, session) for session in sessions]
        for task in tasks:
            task.join()
            assert task.error is None
        assert sessions[0].read("/counter") == (b"20", 21)

    adapter.run(body)


def test_files_survive_a_restart(adapter: Adapter) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        session.create("/a/b.c", b"kept")
        session.write("/a/b.c", b"\x00\xff" * 1000, 1)
        session.create("/gone", b"")
        session.delete("/gone")
        next_session = adapter.restarted().open_session("me")
        assert next_session.read("/a/b.c") == (b"\x00\xff" * 1000, 2)
        assert next_session.list("/") == ["a"]
        assert next_session.session_id != session.session_id

    adapter.run(body)


def test_a_lock_has_one_holder_until_it_is_unlocked(adapter: Adapter) -> None:
    def body() -> None:
        mine, other = adapter.service.open_session("mine"), adapter.service.open_session("other")
        assert mine.holder("/master") is None
        mine.lock("/master", b"host:1")
        held = other.holder("/master")
        assert held is not None
        assert held.data == b"host:1"
        with pytest.raises(Conflict, match=f"held by {mine.session_id}"):
            other.lock("/master", b"host:2")
        other.unlock("/master")
        assert other.holder("/master") is not None, "only its holder frees a lock"
        mine.unlock("/master")
        assert other.holder("/master") is None
        other.lock("/master", b"host:2")

    adapter.run(body)


def test_epochs_of_a_lock_grow_with_each_holder_and_over_restarts(adapter: Adapter) -> None:
    def body() -> None:
        epochs = []
        for name in ("a", "b"):
            session = adapter.service.open_session(name)
            epochs.append(session.lock("/master"))
            held = session.holder("/master")
            assert held is not None
            assert held.version == epochs[-1], "everybody sees it"
            session.unlock("/master")
            epochs.append(session.lock("/master"))
            session.close()
        for _ in range(2):
            session = adapter.restarted().open_session("c")
            epochs.append(session.lock("/master"))
        assert epochs == sorted(set(epochs))

    adapter.run(body)


def test_taking_a_lock_one_holds_gives_the_same_epoch(adapter: Adapter) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        epoch = session.lock("/a", b"1")
        assert session.lock("/a", b"2") == epoch
        assert session.holder("/a") == VersionedFile(b"2", epoch)

    adapter.run(body)


def test_only_one_of_many_takes_a_lock(adapter: Adapter) -> None:
    runtime = adapter.runtime
    won: list[str] = []

    def take(session: Session) -> None:
        try:
            session.lock("/master")
        except Conflict:
            return
        won.append(session.session_id)

    def body() -> None:
        sessions = [adapter.service.open_session("s") for _ in range(5)]
        assert len({session.session_id for session in sessions}) == 5
        for task in [runtime.spawn(take, session) for session in sessions]:
            task.join()
            assert task.error is None
        assert len(won) == 1

    adapter.run(body)


def test_the_end_of_a_session_frees_its_locks_and_stops_it(adapter: Adapter) -> None:
    def body() -> None:
        mine, other = adapter.service.open_session("mine"), adapter.service.open_session("other")
        mine.lock("/servers/a")
        mine.lock("/servers/b")
        assert mine.valid()
        mine.close()
        assert not mine.valid()
        mine.close()
        assert other.list("/servers") == []
        other.lock("/servers/a")
        calls: list[Callable[[], object]] = [
            lambda: mine.lock("/x"),
            lambda: mine.unlock("/servers/a"),
            lambda: mine.holder("/servers/a"),
            lambda: mine.create("/x", b""),
            lambda: mine.read("/x"),
            lambda: mine.write("/x", b"", 1),
            lambda: mine.delete("/x"),
            lambda: mine.list("/"),
        ]
        for call in calls:
            with pytest.raises(LockLost, match=mine.session_id):
                call()
        assert other.holder("/servers/a") is not None

    adapter.run(body)


def test_locks_do_not_survive_a_restart(adapter: Adapter) -> None:
    def body() -> None:
        adapter.service.open_session("old").lock("/master")
        adapter.restarted().open_session("new").lock("/master")

    adapter.run(body)


def test_a_path_is_a_file_or_a_lock(adapter: Adapter) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        session.create("/file", b"")
        session.lock("/lock")
        with pytest.raises(Conflict):
            session.lock("/file")
        with pytest.raises(AlreadyExists):
            session.create("/lock", b"")

    adapter.run(body)


def test_list_shows_the_names_right_below(adapter: Adapter) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        for path in ("/servers/b", "/servers/a.1/deep/er", "/serversx", "/other"):
            session.create(path, b"")
        session.lock("/servers/b.lock")
        session.lock("/locks/x")
        assert session.list("/servers") == ["a.1", "b", "b.lock"]
        assert session.list("/servers/a.1") == ["deep"]
        assert session.list("/") == ["locks", "other", "servers", "serversx"]
        assert session.list("/nothing") == []

    adapter.run(body)


def test_a_file_and_a_folder_may_share_a_name_and_escapes_do_not_collide(adapter: Adapter) -> None:
    paths = ["/a", "/a/b", "/a.b", "/a.s", "/a.s/b", "/.sa", "/a.d", "/a../b", "/A", "/a-_b"]

    def body() -> None:
        session = adapter.service.open_session("me")
        for path in paths:
            session.create(path, path.encode())
        after = adapter.restarted().open_session("me")
        assert [after.read(path).data.decode() for path in paths] == paths

    adapter.run(body)


def test_a_watch_is_called_after_changes_below_its_folder(adapter: Adapter) -> None:
    runtime = adapter.runtime
    calls: list[str] = []

    def wait_for(wanted: set[str]) -> None:
        """All of it comes soon, and nothing else a while later."""
        deadline = runtime.clock_seconds() + 60
        while not wanted <= set(calls) and runtime.clock_seconds() < deadline:
            runtime.sleep(0.0005)
        settled = RunningTime(runtime.clock_seconds, runtime.sleep)
        while settled.seconds() < adapter.settle_seconds:
            settled.pause(adapter.settle_seconds / 10)  # a call on its way may come late when this machine stood still
        assert set(calls) == wanted

    def body() -> None:
        watcher, other = adapter.service.open_session("watcher"), adapter.service.open_session("other")
        watcher.watch("/servers", lambda: calls.append("servers"))
        watcher.watch("/", lambda: calls.append("all"))
        changes: list[Callable[[], object]] = [
            lambda: other.create("/servers/a", b""),
            lambda: other.write("/servers/a", b"", 1),
            lambda: other.lock("/servers/deep/b"),
            lambda: other.unlock("/servers/deep/b"),
            lambda: other.delete("/servers/a"),
        ]
        for change in changes:
            calls.clear()
            change()
            wait_for({"servers", "all"})
        calls.clear()
        other.create("/serversx", b"")
        wait_for({"all"})
        calls.clear()
        other.lock("/servers/c")
        wait_for({"servers", "all"})
        calls.clear()
        other.close()  # a lock that vanishes with its session is a change
        wait_for({"servers", "all"})
        watcher.close()
        calls.clear()
        adapter.service.open_session("third").create("/servers/d", b"")
        wait_for(set())  # a session that is over is called no more

    adapter.run(body)


def test_a_watch_sees_the_change_it_is_called_for(adapter: Adapter) -> None:
    """The last call comes after the last change is visible: re-reading then shows everything."""
    runtime = adapter.runtime
    seen: list[list[str]] = []

    def body() -> None:
        watcher, other = adapter.service.open_session("watcher"), adapter.service.open_session("other")
        watcher.watch("/s", lambda: seen.append(watcher.list("/s")))
        for number in range(10):
            other.create(f"/s/{number}", b"")
        deadline = runtime.clock_seconds() + 60
        while (not seen or len(seen[-1]) < 10) and runtime.clock_seconds() < deadline:
            runtime.sleep(0.001)
        assert seen[-1] == [str(number) for number in range(10)]

    adapter.run(body)


@pytest.mark.parametrize("path", ["", "a", "/", "//a", "/a/", "/a//b", "/..", "/a/../b", "/ä", "/a b", "/a\n"])
def test_malformed_paths_are_refused(adapter: Adapter, path: str) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        for call in (session.lock, session.unlock, session.holder, session.read, session.delete):
            with pytest.raises(InvalidRequest):
                call(path)
        with pytest.raises(InvalidRequest):
            session.create(path, b"")

    adapter.run(body)


def test_files_are_small(adapter: Adapter) -> None:
    def body() -> None:
        session = adapter.service.open_session("me")
        session.create("/a", bytes(1_000_000))
        with pytest.raises(LimitExceeded, match="/b"):
            session.create("/b", bytes(1_000_001))
        with pytest.raises(LimitExceeded):
            session.write("/a", bytes(1_000_001), 1)
        with pytest.raises(InvalidRequest):
            session.create("/" + "x" * 300, b"")

    adapter.run(body)
