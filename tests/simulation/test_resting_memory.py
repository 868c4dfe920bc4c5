"""What maintenance keeps of tablets at rest keeps no memtable that was flushed since."""

import gc
from collections.abc import Iterator

import pytest

from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.memtable.memtable import Memtable
from tests.simulation.conftest import Machine


@pytest.fixture(autouse=True)
def of_this_test_alone() -> Iterator[None]:
    """What other tests of the process left takes seconds to be looked through."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def rows_in_memory() -> int:
    gc.collect()
    return sum(one.cells for one in gc.get_objects() if isinstance(one, Memtable))


def test_a_flushed_memtable_is_freed_while_writes_go_on() -> None:
    machine = Machine(1)

    def life(cluster: EmbeddedCluster) -> None:
        admin, table = cluster.client.admin, cluster.client.table(b"t")
        admin.create_table(machine.schema())
        machine.runtime.sleep(5.0)  # at rest
        before = rows_in_memory()
        table.mutate([machine.put(b"%05d" % number, b"v") for number in range(300)])
        machine.runtime.sleep(1.0)  # looked at, with something in memory
        assert rows_in_memory() >= before + 300
        admin.flush(b"t")
        table.mutate([machine.put(b"more", b"v")])
        assert rows_in_memory() < before + 100

    machine.life(life)
