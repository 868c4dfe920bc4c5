"""Thousands of tablets on three servers: a move, a new server's share and a death take seconds of simulated time, so
nothing waits for something else once for each tablet."""

from collections.abc import Callable

import pytest

from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.many_servers import Cluster
from tests.harness.tiers import long_marks
from tests.simulation.conftest import Machine

TABLES = 12


class Scene:
    """A cluster with `tablets` tablets, and the seconds that things take there."""

    def __init__(self, machine: Machine, tablets: int) -> None:
        self.cluster = Cluster(1, machine.options)
        self._splits = [b"%06d" % number for number in range(1, tablets // TABLES)]

    def start(self) -> None:
        self.cluster.start(3)
        for number in range(TABLES):
            schema = TableSchema(b"t%d" % number, {b"f": FamilySchema(b"f")})
            self.cluster.client.admin.create_table(schema, self._splits)
        self.cluster.runtime.sleep(15)

    def number(self, server: str) -> int:
        _, role = self.cluster.servers[server]
        return len(role._online_tablets.tablets)

    def served(self) -> int:
        return sum(self.number(name) for name in self.cluster.servers)

    def seconds(self, done: Callable[[], bool]) -> float:
        clock = self.cluster.runtime.clock_seconds
        began = clock()
        while not done():
            assert clock() < began + 600, self.cluster.master.last_message
            self.cluster.runtime.sleep(0.1)
        return clock() - began

    def move(self) -> float:
        admin, clock = self.cluster.client.admin, self.cluster.runtime.clock_seconds
        tablet = admin.tablets(b"t0")[0]
        target = min(set(self.cluster.servers).difference([tablet.owner]))
        began = clock()
        admin.move_tablet(b"t0", tablet.tablet_id, target)
        return clock() - began


@pytest.mark.parametrize("tablets", [1200, pytest.param(12_000, marks=long_marks("12,000 tablets"))])
def test_a_move_a_new_server_and_a_death_take_seconds(machine: Machine, tablets: int) -> None:
    scene = Scene(machine, tablets)

    def body() -> None:
        cluster = scene.cluster
        scene.start()
        total = scene.served()
        assert total >= tablets
        assert scene.move() < 0.5
        cluster.start_server()
        fresh = [*cluster.servers][-1]
        assert scene.seconds(lambda: scene.number(fresh) >= total // 4 - 1) < 60
        cluster.runtime.sleep(20)
        root = cluster.client.catalog.read_root().owner
        dies = next(name for name in sorted(cluster.servers) if name != root and scene.number(name) > total // 5)
        cluster.kill_server(dies)
        assert scene.seconds(lambda: scene.served() == total) < 20

    scene.cluster.runtime.run(body)
