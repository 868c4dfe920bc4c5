"""A store with one damaged or missing file opens and serves all that is sound; the rest is told within two seconds."""

import re
from collections.abc import Callable

import pytest

from hbtable.errors import Corruption, DataDamaged, HbtableError, Unavailable
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.launch.cli.check import can_be_served
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.launch.http.metrics_export import render
from hbtable.lockservice.local import LocalLockService
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.disks import disk_copy
from tests.harness.tiers import quick_first

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

TABLES = [b"one", b"three", b"two"]
ROWS = [b"%03d" % number for number in range(60)]
VALUE = b"v" * 100


def start(runtime: SimulatedRuntime, disk: MemoryDisk) -> EmbeddedCluster:
    fs = MemoryFileSystem(runtime, disk)
    cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime))
    cluster.start()
    return cluster


@pytest.fixture(scope="module")
def stopped() -> MemoryDisk:
    """After an orderly stop; each table has two tablets."""
    runtime = SimulatedRuntime(1)
    disk = MemoryDisk()

    def main() -> None:
        cluster = start(runtime, disk)
        for name in TABLES:
            family = FamilySchema(b"f", block_bytes=1024, compression="NONE")
            cluster.client.admin.create_table(TableSchema(name, {b"f": family}), [b"030"])
            for row in ROWS:
                cluster.client.rows(name).put(row, {b"f:a": VALUE})
        cluster.stop()

    runtime.run(main)
    return disk


def flip(disk: MemoryDisk, path: str) -> None:
    content = disk.files[path].content
    content[len(content) // 3] ^= 4


def lose(disk: MemoryDisk, path: str) -> None:
    del disk.files[path]


def zero(disk: MemoryDisk, path: str) -> None:
    content = disk.files[path].content
    content[:] = bytes(len(content))


SPOIL = pytest.mark.parametrize("spoil", [flip, lose, zero])


def answered(cluster: EmbeddedCluster, runtime: SimulatedRuntime) -> tuple[set[tuple[bytes, bytes]], list[Exception]]:
    """The rows that are read, each with the right value, and what was said of the others, each within two seconds."""
    sound: set[tuple[bytes, bytes]] = set()
    errors: list[Exception] = []
    for name in TABLES:
        for row in ROWS:
            began = runtime.clock_seconds()
            try:
                ((_, cells),) = cluster.client.table(name).read_rows([row], ReadSpec())
                assert [value for _, _, value in cells] == [VALUE]
                sound.add((name, row))
            except HbtableError as error:
                errors.append(error)
            assert runtime.clock_seconds() - began < 2.0
    return sound, errors


def served(disk: MemoryDisk, more: Callable[[EmbeddedCluster], None] = lambda cluster: None) -> tuple[int, list[str]]:
    """How many rows are read; what is said of the others."""
    runtime = SimulatedRuntime(2)

    def main() -> tuple[int, list[str]]:
        cluster = start(runtime, disk)
        sound, errors = answered(cluster, runtime)
        assert gauge(cluster, "hbtable_damaged_files") == len({error.path for error in errors})  # type: ignore[attr-defined]
        assert (gauge(cluster, "hbtable_damaged_tablets") > 0) == bool(errors)
        assert len(cluster.server.damage()) == gauge(cluster, "hbtable_damaged_files")
        more(cluster)
        assert all(isinstance(error, DataDamaged) for error in errors), errors[:1]
        cluster.stop()
        return len(sound), sorted({str(error) for error in errors})

    return runtime.run(main)


def refusal(disk: MemoryDisk) -> str:
    """What a start says that serves nothing."""
    runtime = SimulatedRuntime(2)
    with pytest.raises(Unavailable) as caught:
        runtime.run(start, runtime, disk)
    return str(caught.value)


def gauge(cluster: EmbeddedCluster, name: str) -> float:
    return next(
        float(line.split()[1]) for line in render(cluster.registry).decode().splitlines() if line.startswith(f"{name} ")
    )


def sstables(disk: MemoryDisk, user: bool) -> list[str]:
    return sorted(
        path for path in disk.files if path.startswith("sstables/") and path.startswith("sstables/00000000/") != user
    )


@SPOIL
def test_a_damaged_user_file_concerns_its_own_tablet_alone(
    stopped: MemoryDisk, spoil: Callable[[MemoryDisk, str], None]
) -> None:
    paths = sstables(stopped, user=True)
    assert len(paths) == 6
    for path in paths:
        disk = disk_copy(stopped)
        spoil(disk, path)

        def write_on(cluster: EmbeddedCluster) -> None:
            for name in TABLES:
                for row in (b"000", b"059"):
                    cluster.client.rows(name).put(row, {b"f:b": b"1"})
                cluster.client.admin.flush(name)

        rows, messages = served(disk, write_on)
        assert rows >= 150
        assert (rows < 180) == bool(messages)
        assert all(path in message and "hbtable repair" in message for message in messages)
        if spoil is flip:
            assert rows >= 165


@pytest.mark.parametrize("batch_size", quick_first([7, 1000], 1))
@pytest.mark.parametrize("backwards", [False, True])
@SPOIL
def test_a_scan_gives_the_rows_before_the_damage_and_then_its_error(
    stopped: MemoryDisk, spoil: Callable[[MemoryDisk, str], None], backwards: bool, batch_size: int
) -> None:
    order = ROWS[::-1] if backwards else ROWS
    seen = []
    for path in sstables(stopped, user=True):
        disk = disk_copy(stopped)
        spoil(disk, path)

        def scan(cluster: EmbeddedCluster) -> None:
            for name in TABLES:
                found: list[bytes] = []
                error = None
                try:
                    for row, cells in cluster.client.rows(name).scan(reverse=backwards, batch_size=batch_size):
                        assert cells == {b"f:a": VALUE}
                        found.append(row)
                except DataDamaged as damage:
                    error = damage
                assert found == order[: len(found)]
                assert (error is None) == (found == order)
                if error is not None:
                    seen.append(len(found))
                    with pytest.raises(DataDamaged):
                        cluster.client.rows(name).row(order[len(found)])

        served(disk, scan)
    assert len(seen) == 6
    assert any(number > 0 for number in seen)


@SPOIL
def test_damaged_metadata_closes_what_it_named_and_no_more(
    stopped: MemoryDisk, spoil: Callable[[MemoryDisk, str], None]
) -> None:
    for path in sstables(stopped, user=False):
        disk = disk_copy(stopped)
        spoil(disk, path)
        rows, messages = served(disk)
        assert rows == 180 or all(path in message and "hbtable repair" in message for message in messages)


@pytest.mark.slow
def test_tables_whose_rows_of_metadata_are_sound_are_served_beside_a_damaged_block_of_it() -> None:
    """METADATA of many blocks."""
    runtime = SimulatedRuntime(1)
    disk = MemoryDisk()
    splits = [b"%05d" % number for number in range(400)]

    def prepare() -> None:
        cluster = start(runtime, disk)
        for name in (b"a", b"z"):
            cluster.client.admin.create_table(TableSchema(name, {b"f": FamilySchema(b"f")}), splits)
            cluster.client.rows(name).put(b"00000", {b"f:a": b"1"})
            cluster.client.rows(name).put(b"99999", {b"f:a": b"1"})
        cluster.stop()

    runtime.run(prepare)
    path = max(sstables(disk, user=False), key=lambda path: len(disk.files[path].content))
    disk.files[path].content[3000] ^= 1
    again = SimulatedRuntime(2)
    other = SimulatedRuntime(3)
    assert other.run(can_be_served, other, MemoryFileSystem(other, disk_copy(disk)))  # what `hbtable check` asks

    def main() -> list[bytes]:
        cluster = start(again, disk)
        found, told = [], []
        for name in (b"a", b"z"):
            for row in (b"00000", b"99999"):
                began = again.clock_seconds()
                try:
                    assert cluster.client.rows(name).row(row) == {b"f:a": b"1"}
                    found.append(name + row)
                except DataDamaged as error:
                    told.append(error.path)
                assert again.clock_seconds() - began < 2.0
        assert set(told) == {path}
        return found

    assert 0 < len(again.run(main)) < 4


# ---------------------------------------------------------------- the lock service's small files


@SPOIL
def test_no_damaged_small_file_closes_the_store_or_makes_a_number_come_again(
    stopped: MemoryDisk, spoil: Callable[[MemoryDisk, str], None]
) -> None:
    paths = [path for path in stopped.files if path.startswith("lockservice/")]
    repaired_by_hand = ("lockservice/files/root-tablet", "lockservice/files/cluster")

    def make_more(cluster: EmbeddedCluster) -> None:
        before = {record.tablet_id for record in cluster.client.catalog.all_tablet_rows()}
        tables = {record.table_id for record in cluster.client.catalog.tables()}
        cluster.client.admin.create_table(TableSchema(b"new", {b"f": FamilySchema(b"f")}), [b"5"])
        assert not {record.tablet_id for record in cluster.client.admin.tablets(b"new")} & before
        assert {record.table_id for record in cluster.client.catalog.tables()} > tables

    assert len(paths) > 4
    for path in paths:
        if path not in repaired_by_hand:
            disk = disk_copy(stopped)
            spoil(disk, path)
            assert served(disk, make_more) == (180, []), path


def test_a_damaged_file_of_a_dead_server_concerns_nobody(killed: MemoryDisk) -> None:
    (path,) = [path for path in killed.files if path.startswith("lockservice/files/servers")]
    disk = disk_copy(killed)
    flip(disk, path)
    assert served(disk) == (180, [])


@pytest.mark.parametrize(("lives", "clean"), [(1, True), (2, True), (2, False)])
def test_an_old_root_record_is_refused_instead_of_serving_what_was(
    stopped: MemoryDisk, lives: int, clean: bool
) -> None:
    disk = disk_copy(stopped)
    path = "lockservice/files/root-tablet"
    old = bytes(disk.files[path].content)

    def live(runtime: SimulatedRuntime) -> None:
        cluster = start(runtime, disk)
        cluster.client.admin.create_table(
            TableSchema(b"new%d" % runtime.random.randrange(10**6), {b"f": FamilySchema(b"f")}), []
        )
        cluster.stop(clean=clean)

    for number in range(lives):
        runtime = SimulatedRuntime(10 + number)
        runtime.run(live, runtime)
    assert served(disk_copy(disk)) == (180, [])
    disk.files[path].content[:] = old
    with pytest.raises(Corruption, match="hbtable repair"):
        served(disk)


# ---------------------------------------------------------------- the log of a server that was killed


def killed_after(*written: list[bytes]) -> MemoryDisk:
    """A server killed after it wrote the rows of some tables at a time, each lot five seconds after the one before:
    longer than the log's mark takes."""
    runtime = SimulatedRuntime(1)
    disk = MemoryDisk()

    def main() -> None:
        cluster = start(runtime, disk)
        for name in TABLES:
            cluster.client.admin.create_table(TableSchema(name, {b"f": FamilySchema(b"f")}), [b"030"])
        for number, names in enumerate(written):
            runtime.sleep(5 if number else 0)
            for row in ROWS:
                for name in names:
                    cluster.client.rows(name).put(row, {b"f:a": VALUE})

    runtime.run(main)
    return disk


@pytest.fixture(scope="module")
def killed() -> MemoryDisk:
    """All rows are in one log alone, some seconds old; METADATA's flushed half-way."""
    return killed_after([*TABLES], [])


def the_log(disk: MemoryDisk) -> bytearray:
    (path,) = [path for path in disk.files if path.startswith("logs/") and path.endswith(".log")]
    return disk.files[path].content


@pytest.mark.slow
def test_a_flipped_bit_in_the_log_closes_one_tablet_at_most(killed: MemoryDisk) -> None:
    length = len(the_log(killed))
    outcomes = []
    for at in range(length // 2, length, 503):  # METADATA's records come before
        disk = disk_copy(killed)
        the_log(disk)[at] ^= 4
        rows, messages = served(disk)
        outcomes.append(rows)
        assert len(messages) <= 1
        assert all("hbtable repair" in message for message in messages)
    assert set(outcomes) == {150, 180}


@pytest.mark.parametrize("left", [0.55, 0.7, 0.9, 0.999])
def test_a_cut_end_of_the_log_serves_nothing_that_may_have_been_written_behind_it(
    killed: MemoryDisk, left: float
) -> None:
    """METADATA is no exception, and without it nothing is served."""
    disk = disk_copy(killed)
    content = the_log(disk)
    del content[int(len(content) * left) :]
    message = refusal(disk)
    assert "METADATA is not served" in message
    assert "may have lost writes that were acknowledged" in message
    assert "run `hbtable repair`, which says what is lost" in message


def test_a_stretch_of_zeros_in_the_log_closes_what_may_have_lost_something(killed: MemoryDisk) -> None:
    disk = disk_copy(killed)
    content = the_log(disk)
    start_at = len(content) * 3 // 4
    content[start_at : start_at + 4096] = bytes(4096)
    rows, messages = served(disk)
    assert rows < 180
    assert all("may have lost" in message for message in messages)


def test_a_log_that_is_restored_as_the_refusal_says_serves_everything_again(killed: MemoryDisk) -> None:
    length = len(the_log(killed))
    for at in range(length // 2, length, 503):
        disk = disk_copy(killed)
        log = the_log(disk)
        right = bytes(log)
        log[at] ^= 4
        rows, messages = served(disk)
        if rows < 180:
            break  # else it hit what no tablet needs any more
    said = re.search(r"restore (logs/\S+) from a backup and remove what is in (\S+)$", messages[0])
    assert said is not None
    assert any(file.content is log for path, file in disk.files.items() if path.startswith(f"{said[1]}/"))
    log[:] = right
    assert served(disk)[0] == rows, "what recovery found at first still counts"
    for path in [path for path in disk.files if path.startswith(f"{said[2]}/")]:
        del disk.files[path]
    assert served(disk) == (180, [])


def test_a_tablet_that_is_refused_for_its_log_takes_no_writes_and_the_others_go_on(killed: MemoryDisk) -> None:
    disk = disk_copy(killed)
    content = the_log(disk)
    size = len(content) // 10
    content[-size:] = bytes(size)  # up to the mark's very byte: nothing was behind it

    def write_on(cluster: EmbeddedCluster) -> None:
        with pytest.raises(DataDamaged):
            cluster.client.rows(b"one").put(b"059", {b"f:b": b"1"})
        cluster.client.rows(b"one").put(b"001", {b"f:b": b"1"})
        cluster.client.admin.create_table(TableSchema(b"new", {b"f": FamilySchema(b"f")}), [])
        cluster.client.rows(b"new").put(b"001", {b"f:b": b"1"})

    served(disk, write_on)
    rows, _ = served_again(disk)
    assert rows == 90


def served_again(disk: MemoryDisk) -> tuple[int, list[str]]:
    """After an orderly stop and another start: row 001 of one table has two columns by now."""
    runtime = SimulatedRuntime(3)

    def main() -> tuple[int, list[str]]:
        cluster = start(runtime, disk)
        rows, errors = 0, set()
        for name in TABLES:
            for row in ROWS:
                try:
                    rows += bool(cluster.client.rows(name).row(row))
                except DataDamaged as error:
                    errors.add(str(error))
        assert cluster.client.rows(b"new").row(b"001") == {b"f:b": b"1"}
        return rows, sorted(errors)

    return runtime.run(main)
