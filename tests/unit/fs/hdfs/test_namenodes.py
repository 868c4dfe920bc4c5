"""Several NameNodes over the native protocol: the active one is found, and one that was deposed is not believed."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from hbtable.errors import Stalled, Unavailable
from hbtable.fs.hdfs.client import NativeReader, NativeWriter
from hbtable.fs.hdfs.namenodes import ActiveNameNode
from hbtable.testing.fake_hdfs.native_client import FakeStatus
from hbtable.testing.simulated.runtime import SimulatedRuntime

ROOT = "/hbtable"
STANDBY = 'RPCError("org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported")'
FORBIDDEN = 'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=ann, access=WRITE")'


class Journal:
    """What the two NameNodes share."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.runtime = runtime
        self.files = {ROOT: 0}
        self.writer = "one"


class FakeNameNode:
    """A NativeClient of one NameNode. `state`: active, standby, deposed (believes that it is active), frozen, dead."""

    def __init__(self, name: str, journal: Journal, state: str) -> None:
        self.name = name
        self.journal = journal
        self.state = state
        self.known: dict[str, int] = {}
        self.edits = 0
        self.loses_answers = False
        self.answers_late = False
        self.keeps_times_of_access = self.may_edit = True

    def depose(self) -> None:
        """It is frozen meanwhile, and thawed now."""
        self.known = dict(self.journal.files)
        self.state = "deposed"

    def _files(self) -> dict[str, int]:
        self._reach()
        return self.known if self.state == "deposed" else self.journal.files

    def _edit(self, change: Callable[[dict[str, int]], None]) -> None:
        self._reach()
        if not self.may_edit:
            raise RuntimeError(FORBIDDEN)
        if self.state == "deposed":
            self.state = "dead"
            raise OSError("Connection reset by peer (os error 104)")
        change(self.journal.files)
        self.edits += 1
        if self.answers_late:
            self.journal.runtime.sleep(1.0)
        if self.loses_answers:
            self.state = "dead"
            raise OSError("Connection reset by peer (os error 104)")

    def _reach(self) -> None:
        while self.state == "frozen":
            self.journal.runtime.sleep(0.1)
        if self.state == "dead":
            raise OSError("Connection refused (os error 111)")
        if self.state == "standby":
            raise RuntimeError(STANDBY)

    def get_file_info(self, path: str) -> FakeStatus:
        files = self._files()
        if path not in files:
            raise FileNotFoundError(path)
        return FakeStatus(path, files[path], False, 0)

    def list_status(self, path: str, recursive: bool) -> list[FakeStatus]:
        return [FakeStatus(name, size, False, 0) for name, size in self._files().items() if name != ROOT]

    def read(self, path: str) -> NativeReader:
        self.get_file_info(path)
        raise AssertionError("nothing is read here")

    def create(self, path: str, replication: int) -> NativeWriter:
        if path in self._files():
            raise FileExistsError(path)
        self._edit(lambda files: files.update({path: 0}))
        return Writer()

    def recover_lease(self, path: str) -> bool:
        return path in self._files()

    def mkdirs(self, path: str) -> None:
        if path not in self._files():
            self._edit(lambda files: files.update({path: 0}))

    def rename(self, source: str, target: str, overwrite: bool) -> NoReturn:
        raise FileNotFoundError(source)

    def delete(self, path: str, recursive: bool) -> bool:
        if path not in self._files():
            return False
        self._edit(lambda files: files.pop(path) and None)
        return True

    def set_times(self, path: str, modified_millis: int, accessed_millis: int) -> None:
        if not self.keeps_times_of_access and accessed_millis != 2**64 - 1:
            raise RuntimeError('RPCError("java.io.IOException", "Access time for hdfs is not configured.")')
        if path not in self._files():
            raise FileNotFoundError(path)
        self._edit(lambda files: None)


class Writer:
    """A file being written, of which nothing is asked."""

    def write(self, data: bytes) -> int:
        return len(data)

    def hsync(self) -> None: ...
    def close(self) -> None: ...


class World:
    """Two NameNodes, of which the first is active, and one process that asks them."""

    def __init__(self, looks_only: bool = False) -> None:
        self.runtime = SimulatedRuntime(1)
        self.journal = Journal(self.runtime)
        self.one = FakeNameNode("one", self.journal, "active")
        self.two = FakeNameNode("two", self.journal, "standby")
        self.client = ActiveNameNode(
            {"one:8020": self.one, "two:8020": self.two},
            ROOT,
            self.runtime.clock_seconds,
            self.runtime.wall_millis,
            looks_only,
        )

    def fail_over(self) -> None:
        """The first one is frozen, the second becomes active, the first wakes and has not noticed."""
        self.one.depose()
        self.two.state = "active"

    def run(self, body: Callable[[], None]) -> None:
        self.runtime.run(body)


def test_the_active_one_is_found_and_remembered() -> None:
    world = World()
    world.one.state, world.two.state = "standby", "active"

    def body() -> None:
        world.client.create("/hbtable/a", 2)
        for _ in range(5):
            world.client.get_file_info("/hbtable/a")
        assert world.two.edits == 2, "it proves once that it is active"

    world.run(body)


def test_a_namenode_that_keeps_no_times_of_access_is_asked_for_none() -> None:
    world = World()
    world.one.keeps_times_of_access = False

    def body() -> None:
        world.client.mkdirs("/hbtable/a")
        with pytest.raises(FileNotFoundError):
            world.client.get_file_info("/hbtable/b")

    world.run(body)


def test_no_folder_is_made_by_asking() -> None:
    """A mistyped address made an empty folder."""
    world = World()
    world.journal.files = {"/": 0}

    def body() -> None:
        with pytest.raises(FileNotFoundError):
            world.client.get_file_info("/hbtable/a")
        assert world.journal.files == {"/": 0}
        assert world.one.edits == 2, "before the answer, and after it"
        world.fail_over()
        world.two.mkdirs(ROOT)
        assert world.client.get_file_info(ROOT).path == ROOT

    world.run(body)


def test_who_only_looks_changes_nothing() -> None:
    """And may have no right to."""
    world = World(looks_only=True)
    world.one.may_edit = False

    def body() -> None:
        assert world.client.get_file_info(ROOT).path == ROOT
        with pytest.raises(FileNotFoundError):
            world.client.get_file_info("/hbtable/a")
        assert list(world.client.list_status(ROOT, True)) == []
        world.two.state = "dead"
        with pytest.raises(FileNotFoundError):
            world.client.get_file_info("/hbtable/a")
        world.one.state, world.two.state = "standby", "active"
        world.two.create("/hbtable/a", 2)
        assert world.client.get_file_info("/hbtable/a").path == "/hbtable/a"
        assert (world.one.edits, world.two.edits) == (0, 1)

    world.run(body)


def test_who_only_looks_believes_neither_of_two_that_say_that_they_are_active() -> None:
    world = World(looks_only=True)

    def body() -> None:
        world.client.get_file_info(ROOT)
        world.fail_over()
        world.two.create("/hbtable/marker", 2)
        with pytest.raises(Unavailable, match="two:8020 says that it is active as one:8020 does: one of them was depo"):
            world.client.get_file_info("/hbtable/marker")
        world.one.state = "standby"
        assert world.client.get_file_info("/hbtable/marker").path == "/hbtable/marker"

    world.run(body)


def test_who_only_looks_waits_once_for_a_frozen_one() -> None:
    world = World(looks_only=True)
    world.two.state = "frozen"

    def body() -> None:
        first = world.runtime.spawn(world.client.get_file_info, ROOT)
        world.runtime.sleep(3.0)
        assert not first.join(0.0)
        assert world.client.get_file_info(ROOT).path == ROOT
        world.two.state = "standby"
        assert first.join(60.0)

    world.run(body)


@pytest.mark.parametrize("question", ["status", "listing", "delete", "read"])
def test_one_that_was_deposed_does_not_say_that_something_is_not_there(question: str) -> None:
    world = World()

    def body() -> None:
        world.client.mkdirs("/hbtable/before")
        world.fail_over()
        world.two.create("/hbtable/marker", 2)
        if question == "status":
            assert world.client.get_file_info("/hbtable/marker").path == "/hbtable/marker"
        elif question == "listing":
            assert "/hbtable/marker" in [one.path for one in world.client.list_status(ROOT, True)]
        elif question == "delete":
            assert world.client.delete("/hbtable/marker", False)
        else:
            with pytest.raises(AssertionError, match="nothing is read here"):
                world.client.read("/hbtable/marker")
        assert world.one.state == "dead", "the edit that it was asked for ended it"

    world.run(body)


def test_what_is_not_there_is_not_there() -> None:
    world = World()

    def body() -> None:
        with pytest.raises(FileNotFoundError):
            world.client.get_file_info("/hbtable/marker")
        assert not world.client.delete("/hbtable/marker", False)
        assert list(world.client.list_status(ROOT, True)) == []

    world.run(body)


def test_one_that_was_deposed_is_not_gone_back_to() -> None:
    """Not even where the active one cannot be reached."""
    world = World()

    def body() -> None:
        world.client.mkdirs("/hbtable/before")
        world.fail_over()
        world.one.state = "dead"
        world.client.create("/hbtable/a", 2)
        world.one.state = "deposed"
        world.two.state = "dead"
        with pytest.raises(Unavailable, match="none of the NameNodes one:8020, two:8020 is active now"):
            world.client.get_file_info("/hbtable/before")

    world.run(body)


def test_a_frozen_one_is_left_and_its_late_answer_does_not_count() -> None:
    world = World()

    def body() -> None:
        world.client.mkdirs("/hbtable/before")
        world.one.state = "frozen"
        found: list[str] = []
        waiting = world.runtime.spawn(lambda: found.append(world.client.get_file_info("/hbtable/marker").path))
        world.runtime.sleep(3.0)
        world.two.state = "active"
        world.client.create("/hbtable/marker", 2)
        assert world.journal.files["/hbtable/marker"] == 0
        world.one.known = {ROOT: 0}
        world.one.state = "deposed"
        assert waiting.join(60.0)
        assert found == ["/hbtable/marker"]

    world.run(body)


def test_a_frozen_one_without_another_is_waited_for() -> None:
    world = World()

    def body() -> None:
        world.client.mkdirs("/hbtable/before")
        world.one.state = "frozen"
        first = world.runtime.spawn(world.client.get_file_info, "/hbtable/before")
        world.runtime.sleep(3.0)
        second = world.runtime.spawn(world.client.get_file_info, "/hbtable/before")
        world.runtime.sleep(3.0)
        world.one.state = "active"
        for waiting in (first, second):
            assert waiting.join(60.0)
            assert waiting.error is None

    world.run(body)


def test_a_create_without_an_answer_is_not_taken_for_somebody_elses() -> None:
    world = World()

    def body() -> None:
        world.client.mkdirs("/hbtable/before")
        world.one.loses_answers = True
        world.two.state = "active"
        with pytest.raises(Stalled, match="an earlier try may have been applied"):
            world.client.create("/hbtable/a", 2)
        with pytest.raises(FileExistsError):
            world.client.create("/hbtable/a", 2)

    world.run(body)


@pytest.mark.parametrize("call", ["create", "delete"])
def test_what_was_done_is_not_done_again_because_another_call_lost_its_connection(call: str) -> None:
    world = World()

    def body() -> None:
        client = world.client
        client.create("/hbtable/before", 2)
        world.one.answers_late = True
        done: list[object] = []

        def work() -> None:
            done.append(client.create("/hbtable/a", 2) if call == "create" else client.delete("/hbtable/before", False))

        waiting = world.runtime.spawn(work)
        world.runtime.sleep(0.5)
        world.one.state = world.two.state = "dead"
        with pytest.raises(Unavailable):
            client.get_file_info("/hbtable/before")
        world.one.state, world.one.answers_late = "active", False
        edits = world.one.edits
        assert waiting.join(60.0)
        assert waiting.error is None
        assert done[0]
        assert world.one.edits == edits, "nothing was asked again"

    world.run(body)
