"""Without writes splits come to an end: no tablet stays larger than its limit, unless it is one row."""

import random
from dataclasses import replace

import pytest

from hbtable.launch.embedded_cluster import EmbeddedCluster
from tests.harness.tiers import quick_first
from tests.simulation.conftest import SMALL, Machine

LIMIT = 20_000
OPTIONS = replace(SMALL, server=replace(SMALL.server, maintenance=replace(SMALL.server.maintenance, split_bytes=LIMIT)))


@pytest.mark.parametrize("seed", quick_first(range(12), 3, 5))
def test_every_tablet_ends_below_its_limit(seed: int) -> None:
    """Rows of random bytes in any order, flushes and pauses between them: children share SSTables when they grow."""
    machine = Machine(seed, OPTIONS)
    chance = random.Random(seed)

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        table = cluster.client.table(b"t")
        for _ in range(chance.randrange(1, 5)):
            rows = sorted(b"row%03d" % chance.randrange(1000) for _ in range(chance.randrange(20, 150)))
            table.mutate([machine.put(row, chance.randbytes(chance.randrange(1, 600))) for row in rows])
            if chance.random() < 0.7:
                cluster.client.admin.flush(b"t")
            machine.runtime.sleep(chance.choice((0.0, 0.1, 1.0, 10.0)))
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(200.0)
        tablets = cluster.client.admin.tablets(b"t")
        served = {one.record.tablet_id: one for one in cluster.transport.tablet_admin(tablets[0].owner).tablets()}
        sizes = {str(record.range): served[record.tablet_id].sstable_bytes for record in tablets}
        assert all(size <= LIMIT for size in sizes.values()), sizes

    machine.life(life)
