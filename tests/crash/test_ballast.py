"""With room kept back a full disk keeps nothing closed: rows are deleted, tables dropped, servers started."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import happybase
import pytest

from hbtable.errors import InvalidConfiguration, OutOfSpace, TableNotEnabled, TableNotFound
from hbtable.fs import disk
from hbtable.fs.ballast import BALLAST, Ballast, BallastOptions
from hbtable.fs.memory import MemoryFileSystem
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.campaigns.simulation import read_everything
from tests.harness.full_disk import BALLAST_BYTES, TABLE, Machine
from tests.harness.server import ServerProcess
from tests.harness.tiers import long_test, quick_first
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.usefixtures("quiet")  # each failure is logged

SEEDS = quick_first(range(1, 7), 1, 2)


# ---------------------------------------------------------------- simulated


def fill_with_two_tables(machine: Machine) -> None:
    """The journal and another one, of which the disk is full; the ballast is given up."""
    admin = machine.cluster.client.admin
    for _ in range(20):
        assert machine.put()
    admin.create_table(TableSchema(b"other", {b"f": FamilySchema(b"f")}))
    other = machine.cluster.client.table(b"other")
    for number in range(400):
        value = machine.random.randbytes(4000)
        other.mutate([RowMutation(b"%04d" % number, [(PUT, b"f", b"q", SERVER_TIME, value)])])
    admin.flush(b"other")
    for _ in range(20):
        machine.fill(machine.random.randrange(1000, 60000))
        for _ in range(300):  # garbage may go meanwhile, and make room for thousands
            if not machine.put():
                break
        machine.runtime.sleep(1.5)
        if machine.memory.status(BALLAST).length_bytes < machine.ballast_bytes:
            return
    raise AssertionError("the ballast was not given up")


def drop_other(machine: Machine) -> None:
    """As the messages say."""
    admin = machine.cluster.client.admin

    def disable() -> None:
        try:
            admin.disable_table(b"other")
        except OutOfSpace as error:
            if "table other may be dropped or truncated as it is" not in str(error):
                raise

    with suppress(TableNotEnabled):  # a refused call may have been carried out
        machine.with_retries(disable)
    with suppress(TableNotFound):  # as above
        machine.with_retries(lambda: admin.delete_table(b"other"))
    assert b"other" not in admin.table_names()


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_deleted_and_tables_dropped_on_a_full_disk(seed: int) -> None:
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        fill_with_two_tables(machine)
        assert not machine.put(), "a put was taken though the disk is full"
        assert "Deletes, drops, truncates and reads work" in str(machine.errors[-1]), machine.errors[-1]
        for row in list(machine.acknowledged)[::2]:
            machine.delete(row)
        machine.verify()
        drop_other(machine)
        # Nothing makes room but the drop: its files go without a stay in the trash, and the ballast comes back.
        machine.runtime.sleep(10.0)
        assert machine.memory.status(BALLAST).length_bytes == BALLAST_BYTES
        assert machine.put(), machine.errors[-1]
        machine.verify()
        machine.cluster.stop()

    machine.run(body)


@pytest.mark.parametrize("way", ["drop", "truncate"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_table_that_has_no_room_to_be_flushed_is_dropped_all_the_same(way: str, restarted: bool) -> None:
    """Whoever drops a table disables it first, and a tablet is flushed before its server gives it up."""
    machine = Machine(1, flushes=False)

    def body(machine: Machine) -> None:
        admin = machine.cluster.client.admin
        admin.create_table(TableSchema(b"other", {b"f": FamilySchema(b"f")}), [b"0200"])
        other = machine.cluster.client.table(b"other")
        machine.fill(2_500_000)

        def put_without_end() -> None:
            for number in range(1000):
                value = machine.random.randbytes(4000)
                other.mutate([RowMutation(b"%04d" % (number * 7 % 400), [(PUT, b"f", b"q", SERVER_TIME, value)])])

        with pytest.raises(OutOfSpace):
            put_without_end()
        if not restarted:
            after(machine)
            later(machine)
            machine.cluster.stop()

    def after(machine: Machine) -> None:
        admin = machine.cluster.client.admin
        for _ in range(10):  # the write that finds no room is refused before the ballast makes some
            with pytest.raises(OutOfSpace) as caught:
                admin.disable_table(b"other")
            if "table other may be dropped or truncated as it is" in str(caught.value):
                break
            machine.runtime.sleep(1.0)
        else:
            raise AssertionError(f"not said how to go on: {caught.value}")
        if way == "drop":
            admin.delete_table(b"other")
            assert b"other" not in admin.table_names()
        else:
            admin.truncate_table(b"other", True)
            rows = machine.cluster.client.table(b"other").read_rows([b"0001"], EVERYTHING)
            assert rows == []
        served = {one.record.table_id for one in machine.cluster.server.admin.tablets()}
        assert served == {record.table_id for record in machine.cluster.client.catalog.all_tablet_rows()} | {0}

    def later(machine: Machine) -> None:
        """What it had in the log goes as well."""
        machine.runtime.sleep(60.0)
        assert machine.put(), machine.errors[-1]
        assert machine.memory.status(BALLAST).length_bytes == BALLAST_BYTES
        machine.verify()

    machine.run(body)
    if restarted:
        machine = machine.power_loss(still_full=True)
        machine.run(after)
    capacity_bytes = machine.memory.disk.capacity_bytes
    machine = machine.power_loss()
    machine.memory.disk.capacity_bytes = capacity_bytes
    machine.run(later)


@pytest.mark.parametrize("way", ["delete", "check and delete", "delete the newest version"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_delete_that_finds_the_disk_full_is_carried_out(seed: int, way: str) -> None:
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        for _ in range(300):
            assert machine.put()
        machine.fill(machine.random.randrange(100))
        table = machine.cluster.client.table(TABLE)
        kind, qualifier = (DELETE_VERSION, b"q") if way == "delete the newest version" else (DELETE_FAMILY, b"")
        for row in list(machine.acknowledged)[:100]:
            deletion = RowMutation(row, [(kind, b"f", qualifier, SERVER_TIME, b"")])
            if way == "check and delete":
                assert table.check_and_mutate(row, b"f", b"q", machine.acknowledged[row], deletion)
            else:
                table.mutate([deletion])
            del machine.acknowledged[row]
        assert machine.memory.status(BALLAST).length_bytes < BALLAST_BYTES, "the disk was not full"
        machine.verify()
        assert not machine.put(), "a put was taken though the disk is full"

    machine.run(body)


@pytest.mark.slow
@pytest.mark.parametrize("seed", quick_first([1, 8, 2, 3, 4, 5, 6, 12, 22, 24], 0, 2))
def test_a_server_starts_on_a_full_disk_and_everything_can_be_read_and_dropped(seed: int) -> None:
    """The start has the half of what was kept back, 200 kB, and takes back what it leaves. The seeds have up to
    200 tablets, which is more than this takes rows in METADATA: it has to do for the first rows that a drop deletes,
    whose files make room for the next."""
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        fill_with_two_tables(machine)
        for row in list(machine.acknowledged)[:5]:
            machine.delete(row)

    def after(again: Machine) -> None:
        again.verify(refused_may_be_there=True)
        found = read_everything(again.cluster.client)
        again.acknowledged = {row: state[b"f:q"] for row, state in found.items()}
        again.delete(next(iter(again.acknowledged)))
        again.verify()
        drop_other(again)
        again.runtime.sleep(30.0)
        again.with_retries(lambda: again.cluster.client.admin.flush(b"journal"))
        again.verify()
        again.cluster.stop()

    machine.run(body)
    machine.power_loss(still_full=True).run(after)


@pytest.mark.parametrize("seed_and_lives", quick_first([(1, 4), *((seed, 10) for seed in range(1, 7))], 0, 1))
def test_a_server_that_dies_again_and_again_on_a_full_disk_still_starts(seed_and_lives: tuple[int, int]) -> None:
    """At any time: in the middle of a start, right after it, or when it has done what it can. Another program takes all
    room but what is kept back for starts, and each start gives back what the one before it took."""
    seed, lives = seed_and_lives
    machine = Machine(seed)
    machine.run(fill_with_two_tables)
    capacity = machine.memory.disk.used_bytes
    for _ in range(lives):
        chance = machine.random
        machine = machine.power_loss()
        medium = machine.memory.disk
        not_kept = BALLAST_BYTES // 2 - len(medium.files[BALLAST].content)
        capacity = min(capacity, medium.used_bytes + not_kept)  # without any room at the first loss of power
        medium.capacity_bytes = capacity

        def body(machine: Machine, lives_on_for: float = chance.choice((0.0, 1.0, 10.0))) -> None:
            machine.verify(refused_may_be_there=True)
            machine.runtime.sleep(lives_on_for)

        machine.run(body, dies_after=chance.choice((None, chance.uniform(0.0, 1.0), chance.uniform(0.0, 5.0))))


# ---------------------------------------------------------------- the file itself


def in_world(test: Callable[[SimulatedRuntime, MemoryFileSystem, Ballast], None], capacity: int, size: int) -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime, capacity_bytes=capacity)
    ballast = Ballast(runtime, fs, fs, of_size(size))

    def main() -> None:
        ballast.start()
        test(runtime, fs, ballast)
        ballast.stop()

    runtime.run(main)


def of_size(size: int) -> BallastOptions:
    """As on a small disk: a setting so small is refused."""
    options = BallastOptions()
    object.__setattr__(options, "ballast_bytes", size)
    return options


@pytest.mark.parametrize("size", [-1, 1, 100_000, (384 << 10) - 1])
def test_a_ballast_that_is_too_small_for_a_drop_is_refused(size: int) -> None:
    with pytest.raises(InvalidConfiguration, match=rf"disk.ballast_bytes is {size}: .* or 0 for none"):
        BallastOptions(size)
    assert BallastOptions(BALLAST_BYTES).ballast_bytes == BALLAST_BYTES
    assert BallastOptions(0).ballast_bytes == 0


def held(fs: MemoryFileSystem) -> int:
    return fs.status(BALLAST).length_bytes if fs.exists(BALLAST) else -1


@pytest.mark.parametrize(("size", "kept"), [(1000, 1000), (50_000, 100_000 // 32), (0, -1)])
def test_a_small_disk_keeps_back_a_small_share(size: int, kept: int) -> None:
    in_world(lambda runtime, fs, ballast: _equal(held(fs), kept), 100_000, size)


def test_a_disk_that_never_had_room_for_it_takes_puts_all_the_same() -> None:
    def test(runtime: SimulatedRuntime, fs: MemoryFileSystem, ballast: Ballast) -> None:
        fs.write_file("somebody", bytes(99_000))

    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime, capacity_bytes=100_000)

    def main() -> None:
        fs.write_file("somebody", bytes(99_000))
        ballast = Ballast(runtime, fs, fs, of_size(2000))
        ballast.start()
        ballast.ran_out()
        assert (held(fs), ballast.full) == (-1, "")
        fs.delete("somebody")
        runtime.sleep(2.0)
        assert held(fs) == 2000
        ballast.stop()

    runtime.run(main)


def test_it_is_given_up_at_once_and_taken_when_there_is_twice_as_much_room() -> None:
    def test(runtime: SimulatedRuntime, fs: MemoryFileSystem, ballast: Ballast) -> None:
        heard: list[str] = []
        ballast.on_change = lambda: heard.append(ballast.full)
        fs.write_file("somebody", bytes(98_500))
        with pytest.raises(OutOfSpace, match="no room"):
            fs.write_file("more", bytes(5000))
        assert "2000 bytes" in ballast.full
        runtime.sleep(0.5)
        assert held(fs) == 500
        fs.delete("somebody")
        fs.write_file("somebody", bytes(97_600))  # 1,900 bytes are free
        runtime.sleep(5.0)
        assert held(fs) == 500
        fs.delete("somebody")
        fs.write_file("somebody", bytes(97_450))
        runtime.sleep(2.0)
        assert (held(fs), ballast.full) == (1000, "")
        assert [bool(message) for message in heard] == [True, False]

    in_world(test, 100_000, 1000)


def test_a_start_has_what_is_kept_for_it_and_takes_back_what_it_leaves() -> None:
    capacity, size = 1_000_000, 30_000
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime, capacity_bytes=capacity)

    def main() -> None:
        fs.reserve(BALLAST, size // 2)
        fs.write_file("somebody", bytes(capacity - size // 2))
        ballast = Ballast(runtime, fs, fs, of_size(size))
        ballast.start()
        assert (held(fs), bool(ballast.full)) == (0, True)
        assert ballast.kept_bytes() > capacity, "what can wait is written while it starts"
        fs.write_file("necessary", bytes(5000))
        ballast.started()
        left = size // 2 - 5000 - ballast.last_room_bytes
        assert (held(fs), ballast.kept_bytes()) == (left, size // 2 - left)
        runtime.sleep(5.0)
        assert held(fs) == left
        fs.delete("necessary")
        runtime.sleep(2.0)
        assert held(fs) == size // 2 - ballast.last_room_bytes or ballast.last_room_bytes < 4096
        fs.delete("somebody")
        runtime.sleep(2.0)
        assert (held(fs), ballast.full, ballast.kept_bytes()) == (size, "", 0)
        ballast.stop()

    runtime.run(main)


def test_room_that_comes_back_while_a_start_ends_is_given_up_again() -> None:
    """The start takes its part back while the watch takes the whole: the part's thread is the last to end."""
    capacity, size = 1_000_000, 30_000
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime, capacity_bytes=capacity)
    reserve = fs.reserve

    def slow_for_a_part(path: str, length_bytes: int) -> None:
        if length_bytes >= held(fs):
            reserve(path, length_bytes)
        runtime.sleep(0.0 if length_bytes == size else 0.5)

    def main() -> None:
        fs.reserve(BALLAST, size // 2)
        fs.write_file("somebody", bytes(capacity - size // 2))
        ballast = Ballast(runtime, fs, fs, of_size(size))
        ballast.start()
        assert ballast.full
        fs.delete("somebody")
        object.__setattr__(fs, "reserve", slow_for_a_part)
        ballast.started()
        runtime.sleep(2.0)
        assert (held(fs), ballast.full) == (size, "")
        fs.write_file("somebody", bytes(capacity - size))
        ballast.ran_out()
        runtime.sleep(2.0)
        assert (held(fs), bool(ballast.full)) == (size // 2, True)
        ballast.stop()

    runtime.run(main)


def test_a_ballast_that_finds_no_room_to_grow_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / BALLAST
    path.write_bytes(bytes(5000))
    with pytest.raises(OSError, match=r"large|space"):
        disk.reserve(str(tmp_path), str(path), 1 << 62)
    assert path.stat().st_size == 5000
    disk.reserve(str(tmp_path), str(path), 9000)
    assert path.stat().st_size == 9000


def _equal(found: int, expected: int) -> None:
    assert found == expected


# ---------------------------------------------------------------- a real small disk


@long_test("a full disk behind a kill -9")
@pytest.mark.integration
def test_a_real_full_disk_after_kill_nine(small_disk: Path) -> None:
    limits = ["tablet.memtable_bytes=2 MiB", "log.segment_bytes=2 MiB", "maintenance.log_bytes=4 MiB"]
    with ServerProcess(small_disk / "data", limits) as server:
        tables = {name: _made(server, name) for name in ("keep", "drop", "truncate")}
        kept = dict(_rows(200))
        for row, value in kept.items():
            tables["keep"].put(row, {b"f:v": value})
        refused: Exception | None = None
        for row, value in _rows(60_000):
            try:
                tables["drop" if int(row) % 2 else "truncate"].put(row, {b"f:v": value})
            except Exception as error:
                refused = error
                break
        assert type(refused).__name__ == "IOError", refused
        # Another program takes what was given up for deletes; what a start needs is still kept back.
        eventually(lambda: (small_disk / "data" / BALLAST).stat().st_size < 1 << 20, SOON_SECONDS, "a cut ballast")
        _fill(small_disk / "filler")
        server.kill()
        server.start()

        connection = server.connect()
        table = connection.table("keep")
        assert {row: cells[b"f:v"] for row, cells in table.scan()} == kept
        eventually(lambda: _taken(lambda: table.delete(b"00000000")), SOON_SECONDS, "a delete that is taken")
        fillers = [small_disk / "filler"]

        def refused() -> bool:
            """What the start removed from the trash may have made room: that is filled, too."""
            if not _taken(lambda: table.put(b"more", {b"f:v": b"1"})):
                return True
            fillers.append(small_disk / f"filler{len(fillers)}")
            _fill(fillers[-1])
            return False

        eventually(refused, SOON_SECONDS, "a put that is refused")
        for name in ("drop", "truncate"):
            eventually(lambda name=name: _dropped(server, name), SOON_SECONDS, f"table {name} dropped")
        _made(server, "truncate")
        for filler in fillers:
            filler.unlink()
        eventually(lambda: _taken(lambda: table.put(b"more", {b"f:v": b"1"})), SOON_SECONDS, "a put that is taken")
        left = {row: cells[b"f:v"] for row, cells in table.scan() if not row.startswith(b"more")}
        assert left == {row: value for row, value in kept.items() if row != b"00000000"}
        assert server.stop() == 0


def _made(server: ServerProcess, name: str) -> happybase.Table:
    connection = server.connect()
    connection.create_table(name, {"f": {}})
    return connection.table(name)


def _dropped(server: ServerProcess, name: str) -> bool:
    connection = server.connect()
    if name.encode() not in connection.tables():
        return True
    return _taken(lambda: connection.delete_table(name, disable=connection.is_table_enabled(name)))


def _rows(count: int) -> Iterator[tuple[bytes, bytes]]:
    for number in range(count):
        yield b"%08d" % number, random.Random(number).randbytes(1000)


def _taken(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception as error:
        if type(error).__name__ != "IOError":
            raise
        return False
    return True


def _fill(path: Path) -> None:
    """Until the disk has no byte left."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
