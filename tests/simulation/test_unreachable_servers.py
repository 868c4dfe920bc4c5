"""A tablet server that nobody reaches, while its session with the lock service lives on: its rows are served again.

Each way in which the network can do that, with METADATA on the server and without it. And what must not follow: that
many servers give up at once, or one because of an observer that is cut off itself.
"""

import itertools

import pytest

from hbtable.errors import FileNotFound, HbtableError
from hbtable.lockservice.paths import UNREACHABLE, WITHDRAWALS
from hbtable.model.read import EVERYTHING
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.reachability.evidence import limit
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.sim_cluster import Seams, SimCluster, SimOptions
from tests.harness.sim_workload import ROWS, TABLE, create, put_of

SERVED_AGAIN_SECONDS = 15.0
"""After the beginning of the fault: it is noticed, it stands for a while, the server gives up, recovery."""
LIMIT_SECONDS = SimOptions(0).reachability.limit_seconds


class Scene:
    """Three servers with a table, and a client. `act` of play() runs in the client's process."""

    def __init__(self, seed, servers=3, seams=None):
        self.cluster = SimCluster(SimOptions(seed=seed, servers=servers, seams=seams or Seams()))
        self.network = self.cluster.network

    def play(self, act):
        def body():
            self.cluster.start()
            process = self.cluster.add_client()
            self.client, self.runtime, self.name = process.client, process.runtime, process.name
            self.cluster.in_process(process, lambda: (self._begin(process), act()))

        self.cluster.runtime.run(body)
        bugs = [error for _, error in self.cluster.runtime.scheduler.errors if not isinstance(error, HbtableError)]
        assert not bugs

    def _begin(self, process):
        create(process)
        self.write(b"before")
        self.runtime.sleep(3)
        self.names = {slot.process.name for slot in self.cluster.servers}

    def gone(self):
        """How many servers gave up."""
        return self.cluster.ended["gave up"]

    def await_gone(self, count):
        end = self.runtime.clock_seconds() + SERVED_AGAIN_SECONDS
        while self.gone() < count:
            assert self.runtime.clock_seconds() < end, "it does not give up"
            self.runtime.sleep(0.1)

    def follower(self):
        """The process after one that gave up, before it has begun."""
        while True:
            for slot in self.cluster.servers:
                if slot.process.name not in self.names:
                    return slot.process
            self.runtime.sleep(0.01)

    def write(self, value, rows=tuple(ROWS)):
        for row in rows:
            self.client.table(TABLE).mutate([put_of(row, value)])

    def values(self):
        return {row: cells[0][2] for row, cells in self.client.table(TABLE).read_rows(ROWS, EVERYTHING)}

    def processes(self):
        """Of the servers, by their incarnations."""
        found = [slot.process for slot in self.cluster.servers]
        return {process.role.incarnation: process for process in found if hasattr(process, "role")}

    def names_but(self, process):
        return [one.name for one in self.cluster.processes() if one is not process]

    def owner_of_metadata(self):
        return self.client.catalog.tablet_rows(METADATA_TABLE_ID)[-1].owner

    def owner_of_rows_only(self):
        metadata = {one.owner for one in self.client.catalog.tablet_rows(METADATA_TABLE_ID)}
        owners = {one.owner for one in self.client.admin.tablets(TABLE)} - metadata
        return min(owners)

    def await_values(self, value, seconds=SERVED_AGAIN_SECONDS):
        """Every row can be read within so long."""
        end, error = self.runtime.clock_seconds() + seconds, None
        while self.runtime.clock_seconds() < end:
            try:
                assert self.values() == dict.fromkeys(ROWS, value)
                return
            except HbtableError as raised:
                error = raised
                self.runtime.sleep(0.2)
        pytest.fail(f"the rows of a server that nobody reaches are away for {seconds} s: {error}")


def nobody_is_heard(scene, process):
    for name in scene.names_but(process):
        scene.network.cut(name, process.name)


def is_not_heard(scene, process):
    for name in scene.names_but(process):
        scene.network.cut(process.name, name)


def its_port_is_closed(scene, process):
    for name in scene.names_but(process):
        scene.network.cut_calls(name, process.name)


def reaches_nobody(scene, process):
    """Its clients reach it, and it answers the master; what it needs of other servers it cannot ask."""
    for name in scene.names_but(process):
        scene.network.cut_calls(process.name, name)


WAYS = (nobody_is_heard, is_not_heard, its_port_is_closed)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_a_server_that_nobody_reaches_are_served_again(seed, way):
    scene = Scene(seed)

    def act():
        way(scene, scene.processes()[scene.owner_of_rows_only()])
        scene.await_values(b"before")

    scene.play(act)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [1, 2])
def test_so_is_the_whole_cluster_when_metadata_was_there(seed, way):
    scene = Scene(seed)

    def act():
        way(scene, scene.processes()[scene.owner_of_metadata()])
        scene.await_values(b"before")

    scene.play(act)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_server_that_reaches_nobody_gives_its_tablets_up(seed):
    """Though everybody reaches it: it can neither flush nor split, because it cannot ask METADATA."""
    scene = Scene(seed)

    def act():
        reaches_nobody(scene, scene.processes()[scene.owner_of_rows_only()])
        scene.await_gone(1)
        scene.await_values(b"before")

    scene.play(act)


@pytest.mark.parametrize("servers", [2, 5])
def test_two_servers_are_enough_and_five_are_as_good(servers):
    scene = Scene(7, servers=servers)

    def act():
        nobody_is_heard(scene, scene.processes()[scene.owner_of_metadata()])
        scene.await_gone(1)
        scene.await_values(b"before")
        assert scene.gone() == 1

    scene.play(act)


def test_the_only_server_stays_whatever_is_said_of_it():
    scene = Scene(8, servers=1)

    def act():
        (process,) = scene.processes().values()
        is_not_heard(scene, process)
        scene.runtime.sleep(SERVED_AGAIN_SECONDS)
        assert scene.gone() == 0
        scene.network.heal()
        scene.await_values(b"before")

    scene.play(act)


@pytest.mark.parametrize("servers", [2, 3, 5])
def test_a_master_that_is_cut_off_brings_no_server_down(servers):
    scene = Scene(9, servers=servers)

    def act():
        for slot in scene.cluster.masters:
            nobody_is_heard(scene, slot.process)
            is_not_heard(scene, slot.process)
        scene.runtime.sleep(SERVED_AGAIN_SECONDS)
        assert scene.gone() == 0
        assert scene.values() == dict.fromkeys(ROWS, b"before")

    scene.play(act)


@pytest.mark.parametrize("servers", [2, 3, 4, 5])
def test_when_nobody_reaches_anybody_nobody_gives_up(servers):
    scene = Scene(10, servers=servers)

    def act():
        for process in scene.cluster.processes():
            is_not_heard(scene, process)
        scene.runtime.sleep(2 * SERVED_AGAIN_SECONDS)
        assert scene.gone() == 0
        scene.network.heal()
        scene.await_values(b"before")

    scene.play(act)


@pytest.mark.parametrize("servers", [3, 4, 5])
def test_a_network_that_comes_and_goes_takes_a_minority_along(servers):
    """Each server in turn, however often: within the period of the limit."""
    scene = Scene(11, servers=servers)

    def act():
        end = scene.runtime.clock_seconds() + LIMIT_SECONDS - 6
        for slot in itertools.cycle(scene.cluster.servers):
            nobody_is_heard(scene, slot.process)
            scene.runtime.sleep(5)
            scene.network.heal()
            if scene.runtime.clock_seconds() > end:
                break
        assert 1 <= scene.gone() <= limit(servers)
        scene.await_values(b"before", 60)

    scene.play(act)


def test_a_server_without_tablets_stays_and_is_used_again_when_it_is_reached():
    scene = Scene(12)

    def act():
        process = scene.processes()[scene.owner_of_rows_only()]
        nobody_is_heard(scene, process)
        scene.await_gone(1)
        follower = scene.follower()
        nobody_is_heard(scene, follower)
        scene.runtime.sleep(SERVED_AGAIN_SECONDS + LIMIT_SECONDS)
        assert scene.gone() == 1
        assert follower.giving_up.reasons(), "it is shown on its own page"
        assert any(slot.process.observer.reasons() for slot in scene.cluster.masters), "and on the master's"
        scene.network.heal()
        scene.runtime.sleep(15)
        assert follower.role.serves_tablets()
        assert not follower.giving_up.reasons()

    scene.play(act)


class NobodyHears(DelegatingFake):
    """A session by which nothing is heard of who is unreachable: the planted bug."""

    def list(self, folder):
        return [] if folder == UNREACHABLE else self.inner.list(folder)


def test_the_promise_is_broken_where_nobody_hears_what_is_said():
    scene = Scene(1, seams=Seams(observed=lambda process, session: NobodyHears(session)))

    def act():
        nobody_is_heard(scene, scene.processes()[scene.owner_of_metadata()])
        with pytest.raises(pytest.fail.Exception, match="are away"):
            scene.await_values(b"before")

    scene.play(act)


class ForgetsTheOthers(DelegatingFake):
    """A session that does not know who gave up before: the planted bug of the limit."""

    def read(self, path, latest=False):
        if path == WITHDRAWALS:
            raise FileNotFound(f"there is no file {path}")
        return self.inner.read(path, latest)

    def create(self, path, data):
        if path != WITHDRAWALS:
            self.inner.create(path, data)


def test_without_a_limit_a_network_that_comes_and_goes_takes_more_along():
    scene = Scene(11, seams=Seams(observed=lambda process, session: ForgetsTheOthers(session)))

    def act():
        for _ in range(2):
            for slot in scene.cluster.servers:
                nobody_is_heard(scene, slot.process)
                scene.runtime.sleep(5)
                scene.network.heal()
        assert scene.gone() > limit(3)

    scene.play(act)
