"""Without writes maintenance comes to rest: a tablet that cannot be split is looked at again when it has doubled, or
after a minute, and not as soon as the last look is over."""

import logging
from dataclasses import replace

import pytest

from hbtable.launch.embedded_cluster import EmbeddedCluster
from tests.simulation.conftest import SMALL, Machine

OPTIONS = replace(
    SMALL, server=replace(SMALL.server, maintenance=replace(SMALL.server.maintenance, split_bytes=20_000))
)
LOOK = "looked at for a split"


def test_a_tablet_that_is_one_huge_row_is_looked_at_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hbtable.tabletserver.maintenance")
    machine = Machine(3, OPTIONS)

    def looks() -> int:
        return sum(LOOK in record.getMessage() for record in caplog.records)

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        cluster.client.table(b"t").mutate([machine.put(b"row", b"v" * 60_000)])
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(30.0)
        assert 1 <= looks() <= 2, looks()  # the minute may pass meanwhile
        cluster.client.table(b"t").mutate([machine.put(b"other", b"v" * 60_000)])
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(5.0)
        assert len(cluster.client.admin.tablets(b"t")) == 2

    machine.life(life)
