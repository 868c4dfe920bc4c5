"""A load that never ends, on a server that is otherwise well: the tablet is served by another one, and only there."""

import pytest

from hbtable.errors import HbtableError
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.sim_cluster import Seams, SimCluster, SimOptions
from tests.harness.sim_workload import ROWS, TABLE, create, put_of


class Hanging(DelegatingFake):
    """A process' file system. Files in `paths` cannot be opened by those in `processes` before `waker` rings."""

    def __init__(self, inner, process, hung):
        super().__init__(inner)
        self._process = process
        self._hung = hung

    def open(self, path):
        if path in self._hung.paths and self._process.name in self._hung.processes:
            self._hung.waiting += 1
            self._hung.waker.wait()
        return self.inner.open(path)


class Hung:
    """What hangs, and where."""

    def __init__(self):
        self.paths = set()
        self.processes = set()
        self.waiting = 0
        self.waker = None


class Scene:
    """Three servers with a table whose cells are in SSTables, and a client."""

    def __init__(self, seed):
        self.hung = hung = Hung()
        seams = Seams(storage=lambda process, storage: Hanging(storage, process, hung))
        self.cluster = SimCluster(SimOptions(seed=seed, masters=1, seams=seams))
        hung.waker = self.cluster.runtime.event()

    def play(self, act):
        """`act` runs in a client's process."""

        def body():
            self.cluster.start()
            process = self.cluster.add_client()
            self.client, self.runtime = process.client, process.runtime
            self.cluster.in_process(process, lambda: (self._begin(process), act()))

        self.cluster.runtime.run(body)

    def _begin(self, process):
        create(process)
        self.write(b"before")
        self.runtime.sleep(2)
        self.client.admin.flush(TABLE)

    def write(self, value, rows=tuple(ROWS)):
        for row in rows:
            self.client.table(TABLE).mutate([put_of(row, value)])

    def values(self):
        return {row: cells[0][2] for row, cells in self.client.table(TABLE).read_rows(ROWS, EVERYTHING)}

    def tablets(self):
        return {one.tablet_id: one for one in self.client.admin.tablets(TABLE)}

    def roles(self):
        return {
            role.incarnation: role
            for slot in self.cluster.servers
            if (role := getattr(slot.process, "role", None)) is not None
        }

    def serving(self, tablet_id):
        return [name for name, role in self.roles().items() if tablet_id in role._online_tablets.tablets]

    def hang(self, tablet, servers):
        """Loads of this tablet on those servers."""
        self.hung.paths = {ref.path for _, refs in tablet.files for ref in refs}
        assert self.hung.paths
        processes = [slot.process for slot in self.cluster.servers]
        self.hung.processes = {process.name for process in processes if process.role.incarnation in servers}


@pytest.mark.parametrize("seed", [1, 2])
def test_another_server_gets_it_and_the_one_whose_load_hung_never_serves_it(seed):
    scene = Scene(seed)

    def act():
        tablet = next(iter(scene.tablets().values()))
        bad = min(name for name in scene.roles() if name != tablet.owner)
        scene.hang(tablet, {bad})
        with pytest.raises(HbtableError):
            scene.client.admin.move_tablet(TABLE, tablet.tablet_id, bad)
        scene.runtime.sleep(40)
        assert scene.hung.waiting >= 1
        (server,) = scene.serving(tablet.tablet_id)
        assert server != bad
        scene.write(b"meanwhile")
        scene.hung.waker.set()
        scene.runtime.sleep(10)
        assert scene.serving(tablet.tablet_id) == [server], "the load that hung came to its end, and was not wanted"
        assert scene.values() == dict.fromkeys(ROWS, b"meanwhile")
        assert bad in scene.roles(), "it lives"
        scene.client.admin.move_tablet(TABLE, tablet.tablet_id, bad)
        assert scene.serving(tablet.tablet_id) == [bad]
        assert scene.values() == dict.fromkeys(ROWS, b"meanwhile")

    scene.play(act)


@pytest.mark.slow
def test_so_does_a_tablet_of_metadata_when_all_servers_but_a_new_one_hang():
    scene = Scene(3)

    def act():
        catalog, roles = scene.client.catalog, scene.roles()
        tablet = catalog.tablet_rows(METADATA_TABLE_ID)[-1]
        assert tablet.tablet_id != ROOT_TABLET_ID
        scene.cluster.in_process(process_of(scene, tablet.owner), roles[tablet.owner].admin.flush, tablet.tablet_id)
        tablet = catalog.tablet_rows(METADATA_TABLE_ID)[-1]
        hung = roles.keys() - {tablet.owner}
        scene.hang(tablet, hung)
        process_of(scene, tablet.owner).kill()
        scene.runtime.sleep(90)
        assert scene.hung.waiting >= 1
        assert not hung & set(scene.serving(tablet.tablet_id))
        scene.write(b"meanwhile")
        scene.hung.waker.set()
        scene.runtime.sleep(10)
        assert len(scene.serving(tablet.tablet_id)) == 1
        assert scene.values() == dict.fromkeys(ROWS, b"meanwhile")

    scene.play(act)


def process_of(scene, server):
    (process,) = [slot.process for slot in scene.cluster.servers if slot.process.role.incarnation == server]
    return process


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_server_that_dies_beside_a_load_that_hangs_is_recovered_meanwhile(seed):
    scene = Scene(seed)
    other = b"other"

    def served_again():
        for row in ROWS:
            scene.client.table(other).mutate([put_of(row, b"after")])

    def act():
        admin, clock = scene.client.admin, scene.runtime.clock_seconds
        admin.create_table(TableSchema(other, admin.schema(TABLE).families))
        tablet = next(iter(scene.tablets().values()))
        second = min(scene.roles().keys() - {tablet.owner})
        (its,) = admin.tablets(other)
        admin.move_tablet(other, its.tablet_id, second)
        scene.hang(tablet, ())
        scene.cluster.network.long_deadline_seconds = (
            60.0  # as `rpc.load_seconds`, for which the master waits for a load
        )
        scene.hung.processes = {f"server{slot}.{life}" for slot in range(3) for life in range(1, 10)}
        process_of(scene, tablet.owner).kill()
        began = clock()
        while not scene.hung.waiting:
            assert clock() < began + 60
            scene.runtime.sleep(0.05)
        began = clock()
        process_of(scene, second).kill()
        while True:
            try:
                served_again()
                break
            except HbtableError:
                assert clock() < began + 120
                scene.runtime.sleep(0.1)
        seconds = clock() - began
        assert seconds < 15, seconds
        scene.hung.waker.set()
        scene.write(b"at last")
        assert scene.values() == dict.fromkeys(ROWS, b"at last")

    scene.play(act)
