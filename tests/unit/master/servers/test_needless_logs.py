"""Which logs may be emptied on a full disk: those that records name and of which they need nothing."""

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.recovered_edits import recovered
from hbtable.commitlog.segments.segment import log_folder
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.files.garbage import MetadataScan
from hbtable.master.servers.needless_logs import empty_needless_logs
from hbtable.master.tablets.ownership import assigned
from hbtable.metrics.registry import Registry
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import LogRef, TabletRecord
from hbtable.repair.evidence import Evidence, _log_damage
from hbtable.testing.simulated.runtime import SimulatedRuntime

DEAD = "00000001-dead"
FOLDER = log_folder(DEAD)
KEY = b"row\x00\x01f\x00q\x00\x01" + bytes(8) + b"\x01" + bytes(9)


class World:
    """A log of several segments with sequences 1 to 40 of tablets 1 and 2."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime(1)
        self.fs = MemoryFileSystem(self.runtime)
        self.runtime.run(self._write)
        self.expired: list[str] = []

    def _write(self) -> None:
        log = LogWriter(self.runtime, self.fs, FOLDER, LogOptions(segment_bytes=2000), Registry())
        for sequence in range(1, 41):
            for tablet in (1, 2):
                record = encode_record(tablet, 1, sequence, 0, [(KEY, bytes(100))])
                log.commit(tablet, sequence, record, lambda: None)
        self.runtime.sleep(10)

    def files(self) -> list[str]:
        return [status.path for status in self.fs.list_files(FOLDER)]

    def emptied(self, *records: TabletRecord, living: tuple[str, ...] = (), dead: bool = True) -> set[str]:
        def expire(name: str) -> bool:
            self.expired.append(name)
            return dead

        return self.runtime.run(
            empty_needless_logs, self.fs, MetadataScan(records), expire, living, lambda: self.runtime.sleep(0)
        )


def record(tablet_id: int, first_needed: int) -> TabletRecord:
    return TabletRecord(7, tablet_id, RowRange(b"", b""), 0, logs=(LogRef(DEAD, first_needed),))


@pytest.mark.parametrize(("first", "second"), [(40, 41), (41, 40), (1, 1)])
def test_a_log_stays_of_which_one_record_is_needed(first: int, second: int) -> None:
    world = World()
    before = world.files()
    assert len(before) > 4
    assert world.emptied(record(1, first), record(2, second)) == set()
    assert world.files() == before


def test_a_log_of_which_nothing_is_needed_is_empty_for_whoever_still_names_it() -> None:
    world = World()
    tablets = [record(1, 41), record(2, 50), record(3, 1)]
    assert world.emptied(*tablets) == {DEAD}
    assert world.expired == [DEAD]
    assert world.files() == [f"{FOLDER}/sorted/complete"]
    assert world.runtime.run(lambda: list(recovered(world.fs, FOLDER, 1, 0))) == []
    found = Evidence()
    assert world.runtime.run(_log_damage, world.fs, FOLDER, found, lambda: None) == ""
    assert found.metadata_records == {DEAD: []}, "a repair asks for them"
    assert world.emptied(*tablets) == {DEAD}, "the next start does not know it"
    assert assigned(tablets[1], "new", {DEAD}).logs == (LogRef("new", 50),)


def test_a_crash_while_it_is_emptied_leaves_nothing_that_looks_damaged() -> None:
    whole = World()
    for left in range(len(whole.files()) + 1):
        world = World()
        delete, deleted = world.fs.delete, []

        def crashing(path: str, left: int = left, delete=delete, deleted=deleted) -> None:
            if len(deleted) == left:
                raise KeyboardInterrupt
            deleted.append(path)
            delete(path)

        object.__setattr__(world.fs, "delete", crashing)
        try:
            world.emptied(record(1, 41), record(2, 41))
        except KeyboardInterrupt:
            pass
        object.__setattr__(world.fs, "delete", delete)
        assert world.runtime.run(_log_damage, world.fs, FOLDER, Evidence(), lambda: None) == "", deleted
        assert world.emptied(record(1, 41), record(2, 41)) == {DEAD}


def test_a_log_whose_server_lives_stays() -> None:
    world = World()
    before = world.files()
    assert world.emptied(record(1, 41), record(2, 41), living=(DEAD,)) == set()
    assert world.emptied(record(1, 41), record(2, 41), dead=False) == set()
    assert world.files() == before


def test_a_damaged_log_stays() -> None:
    world = World()
    path = next(path for path in world.files() if path.endswith(".log"))
    world.fs.disk.files[path].content[150] ^= 1
    before = world.files()
    assert world.emptied(record(1, 41), record(2, 41)) == set()
    assert world.files() == before
