"""The trash is bounded by age and by bytes, whichever comes first."""

from collections.abc import Callable

from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.files.trash import Trash
from hbtable.testing.simulated.runtime import SimulatedRuntime

KEEP_SECONDS = 60.0


class World:
    def __init__(self, limit_bytes: int) -> None:
        self.runtime = SimulatedRuntime(1)
        self.fs = MemoryFileSystem(self.runtime)
        self.trash = Trash(self.runtime.wall_millis, self.fs, KEEP_SECONDS, limit_bytes)

    def throw_away(self, *sizes: int) -> int:
        """Files of these sizes are garbage; how many of them are in the trash now."""
        names = [path for path in self.names() if not path.startswith("trash/")]
        garbage = {f"sstables/{len(names) + number}": size for number, size in enumerate(sizes)}
        for path, size in garbage.items():
            self.fs.write_file(path, bytes(size))
        self.trash.make_room(sum(sizes))
        return self.trash.take(garbage)

    def names(self) -> list[str]:
        return [status.path for status in self.fs.list_files("")]

    def held(self) -> list[int]:
        return sorted(status.length_bytes for status in self.fs.list_files("trash"))


def in_world(test: Callable[[World], None], limit_bytes: int = 100) -> None:
    world = World(limit_bytes)
    world.runtime.run(lambda: test(world))


def test_what_is_old_goes_and_what_is_young_stays() -> None:
    def test(world: World) -> None:
        world.throw_away(10, 11)
        world.runtime.sleep(KEEP_SECONDS / 2)
        world.throw_away(20)
        world.runtime.sleep(KEEP_SECONDS / 2)
        assert world.trash.make_room(0) == (2, 1)
        assert world.held() == [20]

    in_world(test)


def test_the_oldest_leave_early_when_more_comes_than_fits() -> None:
    def test(world: World) -> None:
        for size in (50, 30, 20):
            assert world.throw_away(size) == 1
            world.runtime.sleep(1.0)
        assert world.held() == [20, 30, 50]
        assert world.throw_away(40) == 1
        assert world.held() == [20, 30, 40]

    in_world(test)


def test_what_does_not_fit_at_all_is_deleted_at_once() -> None:
    def test(world: World) -> None:
        world.throw_away(60)
        world.runtime.sleep(1.0)
        assert world.throw_away(70, 80, 25) == 2
        assert world.held() == [25, 70]
        assert [name for name in world.names() if not name.startswith("trash/")] == []

    in_world(test)


def test_without_a_limit_the_age_alone_counts() -> None:
    def test(world: World) -> None:
        for _ in range(5):
            world.throw_away(1000)
            world.runtime.sleep(1.0)
        assert world.held() == [1000] * 5
        world.runtime.sleep(KEEP_SECONDS)
        assert world.trash.make_room(0) == (5, 0)

    in_world(test, 0)


def test_the_bound_holds_whatever_comes() -> None:
    def test(world: World) -> None:
        for _ in range(200):
            sizes = [world.runtime.random.randrange(1, 60) for _ in range(world.runtime.random.randrange(1, 5))]
            world.throw_away(*sizes)
            world.runtime.sleep(world.runtime.random.choice((0.0, 0.5, 20.0)))
            assert sum(world.held()) <= 100

    in_world(test)
