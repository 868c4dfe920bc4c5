"""Who lives and what each serves: whoever asks for one table learns of the others by earlier answers."""

import pytest

from hbtable.errors import Unavailable, UnsupportedFormat
from hbtable.lockservice.paths import ServerFile, server_file, server_lock
from hbtable.master.servers.server_reports import ReportCollector
from hbtable.model.ranges import RowRange
from hbtable.model.status import EVERY_TABLE, ServedChanges, TabletStatus
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def status(table_id: int, tablet_id: int, size: int = 0, version: int = 1) -> TabletStatus:
    record = TabletRecord(table_id=table_id, tablet_id=tablet_id, range=RowRange(b"", b""), created_millis=0)
    return TabletStatus(record, version, 0, size, 0, 0, 0)


class Server:
    """A TabletAdmin of a release that tells of no changes; `heeds`: the table that is asked for, as not all did."""

    def __init__(self, *served: TabletStatus) -> None:
        self.served = list(served)
        self.heeds = True
        self.silent = False
        self.told: list[int] = []

    def served_changes(self, since: int) -> ServedChanges:
        raise UnsupportedFormat("no such call")

    def tablets(self, table_id: int = EVERY_TABLE) -> list[TabletStatus]:
        if self.silent:
            raise Unavailable("no answer")
        found = [one for one in self.served if table_id in (EVERY_TABLE, one.record.table_id) or not self.heeds]
        self.told.append(len(found))
        return found


class Scene:
    """Servers with their locks and files. Acts as the transport."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.servers: dict[str, Server] = {}
        self.locks = MemoryLockService(runtime)
        self.session = self.locks.open_session("master")
        self.collector = ReportCollector(runtime, self.session, self)  # type: ignore[arg-type]

    def tablet_admin(self, name: str) -> Server:
        return self.servers[name]

    def start(self, name: str, *served: TabletStatus):
        session = self.locks.open_session(name)
        session.lock(server_lock(name))
        session.create(server_file(name), ServerFile("", 0).encode())
        self.servers[name] = Server(*served)
        return session

    def load(self, name: str, table_id: int = EVERY_TABLE):
        return self.collector.collect(table_id=table_id).loads[name]


@pytest.fixture
def scene_of():
    def run(body) -> None:
        runtime = SimulatedRuntime(1)
        runtime.run(lambda: body(Scene(runtime)))

    return run


def test_a_question_for_one_table_changes_only_what_is_known_of_that_table(scene_of):
    def body(scene):
        scene.start("a", status(METADATA_TABLE_ID, 1), status(16, 7, 100), status(16, 8, 10), status(17, 9, 1000))
        first = scene.load("a")
        assert (first.tablet_ids, first.sstable_bytes, first.user_tablets) == ({1, 7, 8, 9}, 1110, 3)
        server = scene.servers["a"]
        server.served = [status(METADATA_TABLE_ID, 1), status(16, 8, 20), status(16, 10, 5), status(17, 11, 1)]
        of_one = scene.load("a", 16)
        assert (of_one.tablet_ids, of_one.sstable_bytes, of_one.user_tablets) == ({1, 8, 10, 9}, 1025, 3)
        assert server.told == [4, 2]
        server.served = [status(METADATA_TABLE_ID, 1)]
        assert scene.load("a", 16).tablet_ids == {1, 9}
        assert scene.load("a").tablet_ids == {1}

    scene_of(body)


def test_a_server_that_was_not_asked_before_tells_everything(scene_of):
    def body(scene):
        scene.start("a", status(16, 7), status(17, 9))
        assert scene.load("a", 16).tablet_ids == {7, 9}
        scene.start("b", status(18, 12), status(16, 13))
        assert scene.load("b", 16).tablet_ids == {12, 13}
        assert scene.servers["a"].told == [2, 1]
        assert scene.servers["b"].told == [2]

    scene_of(body)


def test_an_older_release_that_answers_with_every_table_is_believed(scene_of):
    def body(scene):
        scene.start("a", status(16, 7), status(17, 9))
        server = scene.servers["a"]
        server.heeds = False
        scene.load("a")
        server.served = [status(17, 9), status(17, 10)]
        assert scene.load("a", 16).tablet_ids == {9, 10}

    scene_of(body)


def test_the_dead_are_forgotten_and_the_silent_are_not(scene_of):
    def body(scene):
        life = scene.start("a", status(16, 7), status(17, 9))
        scene.load("a")
        scene.servers["a"].silent = True
        reports = scene.collector.collect(table_id=16)
        assert (reports.silent, reports.loads, reports.oldest_schemas) == ({"a"}, {}, {})
        scene.servers["a"].silent = False
        assert scene.load("a", 16).tablet_ids == {7, 9}
        life.close()
        assert scene.collector.collect(table_id=16).living == frozenset()
        assert scene.collector._known == {}

    scene_of(body)


def test_the_oldest_schema_of_each_table_is_told(scene_of):
    def body(scene):
        scene.start("a", status(16, 7, version=3), status(16, 8, version=2), status(17, 9, version=5))
        assert scene.collector.collect().oldest_schemas == {"a": {16: 2, 17: 5}}
        assert scene.collector.collect(table_id=16).oldest_schemas == {"a": {16: 2, 17: 5}}

    scene_of(body)
