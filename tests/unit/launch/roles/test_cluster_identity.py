"""A role that was given one cluster's lock service and another one's folder does not take part."""

from dataclasses import replace

import pytest

from hbtable.encoding import tablet_record
from hbtable.errors import InvalidConfiguration
from hbtable.fs.interface import HDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.roles.cluster_identity import join_cluster
from hbtable.lockservice.identity import ID_FILE
from hbtable.lockservice.paths import CLUSTER
from hbtable.metadata.catalog import ROOT_COPY_PATH
from hbtable.metadata.layout import first_root_record
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


class Shared:
    """A memory file system as one of kind hdfs."""

    log_kind = HDFS

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.memory = MemoryFileSystem(runtime)

    def __getattr__(self, name: str) -> object:
        return getattr(self.memory, name)


class World:
    def __init__(self, seed: int) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.lock_service = MemoryLockService(self.runtime)
        self.session = self.lock_service.open_session("test")
        self.fs = Shared(self.runtime)

    def join(self, fs: Shared | None = None) -> str:
        return join_cluster(self.runtime, self.session, fs or self.fs, "hdfs://h:1/x")


def in_world(test, seed: int = 1) -> None:
    world = World(seed)
    world.runtime.run(lambda: test(world))


def test_the_first_role_names_the_cluster_in_both_places() -> None:
    def test(world: World) -> None:
        name = world.join()
        assert len(name) == 32
        assert world.fs.memory.read_file(ID_FILE) == name.encode()
        assert name.encode() in world.session.read(CLUSTER).data
        assert world.join() == name
        assert world.fs.memory.list_files("probes") == []

    in_world(test)


@pytest.mark.parametrize("seed", range(5))
def test_roles_that_start_at_the_same_moment_agree(seed: int) -> None:
    def test(world: World) -> None:
        names: list[str] = []
        tasks = [world.runtime.spawn(lambda: names.append(world.join()), name="role") for _ in range(3)]
        for task in tasks:
            task.join()
        assert len(names) == 3
        assert len(set(names)) == 1

    in_world(test, seed)


def test_another_folder_is_refused_empty_or_not() -> None:
    def test(world: World) -> None:
        world.join()
        with pytest.raises(InvalidConfiguration, match="'hdfs://h:1/x' holds no cluster, and not the one of"):
            world.join(Shared(world.runtime))
        other = Shared(world.runtime)
        other.memory.write_file(ID_FILE, b"0" * 32)
        with pytest.raises(InvalidConfiguration, match="holds another cluster, and not the one of"):
            world.join(other)

    in_world(test)


def test_a_lock_service_that_lost_the_cluster_is_refused() -> None:
    def test(world: World) -> None:
        record = replace(first_root_record(0), generation=3)
        world.fs.memory.write_file(ROOT_COPY_PATH, tablet_record.encode(record))
        with pytest.raises(InvalidConfiguration, match="the lock service is empty"):
            world.join()
        assert not world.fs.memory.exists(ID_FILE)

    in_world(test)


def test_a_start_that_was_cut_off_between_the_two_places_is_finished() -> None:
    def test(world: World) -> None:
        world.fs.memory.write_file(ID_FILE, b"7" * 32)
        assert world.join() == "7" * 32

    in_world(test)
