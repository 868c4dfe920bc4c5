"""`hbtable check` reads a cluster's folder while the cluster serves, and takes nothing for damage that is none;
`hbtable repair` waits for every role to be down, ends the dead servers' logs, and leaves what the cluster starts on.

Over the production adapters of HDFS and their fakes: an open file of a dead server reads as on HDFS.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import HbtableError, InvalidRequest, LockLost, Unavailable
from hbtable.fs.interface import HDFS, WEBHDFS
from hbtable.launch.cli.check import DAMAGED, SOUND, UNSERVICEABLE
from hbtable.launch.cli.cluster_check import checked
from hbtable.launch.cli.cluster_repair import mended
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.paths import CLUSTER, MASTER
from hbtable.lockservice.state_number import of_files
from hbtable.metadata.catalog import ROOT_COPY_PATH
from hbtable.metadata.layout import ROOT_PATH
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.repair.backup import Backup
from hbtable.repair.lock_store import ClusterLockStore
from hbtable.repair.taking_back import take_back, unfinished
from tests.harness.disks import disk_copy
from tests.harness.sim_cluster import ClientProcess, SimCluster, SimOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quiet")]

KINDS = pytest.mark.parametrize("kind", [HDFS, pytest.param(WEBHDFS, marks=pytest.mark.verify)])
TABLE = b"t"
ROWS = [b"%03d" % number for number in range(60)]


class World:
    """A cluster, a program that uses it, and an operator's machine."""

    def __init__(self, seed: int, kind: str, fakes: bool = True) -> None:
        self.cluster = SimCluster(SimOptions(seed=seed, servers=2, masters=1, log_kind=kind, fakes=fakes))
        self.held: dict[bytes, bytes] = {}
        self.without_rows: set[int] = set()
        """Ids of tables that nothing but METADATA tells of."""
        self.program: ClientProcess
        self.operator: ClientProcess

    def run(self, body: Callable[[], None]) -> None:
        def all_of_it() -> None:
            self.cluster.start()
            self.program = self.cluster.add_client()
            self.operator = self.cluster.add_client()
            schema = TableSchema(TABLE, {b"f": FamilySchema(b"f", max_versions=1)})
            self.until_done(lambda: self.program.client.admin.create_table(schema, [b"020", b"040"]))
            self.write(b"first")
            self.in_program(lambda: self.program.client.admin.flush(TABLE))
            body()

        self.cluster.runtime.run(all_of_it)

    def in_program(self, act: Callable[[], Any]) -> Any:
        return self.cluster.in_process(self.program, act)

    def until_done(self, act: Callable[[], Any]) -> Any:
        while True:
            try:
                return self.in_program(act)
            except HbtableError:
                self.cluster.runtime.sleep(0.5)

    def until(self, reached: Callable[[], bool]) -> None:
        for _ in range(600):
            if reached():
                return
            self.cluster.runtime.sleep(0.1)
        raise AssertionError("a minute was not enough")

    def last_message(self) -> str:
        """Of the master that there is."""
        master = getattr(self.cluster.masters[0].process, "master", None)
        return master.last_message if master is not None else ""

    def write(self, value: bytes) -> None:
        for row in ROWS:
            self.until_done(lambda row=row: self.program.client.rows(TABLE).put(row, {b"f:v": value}))
            self.held[row] = value

    def until_metadata_is_flushed(self) -> None:
        """It has SSTables, and the root's record in the lock service names one: a check cannot know those that only the
        log of a server that is gone names, while nobody has ended that log."""
        for number in range(100):
            named = self.until_done(lambda: self.program.client.catalog.read_root().files)
            if named and len(self.paths("sstables/00000000")) > 1:
                return
            schema = TableSchema(b"more%d" % number, {b"f": FamilySchema(b"f")})
            self.until_done(lambda schema=schema: self.program.client.admin.create_table(schema, [b"a", b"b", b"c"]))
            made = self.until_done(lambda schema=schema: self.program.client.admin.record(schema.name))
            self.without_rows.add(made.table_id)
            self.cluster.runtime.sleep(1.0)
        raise AssertionError("METADATA was never flushed")

    def read(self) -> dict[bytes, bytes]:
        found = {}
        for row in ROWS:
            answer = self.until_done(lambda row=row: self.program.client.table(TABLE).read_rows([row], ReadSpec()))
            for _, cells in answer:
                found[row] = cells[0][2]
        return found

    def check(self) -> tuple[list[str], int, list[str]]:
        """(messages, exit code, notes)."""
        one = self.operator
        check, code = self.cluster.in_process(one, checked, one.runtime, one.fs, one.lease, one.transport)
        return [finding.message() for finding in check.findings], code, check.notes()

    def repair(self, **said: bool) -> list[str]:
        """What it did. The operator's session is a new one: what it was told to stop is down since."""
        self.cluster.in_process(self.operator, self.operator.reconnect)
        one = self.operator
        report = self.cluster.in_process(one, lambda: mended(one.runtime, one.fs, one.lease, **said)).report
        named = [one for one in report.lost if "kept in ZooKeeper alone" in one]
        kept = ("users", "rights", "quotas") if said.get("lock_service_lost") else ()
        assert all(word in one for word, one in zip(kept, named, strict=True))
        assert [one for one in report.lost if one not in named and not self._is_without_rows(one)] == []
        return report.done

    def _is_without_rows(self, lost: str) -> bool:
        """Of tables that nobody wrote to METADATA's files may be the only trace."""
        _, told, ids = lost.partition("tables of which no SSTable tells, unless they were dropped: their ids are ")
        return bool(told) and self.without_rows.issuperset(int(one) for one in re.findall(r"\d+", ids))

    def stop(self) -> None:
        """Every role is killed, and no lock is held any more."""
        self.cluster.down = True
        for slot in (*self.cluster.servers, *self.cluster.masters):
            slot.process.kill()
        self.cluster.runtime.sleep(5.0)
        self.cluster.in_process(self.operator, self.operator.reconnect)

    def start(self) -> None:
        self.cluster.down = False
        self.cluster.in_process(self.program, self.program.reconnect)

    def paths(self, folder: str) -> list[str]:
        return [status.path for status in self.operator.fs.list_files(folder)]

    def user_tables(self) -> list[str]:
        return [path for path in self.paths("sstables") if not path.startswith("sstables/00000000/")]

    def flip(self, path: str) -> None:
        def act() -> None:
            data = bytearray(self.operator.fs.read_file(path))
            data[len(data) // 3] ^= 1
            self.operator.fs.write_file(path, bytes(data))

        self.cluster.in_process(self.operator, act)


@KINDS
def test_a_cluster_that_serves_is_sound_whatever_comes_and_goes_under_the_check(kind: str) -> None:
    world = World(3, kind)

    def busy(going: list[bool]) -> None:
        number = 0
        while going:
            number += 1
            try:
                world.program.client.rows(TABLE).put(ROWS[number % len(ROWS)], {b"f:v": b"%d" % number * 100})
                if number % 40 == 0:
                    world.program.client.admin.flush(TABLE)
                if number % 90 == 0:
                    world.program.client.admin.major_compact(TABLE)
            except HbtableError:
                world.program.runtime.sleep(0.1)

    def body() -> None:
        going = [True]
        task = world.program.runtime.spawn(busy, going, name="busy")
        for number in range(4):
            assert world.check()[:2] == ([], SOUND)
            world.cluster.servers[number % 2].process.kill()  # it is started again; its log is fenced and sorted
        going.clear()
        task.join()

    world.run(body)


@KINDS
def test_damage_is_told_while_the_cluster_serves(kind: str) -> None:
    world = World(4, kind)

    def body() -> None:
        flipped, removed = world.user_tables()[:2]
        world.flip(flipped)
        world.operator.fs.delete(removed)
        messages, code, _ = world.check()
        assert code == DAMAGED
        assert len(messages) == 2
        assert all("belongs to table t" in message and "stop all roles" in message for message in messages)
        assert any(flipped in message for message in messages)
        assert any(removed in message for message in messages)

    world.run(body)


@KINDS
def test_a_repair_refuses_while_a_role_lives_and_holds_masters_off(kind: str) -> None:
    world = World(5, kind)

    def body() -> None:
        with pytest.raises(InvalidRequest, match="the cluster is not down: master that has"):
            world.repair()
        world.cluster.down = True
        world.cluster.masters[0].process.kill()
        world.cluster.runtime.sleep(5.0)
        with pytest.raises(InvalidRequest, match="the cluster is not down: tablet server 0"):
            world.repair()
        world.stop()
        assert world.operator.lease is not None
        world.operator.lease.lock(MASTER)  # another repair
        operator, world.operator = world.operator, world.cluster.add_client()
        with pytest.raises(InvalidRequest, match="another repair"):
            world.repair()
        operator.kill()

    world.run(body)


def lose_metadata(world: World) -> None:
    for path in world.paths("sstables/00000000"):
        world.operator.fs.delete(path)


def lose_root(world: World) -> None:
    assert world.operator.lease is not None
    world.operator.lease.delete(ROOT_PATH)
    world.operator.fs.delete(ROOT_COPY_PATH)


def lose_lock_service(world: World) -> None:
    store = ClusterLockStore(world.operator.lease)
    for path in store.paths():
        store.remove(path)


@KINDS
@pytest.mark.parametrize("lose", [lose_metadata, lose_root, lose_lock_service])
def test_what_was_acknowledged_is_there_after_the_repair(kind: str, lose: Callable[[World], None]) -> None:
    world = World(6, kind)

    def body() -> None:
        world.until_metadata_is_flushed()
        world.write(b"second")  # in logs, which nobody has ended
        world.stop()
        world.cluster.in_process(world.operator, lose, world)
        before = {path: world.operator.fs.status(path).length_bytes for path in world.paths("sstables")}
        assert world.check()[1] == UNSERVICEABLE if lose is not lose_metadata else world.check()[1] != SOUND
        lost = lose is lose_lock_service
        if lost:
            with pytest.raises(InvalidRequest, match="repeat with --lock-service-lost"):
                world.repair()
        if kind == HDFS:
            with pytest.raises(InvalidRequest, match="never closed"):
                world.repair(dry_run=True, lock_service_lost=lost)
        else:
            assert world.repair(dry_run=True, lock_service_lost=lost) != []
        assert {path: world.operator.fs.status(path).length_bytes for path in world.paths("sstables")} == before
        assert world.repair(lock_service_lost=lost) != []
        assert world.check()[:2] == ([], SOUND)
        world.start()
        assert world.read() == world.held
        world.write(b"third")
        assert world.read() == world.held

    world.run(body)


@KINDS
def test_files_that_were_put_back_below_a_newer_lock_service(kind: str) -> None:
    """As they were once they are sound: nothing but the lock service knows that something came since."""
    world = World(9, kind, fakes=False)

    def body() -> None:
        then, held = disk_copy(world.cluster.disk), dict(world.held)
        number = of_files(world.operator.fs).number
        world.cluster.servers[0].process.kill()
        world.write(b"second")
        world.until(lambda: of_files(world.operator.fs).number > number)
        world.stop()
        world.cluster.disk.files.clear()
        world.cluster.disk.files.update(then.files)
        world.start()
        world.until(lambda: "put back from a backup" in world.last_message())
        assert "`hbtable repair`" in world.last_message()
        with pytest.raises(HbtableError):
            world.in_program(world.program.client.admin.table_names)
        world.stop()
        messages, code, _ = world.check()
        assert code == UNSERVICEABLE
        assert any("put back from a backup" in message for message in messages)
        world.cluster.in_process(world.operator, world.operator.reconnect)
        one = world.operator
        report = world.cluster.in_process(one, lambda: mended(one.runtime, one.fs, one.lease)).report
        assert len(report.lost) == 1
        assert "everything that was written since: the files are as of state" in report.lost[0]
        assert world.check()[:2] == ([], SOUND)
        world.start()
        assert world.read() == held
        world.write(b"third")
        assert world.read() == world.held

    world.run(body)


def test_a_check_of_a_cluster_that_crashed_says_what_it_could_not_see() -> None:
    """METADATA's last changes are in a file that HDFS shows to nobody until it was taken from its dead writer."""
    world = World(7, HDFS)

    def body() -> None:
        world.stop()
        messages, code, notes = world.check()
        assert (messages, code) == ([], SOUND)
        assert any("nobody has ended the log" in note for note in notes)

    world.run(body)


def test_a_repair_that_lost_its_lock_changes_nothing_more_and_is_taken_back() -> None:
    world = World(8, WEBHDFS)

    def body() -> None:
        world.until_metadata_is_flushed()
        world.write(b"second")
        world.stop()
        world.flip(world.user_tables()[0])
        lose_metadata(world)
        one = world.operator
        changes: list[str] = []
        put = ClusterLockStore.put

        def last(store: ClusterLockStore, path: str, file: VersionedFile) -> None:
            changes.append(path)
            one.lease.end()
            put(store, path, file)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ClusterLockStore, "put", last)
            with pytest.raises(LockLost):
                world.cluster.in_process(one, lambda: mended(one.runtime, one.fs, one.lease))
        assert changes == [ROOT_PATH]
        assert len(unfinished(one.fs)) == 1
        world.cluster.in_process(world.operator, world.operator.reconnect)
        with pytest.raises(InvalidRequest, match="an earlier repair was interrupted"):
            world.cluster.in_process(one, lambda: mended(one.runtime, one.fs, one.lease, dry_run=True))
        one = world.operator
        report = world.cluster.in_process(one, lambda: mended(one.runtime, one.fs, one.lease)).report
        assert "was taken back first" in report.done[0]
        assert unfinished(one.fs) == []
        assert world.check()[:2] == ([], SOUND)
        world.start()
        rows = world.read()
        assert {rows.get(row) for row in ROWS} <= {b"second"}

    world.run(body)


def test_an_interrupted_repair_takes_nothing_back_from_a_cluster_that_served_since() -> None:
    """What it kept is old by then: the root record of that day would make all that was written since garbage."""
    world = World(11, WEBHDFS)

    def interrupted(backup: Backup) -> None:
        raise Unavailable("the operator's machine lost its network")

    def body() -> None:
        world.until_metadata_is_flushed()
        world.stop()
        one = world.operator
        lose_metadata(world)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Backup, "end", interrupted)
            with pytest.raises(Unavailable):
                world.cluster.in_process(one, lambda: mended(one.runtime, one.fs, one.lease))
        (folder,) = unfinished(one.fs)
        assert one.fs.exists(f"{folder}/zookeeper/root-tablet")
        world.start()
        assert world.read() == world.held
        world.write(b"since")
        world.stop()
        store = ClusterLockStore(world.operator.lease)
        before = {path: store.load(path) for path in store.paths()}
        copy = one.fs.read_file(ROOT_COPY_PATH)
        world.cluster.in_process(one, take_back, one.fs, store, folder)
        assert {path: store.load(path) for path in store.paths()} == before
        assert one.fs.read_file(ROOT_COPY_PATH) == copy
        assert unfinished(one.fs) == []
        world.start()
        assert world.read() == world.held

    world.run(body)


def test_what_hdfs_does_not_hand_out_now_is_not_taken_for_damaged() -> None:
    world = World(9, WEBHDFS)

    def body() -> None:
        world.stop()
        out_of_reach = world.user_tables()[0]
        fs = world.operator.fs
        read = fs.open

        def refuse(path: str) -> Any:
            if path == out_of_reach:
                raise Unavailable("no DataNode has it")
            return read(path)

        fs.open = refuse
        messages, code, _ = world.check()
        assert code == DAMAGED
        assert [message for message in messages if "cannot be read: no DataNode has it" in message] == messages
        with pytest.raises(Unavailable, match="nobody knows whether it is sound"):
            world.repair()
        fs.open = read
        assert world.check()[:2] == ([], SOUND)
        world.start()
        assert world.read() == world.held

    world.run(body)


def test_another_clusters_lock_service_is_refused() -> None:
    from hbtable.errors import InvalidConfiguration
    from hbtable.launch.cli.cluster_reach import refuse_mismatch

    world = World(10, WEBHDFS)

    def body() -> None:
        world.stop()
        session = world.operator.lease
        assert session is not None
        file = session.read(CLUSTER)
        session.write(CLUSTER, file.data.replace(file.data[8:40], b"0" * 32), file.version)
        with pytest.raises(InvalidConfiguration, match="as the cluster's roles have them"):
            world.cluster.in_process(world.operator, refuse_mismatch, session, world.operator.fs)

    world.run(body)
