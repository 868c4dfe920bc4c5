"""A master that lost its lock, or stopped, changes nothing more, whatever it is at.

Between two switches nothing happens to a lock. So a change is safe when the master looked at its session in the same
step: then no switch before it can have been the one at which the lock was lost. That is asked of each change that it
makes, in each of its operations, and covers all their switches at once. A stop is no matter of the session: each
operation is stopped at each of its changes.
"""

import pytest

from hbtable.errors import HbtableError
from hbtable.model.table import TableState
from tests.harness.masters_operations import OPERATIONS, Scene
from tests.harness.tiers import quick_first


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_master_looks_at_its_session_in_the_step_of_each_change(machine, operation):
    scene = Scene(machine, 1)

    def act():
        seen = scene.cluster.seen
        seen.changes.clear()
        operation(scene)
        assert seen.changes
        assert not seen.unlooked, seen.unlooked

    scene.play(act)


def changes_after_a_stop(machine, operation, number):
    """The changes of a master after it gave its lock up, which it did while the one of this number was on its way; None
    where there were fewer."""
    scene, after = Scene(machine, 2), []

    def act():
        cluster, seen, master = scene.cluster, scene.cluster.seen, scene.cluster.master
        seen.changes.clear()

        def stop():
            if len(seen.changes) == number and seen.held is None:
                node = cluster.master_node
                seen.held = node.runtime.spawn(master.stop, 0.0, name="stop")
                assert seen.held.join(60)
                cluster.runtime.spawn(ends, node, name="end of the process")
                cluster.start_master()

        def ends(node):
            cluster.runtime.sleep(1)
            node.session.close()

        seen.before = stop
        try:
            operation(scene)
        except HbtableError:
            pass
        scene.settle()
        if seen.held is not None:
            after.append(seen.changes[seen.resigned_at :])
            assert {table.state for table in cluster.client.catalog.tables()} <= {
                TableState.ENABLED,
                TableState.DISABLED,
            }
            assert cluster.lost == []

    scene.play(act)
    return after[0] if after else None


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_master_that_stopped_changes_nothing_more(machine, operation):
    assert changes_after_a_stop(machine, operation, 2) == []


BY_NAME = {operation.__name__: operation for operation in OPERATIONS}


@pytest.mark.parametrize("operation", quick_first(BY_NAME, 0, 3))
def test_a_master_that_stopped_at_any_of_its_changes_makes_no_other(machine, operation):
    number = 1
    while (after := changes_after_a_stop(machine, BY_NAME[operation], number)) is not None:
        assert after == []
        number += 1
    assert number > 4
