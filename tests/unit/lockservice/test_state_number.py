"""The state number: files that are behind the lock service were put back; nothing else makes them look so."""

import pytest

from hbtable.errors import Corruption, Unavailable, UnsupportedFormat
from hbtable.fs.memory import MemoryFileSystem
from hbtable.lockservice import state_number
from hbtable.lockservice.state_number import (
    STATE_FOLDER,
    STATE_NUMBER,
    StateNumber,
    count_up,
    of_files,
    of_lock_service,
    older_files_of,
    refuse_older_files,
)
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.disks import disk_copy


class World:
    def __init__(self):
        self.runtime = SimulatedRuntime(1)
        self.fs = MemoryFileSystem(self.runtime)
        self.session = MemoryLockService(self.runtime).open_session("master")

    def count(self, times=1):
        for _ in range(times):
            count_up(self.runtime, self.session, self.fs)

    def paths(self):
        return [status.path for status in self.fs.list_files(STATE_FOLDER)]

    def check(self):
        refuse_older_files(self.session, self.fs)


def in_world(body):
    def test():
        world = World()
        world.runtime.run(body, world)

    test.__name__ = body.__name__
    return test


@in_world
def test_both_places_say_the_same_after_each_count(world):
    for number in (1, 2, 3):
        world.check()
        world.count()
        assert of_lock_service(world.session)[0].number == of_files(world.fs).number == number
        assert len(world.paths()) == 2
    world.check()


@in_world
def test_files_that_were_put_back_are_refused_with_both_times(world):
    world.count()
    world.runtime.sleep(60)
    then = disk_copy(world.fs.disk).files
    world.count()
    world.runtime.sleep(60)
    world.count()
    world.fs.disk.files.clear()
    world.fs.disk.files.update(then)
    with pytest.raises(Corruption, match=r"as of state 1, 2023-.*as of state 3, 2023-.*`hbtable repair`") as refused:
        world.check()
    assert refused.value.path == STATE_FOLDER
    with pytest.raises(Corruption):
        world.count()
    assert of_files(world.fs).number == 1, "and nothing hides it"


@in_world
def test_files_from_before_there_was_a_number_are_refused(world):
    world.count()
    world.fs.delete_folder(STATE_FOLDER)
    with pytest.raises(Corruption, match="before there was a state number"):
        world.check()


@in_world
def test_one_lost_or_damaged_file_closes_nothing(world):
    world.count(2)
    for path in world.paths():
        content = world.fs.read_file(path)
        for damaged in (b"", content[:-3], b"x" * 100, None):
            if damaged is None:
                world.fs.delete(path)
            else:
                world.fs.write_file(path, damaged)
            world.check()
            assert of_files(world.fs).number == 2
        world.fs.write_file(path, content)
    world.count()
    assert len(world.paths()) == 2


@in_world
def test_a_lock_service_that_is_behind_or_has_lost_its_file_closes_nothing(world):
    world.count(3)
    for data in (None, StateNumber(1, 5).encode(), b"{", b"[]", b""):
        file = world.session.read(STATE_NUMBER)
        if data is None:
            world.session.delete(STATE_NUMBER)
        else:
            world.session.write(STATE_NUMBER, data, file.version)
        world.check()
        highest = of_files(world.fs).number
        world.count()
        assert of_lock_service(world.session)[0].number == highest + 1


@in_world
def test_what_a_deposed_master_writes_late_closes_nothing(world):
    """It had begun to count; its lock service session is over by now."""
    world.count()
    world.fs.put_new(f"{STATE_FOLDER}/{1:010d}-0000000f", StateNumber(1, 7).encode())
    world.check()
    world.count()
    world.fs.put_new(f"{STATE_FOLDER}/{9:010d}-0000000f", StateNumber(9, 7).encode())
    world.check()
    world.count()
    world.check()
    assert of_files(world.fs).number == 10


def test_no_crash_while_it_counts_closes_anything(monkeypatch):
    """After each of its calls that changes something, and before it."""
    for calls in range(10):
        world = World()

        def body(world=world, calls=calls):
            world.count(2)
            left = calls

            def counted(change):
                def call(*arguments):
                    nonlocal left
                    left -= 1
                    if left < 0:
                        raise EOFError
                    return change(*arguments)

                return call

            for where, name in ((world.fs, "put_new"), (world.fs, "delete"), (world.session, "write")):
                monkeypatch.setattr(where, name, counted(getattr(where, name)))
            try:
                world.count()
            except EOFError:
                pass
            monkeypatch.undo()
            world.check()
            world.count()
            world.check()
            assert len(world.paths()) == 2

        world.runtime.run(body)


@in_world
def test_what_a_newer_hbtable_wrote_is_refused_by_name(world):
    world.session.create(STATE_NUMBER, b'{"format": 2, "number": 7}')
    with pytest.raises(UnsupportedFormat, match="state-number has the format 2"):
        world.check()
    with pytest.raises(UnsupportedFormat):
        world.count()


@in_world
def test_who_reads_the_lock_service_by_himself_is_told_the_same(world):
    assert older_files_of(None, world.fs) == ""
    world.count(2)
    file = world.session.read(STATE_NUMBER)
    assert older_files_of(file, world.fs) == ""
    assert older_files_of(file._replace(data=b"?"), world.fs) == ""
    world.fs.delete_folder(state_number.STATE_FOLDER)
    assert "the lock service is as of state 2" in older_files_of(file, world.fs)


@in_world
def test_a_file_that_cannot_be_read_costs_the_message_its_time_alone(world):
    """As one that a killed master left open in HDFS."""
    world.count()
    path, _ = world.paths()

    def unreadable(path):
        raise Unavailable(f"{path} is being written")

    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(world.fs, "read_file", unreadable)
    world.check()
    world.count()
    world.fs.delete_folder(STATE_FOLDER)
    monkeypatch.undo()
    world.fs.write_file(path, b"")
    with pytest.raises(Corruption, match=r"the files are as of state 1, and"):
        world.check()
