"""A tablet server that stops in order under load hands its tablets over one by one: no row waits for the others."""

import pytest

from hbtable.errors import HbtableError
from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.sim_workload import ROWS, TABLE, create, put_of

PAUSE_SECONDS = 1.0
MEDIAN_SECONDS = 0.4
"""Of simulated time, in which each call and each sync of the log takes its part; what this machine does meanwhile does
not count."""


class Load:
    """A writer for each row, and the longest time that each row was without an acknowledged write."""

    def __init__(self, process):
        self._process = process
        self._going = True
        self.pauses = {}
        self._tasks = [process.runtime.spawn(self._write, row, name="writer") for row in ROWS]

    def _write(self, row):
        table, clock = self._process.client.table(TABLE), self._process.runtime.clock_seconds
        last = clock()
        while self._going:
            try:
                table.mutate([put_of(row, b"x")])
            except HbtableError:
                continue
            self.pauses[row] = max(self.pauses.get(row, 0.0), clock() - last)
            last = clock()
            self._process.runtime.sleep(0.02)

    def end(self):
        """The pauses, ascending."""
        self._going = False
        for task in self._tasks:
            assert task.join(30)
        return sorted(self.pauses.values())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_row_waits_for_a_whole_server_to_stop(seed):
    cluster = SimCluster(SimOptions(seed=seed))

    def body():
        cluster.start()
        process = cluster.add_client()
        cluster.in_process(process, lambda: create(process) or True)
        cluster.runtime.sleep(5)
        load = Load(process)
        cluster.runtime.sleep(1)
        load.pauses.clear()
        server = max((slot.process for slot in cluster.servers), key=lambda one: len(one.role._online_tablets.tablets))
        assert server.role.serves_tablets()
        server.runtime.spawn(server.stop, name="stop")
        assert server.ended.wait(60)
        cluster.runtime.sleep(3)
        pauses = load.end()
        assert len(pauses) == len(ROWS)
        assert pauses[len(pauses) // 2] < MEDIAN_SECONDS
        assert pauses[-1] < PAUSE_SECONDS

    cluster.runtime.run(body)
