"""Processes of a cluster whose clocks are wrong as they start end with a word; with right clocks all is served."""

import pytest

from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.sim_workload import TABLE, create

DAY_MILLIS = 86_400_000


@pytest.mark.parametrize("days", [400, -400])
def test_nobody_starts_with_a_clock_that_is_far_from_the_file_systems(days: int) -> None:
    cluster = SimCluster(SimOptions(3))
    cluster.clock_millis = days * DAY_MILLIS
    said: set[str] = set()

    def main() -> None:
        cluster.start()
        for _ in range(200):
            cluster.runtime.sleep(0.1)
            said.update(slot.process.why for slot in cluster.servers)
            assert not cluster.network.servers
            assert cluster.network.master is None
        assert cluster.ended["did not start"] > 10
        assert any("this machine's clock is 400.0 days" in why for why in said), said
        cluster.clock_millis = 0
        client = cluster.add_client()
        cluster.in_process(client, lambda: create(client) or True)
        assert TABLE in client.client.admin.table_names()

    cluster.runtime.run(main)
