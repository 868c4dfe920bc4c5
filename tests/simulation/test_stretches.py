"""No call about many tablets or rows keeps the other tasks of a server waiting: work between two switches, counted."""

from dataclasses import replace

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from tests.harness.stretches import LONGEST, counted_stretches
from tests.harness.tiers import taking_turns
from tests.simulation.conftest import SMALL, Machine

ROOMY = replace(
    SMALL,
    server=replace(
        SMALL.server,
        tablet=replace(SMALL.server.tablet, memtable_bytes=64 << 20),
        maintenance=replace(SMALL.server.maintenance, total_memtable_bytes=256 << 20, log_bytes=256 << 20),
    ),
)


NOTHING_TO_WAIT_FOR = replace(ROOMY, server=replace(ROOMY.server, log=LogOptions(durability="os")))
"""A write of METADATA is applied at once: 1,600 tablets are made without a sync that others could run beside."""


OF_1600_TABLETS = round(0.45 * LONGEST)
"""What paces itself ends after 4 ms, 40,000 calls, with the step that it is in. What goes over all tablets at once is
to take no more of 1,600, or it would be too much of 5,000."""


@pytest.mark.parametrize("options", taking_turns([ROOMY, NOTHING_TO_WAIT_FOR], 2), ids=["synced", "unsynced"])
def test_a_table_of_many_tablets(options: EmbeddedOptions) -> None:
    machine = Machine(1, options)

    def body(cluster: EmbeddedCluster) -> None:
        admin = cluster.client.admin
        rows = [b"%05d" % number for number in range(1, 1600)]
        with counted_stretches(machine.runtime) as stretches:
            admin.create_table(machine.schema(), rows)
            admin.disable_table(b"t")
            admin.enable_table(b"t")
            admin.disable_table(b"t")
            admin.delete_table(b"t")
        stretches.check(OF_1600_TABLETS)

    machine.life(body)


@pytest.mark.slow
def test_many_rows_in_one_call() -> None:
    machine = Machine(1, ROOMY)

    def body(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        mutations = [machine.put(b"row%06d" % number, b"v") for number in range(30_000)]
        with counted_stretches(machine.runtime) as stretches:
            cluster.client.table(b"t").mutate(mutations)
        stretches.check()
        assert len(machine.contents(cluster)) == len(mutations)

    machine.life(body)
