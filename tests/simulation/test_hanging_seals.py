"""The log of a dead server that cannot be ended, or a load that hangs, keeps no other server's tablets waiting, and no
tablet of the same table."""

import pytest

from hbtable.errors import HbtableError
from hbtable.master.servers.recoveries import Recoveries
from hbtable.model.read import EVERYTHING
from hbtable.model.tablet import METADATA_TABLE_ID
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.sim_cluster import Seams, SimCluster, SimOptions
from tests.harness.sim_workload import ROWS, TABLE, create, put_of

SOON_SECONDS = 15.0
"""Of simulated time. What hangs, hangs until the test lets it go."""


class Hanging(DelegatingFake):
    """A process' file system, on which the files that `hung` names cannot be sealed, nor opened."""

    def __init__(self, inner, hung):
        super().__init__(inner)
        self._hung = hung

    def seal(self, path):
        self._hung.pass_by(path)
        return self.inner.seal(path)

    def open(self, path):
        self._hung.pass_by(path)
        return self.inner.open(path)


class Hung:
    """What hangs until `waker` rings."""

    def __init__(self):
        self.paths = ()
        self.waiting = 0
        self.waker = None

    def pass_by(self, path):
        if self.paths and path.startswith(self.paths):
            self.waiting += 1
            self.waker.wait()


class Scene:
    """Four servers, a table of which two servers without METADATA have a tablet each, and a client."""

    def __init__(self, seed):
        self.hung = hung = Hung()
        seams = Seams(storage=lambda process, storage: Hanging(storage, hung))
        self.cluster = SimCluster(SimOptions(seed=seed, servers=4, masters=1, seams=seams))
        self.cluster.network.long_deadline_seconds = 60.0  # as `rpc.load_seconds`
        hung.waker = self.cluster.runtime.event()

    def play(self, act):
        """`act` runs in a client's process, with the two servers and the rows that each has."""

        def body():
            self.cluster.start()
            process = self.cluster.add_client()
            self.client, self.runtime = process.client, process.runtime
            self.cluster.in_process(process, lambda: (create(process), act(*self._deal())))

        self.cluster.runtime.run(body)

    def _deal(self):
        self.write(ROWS, b"before")
        self.runtime.sleep(2)
        self.client.admin.flush(TABLE)
        self.client.admin.balance_switch(False)
        admin = self.client.admin
        busy = {one.owner for one in self.client.catalog.tablet_rows(METADATA_TABLE_ID)}
        first, second = sorted({slot.process.role.incarnation for slot in self.cluster.servers} - busy)[:2]
        left, *others = admin.tablets(TABLE)
        admin.move_tablet(TABLE, left.tablet_id, first)
        for one in others:
            admin.move_tablet(TABLE, one.tablet_id, second)
        self.write(ROWS, b"in the log")
        mine = [row for row in ROWS if row < left.range.stop]
        return (first, mine), (second, [row for row in ROWS if row not in mine])

    def write(self, rows, value):
        for row in rows:
            self.client.table(TABLE).mutate([put_of(row, value)])

    def kill(self, server):
        (process,) = [slot.process for slot in self.cluster.servers if slot.process.role.incarnation == server]
        process.kill()

    def hang(self, *paths):
        self.hung.paths = paths

    def wait_for_one_that_hangs(self):
        until = self.runtime.clock_seconds() + 60
        while not self.hung.waiting:
            assert self.runtime.clock_seconds() < until
            self.runtime.sleep(0.05)

    def seconds_until_served(self, rows):
        began = self.runtime.clock_seconds()
        while True:
            try:
                self.write(rows, b"meanwhile")
                return self.runtime.clock_seconds() - began
            except HbtableError:
                if self.runtime.clock_seconds() > began + 2 * SOON_SECONDS:
                    self.hung.waker.set()

    def values(self):
        return {row: cells[0][2] for row, cells in self.client.table(TABLE).read_rows(ROWS, EVERYTHING)}


def seconds_beside_a_seal_that_hangs(seed):
    """From the death of a server to the service of its rows, while another one's log cannot be ended."""
    scene, found = Scene(seed), []

    def act(first, second):
        scene.hang(f"logs/{first[0]}/")
        scene.kill(first[0])
        scene.wait_for_one_that_hangs()
        scene.kill(second[0])
        found.append(scene.seconds_until_served(second[1]))
        scene.hung.waker.set()
        scene.write(first[1], b"at last")
        expected = dict.fromkeys(first[1], b"at last") | dict.fromkeys(second[1], b"meanwhile")
        assert scene.values() == expected

    scene.play(act)
    return found[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_second_death_is_recovered_while_the_log_of_the_first_server_cannot_be_ended(seed):
    assert seconds_beside_a_seal_that_hangs(seed) < SOON_SECONDS


def test_it_is_not_when_a_table_waits_for_every_log_that_it_needs(monkeypatch):
    monkeypatch.setattr(Recoveries, "ready", lambda self, actions, living: actions)
    assert seconds_beside_a_seal_that_hangs(1) > SOON_SECONDS


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_second_death_is_recovered_while_a_load_of_the_same_table_hangs(seed):
    scene = Scene(seed)

    def act(first, second):
        (left,) = [one for one in scene.client.admin.tablets(TABLE) if one.owner == first[0]]
        scene.hang(*(ref.path for _, refs in left.files for ref in refs))
        scene.kill(first[0])
        scene.wait_for_one_that_hangs()
        scene.kill(second[0])
        assert scene.seconds_until_served(second[1]) < SOON_SECONDS
        scene.hung.waker.set()
        scene.write(first[1], b"at last")
        expected = dict.fromkeys(first[1], b"at last") | dict.fromkeys(second[1], b"meanwhile")
        assert scene.values() == expected

    scene.play(act)
