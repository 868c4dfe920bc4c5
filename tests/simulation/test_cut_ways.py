"""Which ways of a simulated cluster are cut, and a cluster in which only these are."""

from collections import defaultdict
from functools import partial
from typing import Any

import pytest

from hbtable.errors import Conflict, FileNotFound, OutcomeUnknown, Unavailable
from hbtable.lockservice.interface import VersionedFile
from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.sim_faults import KINDS, ONLY_WAYS, WAYS, Faults
from tests.harness.sim_members import BehindMember
from tests.harness.sim_network import DATANODES, LOCKS, NAMENODE, STORAGE, Network
from tests.harness.sim_schedule import run_seed
from tests.harness.sim_seeds import outcomes
from tests.harness.tiers import quick_first

ROLES = ("client", "master", "server")
SERVICES = (LOCKS, NAMENODE, DATANODES)


def kind_of(end: str) -> list[str]:
    if end == STORAGE:
        return [NAMENODE, DATANODES]
    return [end] if end in SERVICES else [end.rstrip("0123456789.")]


def test_every_way_is_cut_in_one_direction_and_in_both() -> None:
    """Between any two of client, master, tablet server, the member of the lock service, NameNode and DataNodes, of
    which one is a process of ours."""
    seen: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def body() -> None:
        cluster.start()
        for _ in range(3):
            cluster.add_client()
        faults = Faults(cluster, kinds=(*KINDS, *WAYS))
        for number in range(600):
            getattr(faults, ("_cut", "_behind", "_name_node", "_data_nodes", "_unreachable")[number % 5])()
            closed = set(cluster.network.closed)
            for source, target in closed:
                for one in kind_of(source):
                    for other in kind_of(target):
                        seen[one, other].add("both" if (target, source) in closed else "one")
            cluster.network.heal()

    cluster = SimCluster(SimOptions(seed=1))
    cluster.runtime.run(body)
    wanted = {(one, other) for one in ROLES for other in (*ROLES, *SERVICES)}
    wanted -= {("client", NAMENODE), ("client", DATANODES)}  # clients have no way there
    wanted |= {(other, one) for one, other in wanted}
    assert {way: sorted(seen[way]) for way in wanted} == {way: ["both", "one"] for way in wanted}


def test_a_part_of_the_storage_is_cut_with_the_whole_and_alone() -> None:
    network = Network(Any)
    network.cut("a", STORAGE)
    assert not network.passes("a", NAMENODE)
    assert not network.passes("a", DATANODES)
    assert network.passes(NAMENODE, "a")
    network.heal()
    network.cut(DATANODES, "a")
    assert not network.passes(DATANODES, "a")
    assert network.passes(NAMENODE, "a")
    assert network.passes("a", DATANODES)


def test_what_a_member_that_is_behind_answers_is_old_and_changes_are_not() -> None:
    cluster = SimCluster(SimOptions(seed=1))
    network = cluster.network

    def body() -> None:
        cluster.start()
        one, other = cluster.add_client(), cluster.add_client()
        cluster.in_process(one, lambda: look(one, other) or True)

    def look(one: Any, other: Any) -> None:
        fresh, behind = one.lease, other.lease
        fresh.create("/x/file", b"1")
        fresh.lock("/x/lock", b"me")
        network.behind[other.name] = BehindMember(cluster.lock_service)
        network.cut(other.name, LOCKS)
        network.cut(LOCKS, other.name)
        assert fresh.write("/x/file", b"2", 1) == 2
        fresh.create("/x/new", b"")
        fresh.unlock("/x/lock")
        assert behind.read("/x/file") == VersionedFile(b"1", 1)
        assert behind.holder("/x/lock").data == b"me"
        assert behind.list("/x") == ["file", "lock"]
        with pytest.raises(FileNotFound):
            behind.read("/x/new")
        with pytest.raises(Unavailable):
            behind.write("/x/file", b"3", 2)
        network.closed.discard((other.name, LOCKS))
        with pytest.raises(OutcomeUnknown):
            behind.write("/x/file", b"3", 2)
        assert behind.read("/x/file") == VersionedFile(b"1", 1), "though it was written"
        network.closed.clear()
        with pytest.raises(Conflict):
            behind.write("/x/file", b"4", 1)
        behind.create("/x/own", b"")
        assert behind.read("/x/file") == VersionedFile(b"3", 3), "it has caught up with its own change"

    cluster.runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(40), 1, 8))
def test_a_cluster_whose_ways_are_cut_keeps_its_promises(seed: int) -> None:
    run = partial(run_seed, kinds=ONLY_WAYS, fakes=seed % 8 == 7)
    (outcome,) = outcomes(run, [5000 + seed])
    replay = f"python -m tests.campaigns.cluster_simulation --ways --seeds 1 --seed {outcome.seed}"
    assert not outcome.violations, f"{outcome.violations[0]}\n{replay}"
