"""What a master's metrics say while servers come, die and are drained."""

import pytest

from tests.harness.many_servers import Cluster

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def measured(cluster):
    """The master's metrics, by name and, where there is one, state."""
    registry = cluster.master_node.registry
    levels = {(name, *(state for _, state in labels)): level for name, labels, level in registry.gauges()}
    counts = {(name,): count for name, _, count in registry.counters()}
    observed = {(name,): found.count for name, _, found in registry.histograms()}
    return {" ".join(key): number for key, number in {**levels, **counts, **observed}.items()}


def once(cluster, they_are):
    """The metrics, once they are so."""
    for _ in range(300):
        found = measured(cluster)
        if they_are(found):
            return found
        cluster.runtime.sleep(0.1)
    raise AssertionError(f"never so: {found}")


def settled(cluster, servers):
    """The metrics once nothing is left to do for so many servers."""

    def nothing_is_left(found):
        whole = found["hbtable_metadata_served"] and not found["hbtable_unserved_tablets"]
        return whole and found["hbtable_tablet_servers serving"] == servers

    return once(cluster, nothing_is_left)


def test_deaths_and_recoveries_are_counted_and_unserved_tablets_are_seen(cluster_of, machine):
    cluster = cluster_of(1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        before = settled(cluster, 3)
        assert (before["hbtable_server_deaths_total"], before["hbtable_log_recoveries_total"]) == (0, 0)
        seen = []

        def watch():
            while len(seen) < 1000:
                found = measured(cluster)
                seen.append((found["hbtable_unserved_tablets"], found["hbtable_metadata_served"]))
                cluster.runtime.sleep(0.01)

        watching = cluster.runtime.spawn(watch, name="watch")
        victim = next(record.owner for record in cluster.client.admin.tablets(b"t"))
        cluster.kill_server(victim)
        watching.join()
        after = settled(cluster, 2)
        assert after["hbtable_server_deaths_total"] == 1
        assert after["hbtable_log_recoveries_total"] == after["hbtable_log_recovery_seconds"] == 1
        assert after["hbtable_tablet_loads_total"] > before["hbtable_tablet_loads_total"]
        assert max(unserved for unserved, _ in seen) > 0
        assert (after["hbtable_tables"], after["hbtable_tablets_of_tables"]) == (1, len(SPLITS) + 1)
        assert after["hbtable_master_cycle_seconds"] > before["hbtable_master_cycle_seconds"]

    cluster.runtime.run(body)


def test_moves_are_counted_and_a_tablet_of_a_disabled_table_is_not_missed(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        before = settled(cluster, 2)
        tablet = next(iter(admin.tablets(b"t")))
        target = next(name for name in cluster.servers if name != tablet.owner)
        admin.move_tablet(b"t", tablet.tablet_id, target)
        assert measured(cluster)["hbtable_tablet_moves_total"] == before["hbtable_tablet_moves_total"] + 1
        admin.disable_table(b"t")
        cluster.master.request_cycle()
        looks = measured(cluster)["hbtable_master_cycle_seconds"]
        while measured(cluster)["hbtable_master_cycle_seconds"] < looks + 2:  # one that was asked for is among them
            cluster.runtime.sleep(0.1)
        found = measured(cluster)
        assert (found["hbtable_tables"], found["hbtable_unserved_tablets"]) == (1, 0)

    cluster.runtime.run(body)


def test_metadata_that_gives_no_answer_is_not_served(cluster_of, machine):
    """Its server holds its lock, and nobody reaches it: reading METADATA ended the round before it was said."""
    cluster = cluster_of(1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        settled(cluster, 3)
        owner = cluster.master_node.catalog.read_root().owner
        cluster.transport.remove_server(owner)
        found = once(cluster, lambda found: not found["hbtable_metadata_served"])
        assert found["hbtable_master_cycle_failures_total"]
        cluster.kill_server(owner)
        settled(cluster, 2)

    cluster.runtime.run(body)
