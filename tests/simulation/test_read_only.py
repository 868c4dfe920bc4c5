"""A folder that is opened to be read shows what its last process acknowledged, and no byte of it changes."""

import random

import pytest

from hbtable.errors import InvalidRequest
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.tiers import quick_first
from tests.simulation.conftest import SMALL, Machine

SECONDS = 300.0
"""By then everything was due that a server begins by itself soon after a start, but for what is due by age."""


def bytes_of(fs):
    return {file.path: fs.read_file(file.path) for file in fs.list_files("")}


def live(runtime, chance, fs, model):
    """One life of writers; `model` becomes what is acknowledged. The file system it leaves, by a stop or a crash."""
    fs.runtime = runtime
    crashes = chance.random() < 0.6

    def main():
        cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime), SMALL)
        cluster.start()
        admin = cluster.client.admin
        for _ in range(chance.randrange(1, 6)):
            name = chance.choice([b"t", b"u", b"w"])
            if name not in model:
                admin.create_table(TableSchema(name, {b"f": FamilySchema(b"f")}), [b"row000300"])
                model[name] = {}
            table, rows = cluster.client.table(name), model[name]
            value = b"%d" % chance.randrange(1000) + b"x" * 100
            first = chance.randrange(600)
            for number in range(first, first + chance.choice([1, 10, 400])):
                row = b"row%06d" % number
                if chance.random() < 0.2:
                    table.mutate([RowMutation(row, [(DELETE_FAMILY, b"f", b"", SERVER_TIME, b"")])])
                    rows.pop(row, None)
                else:
                    table.mutate([Machine.put(row, value)])
                    rows[row] = value
            match chance.randrange(6):
                case 0:
                    admin.flush(name)
                case 1:
                    admin.major_compact(name)
                case 2:
                    admin.split(name, b"row%06d" % chance.randrange(600))
                case 3:
                    admin.disable_table(name)
                    admin.delete_table(name)
                    del model[name]
                case _:
                    runtime.sleep(chance.choice([0.1, 100.0]))
        if not crashes:
            cluster.stop()

    runtime.run(main)
    if crashes:
        left = fs.crash_clone(chance)
        fs.disk.crashed = True
        runtime.crash()
        return left
    return fs


def look(runtime, fs, model):
    fs.runtime = runtime
    before = bytes_of(fs)

    def main():
        scratch = MemoryFileSystem(runtime)
        overlay = OverlayFileSystem(fs, scratch)
        cluster = EmbeddedCluster(runtime, overlay, LocalLockService(overlay, runtime), SMALL, refusal="only read")
        cluster.start()

        def check():
            assert sorted(cluster.client.names()) == sorted(model)
            for name, rows in model.items():
                assert Machine.contents(cluster, name) == rows
                with pytest.raises(InvalidRequest, match="only read"):
                    cluster.client.table(name).mutate([Machine.put(b"a", b"b")])

        check()
        with pytest.raises(InvalidRequest, match="only read"):
            cluster.client.admin.create_table(Machine.schema(b"new"))
        stored = sum(len(data) for path, data in before.items() if path.startswith("logs/"))
        for _ in range(10):
            runtime.sleep(SECONDS / 10)
            kept = sum(file.length_bytes for file in scratch.list_files(""))
            assert kept <= 3 * stored + 20_000, "only what the log holds is kept in memory"
        check()
        cluster.stop(clean=False)

    runtime.run(main)
    assert bytes_of(fs) == before


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
def test_a_reader_sees_what_was_acknowledged_and_changes_no_byte(seed: int) -> None:
    chance = random.Random(f"read only {seed}")
    runtime = SimulatedRuntime(seed)
    fs, model = MemoryFileSystem(runtime), {}
    for life in range(3):
        fs = live(runtime.another_process(f"writer {life}"), chance, fs, model)
        look(runtime.another_process(f"reader {life}"), fs, model)
