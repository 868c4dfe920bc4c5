"""What an operator is told agrees with what is, also where a server did not begin what the master asked it for."""

from dataclasses import replace
from functools import partial

import pytest

from hbtable.errors import DataDamaged, HbtableError, MoveFailed, OutcomeUnknown, StaleLocation, Unavailable
from hbtable.model.table import TableState
from tests.harness import masters_operations as operations
from tests.harness.counted_cluster import CountedCluster
from tests.harness.counted_transport import CountedTransport
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.masters_operations import Scene
from tests.harness.tiers import one_in

IN_DOUBT = (OutcomeUnknown, MoveFailed)
STEPS = 40
"""More than the longest of the operations has."""


class Unbegun(DelegatingFake):
    """A tablet server as its master sees it. The call of one number from begin() on is refused, or each of that name
    for some seconds."""

    def __init__(self, inner, refusals):
        super().__init__(inner)
        self._refusals = refusals

    def __getattr__(self, name):
        return partial(self._refusals.carry, name, getattr(self.inner, name))


class Refusals(CountedTransport):
    def __init__(self, inner, asked, cluster):
        super().__init__(inner, asked)
        self._cluster, self._left, self._name, self._until = cluster, 0, "", 0.0
        self.error, self.seconds, self.refused = StaleLocation, 0.0, ""

    def tablet_service(self, incarnation):
        return Unbegun(super().tablet_service(incarnation), self)

    def tablet_admin(self, incarnation):
        return Unbegun(super().tablet_admin(incarnation), self)

    def begin(self, number, error, seconds):
        self._left, self.error, self.seconds = number, error, seconds

    def carry(self, name, method, *arguments):
        now = self._cluster.runtime.clock_seconds()
        self._left -= 1
        if not self._left:
            self.refused, self._name, self._until = name, name, now + self.seconds
        if not self._left or (name == self._name and now < self._until):
            raise self.error(f"it did not begin {name}")
        return method(*arguments)


def state(scene, name):
    record = scene.cluster.client.catalog.read_table(name)
    return None if record is None else record.state


OPERATIONS = {
    operations.a_table_is_made: lambda scene, before: state(scene, b"w") is TableState.ENABLED,
    operations.a_table_is_dropped: lambda scene, before: state(scene, b"u") is None,
    operations.a_table_is_enabled: lambda scene, before: state(scene, b"u") is TableState.ENABLED,
    operations.a_table_is_disabled: lambda scene, before: state(scene, b"t") is TableState.DISABLED,
    operations.a_table_is_altered: lambda scene, before: b"g" in scene.admin.schema(b"t").families,
    operations.a_table_is_truncated: lambda scene, before: scene.admin.described(b"u").table_id != before,
    operations.tablets_are_merged: lambda scene, before: len(scene.tablets()) == len(operations.SPLITS),
}
"""With whether it was done. `before`: the id of `u`."""


def told(machine, operation, number, error, seconds=0.0):
    """The call that was not begun; "" where there were fewer."""
    scene, transports = Scene(machine, 41, CountedCluster), []
    cluster = scene.cluster

    def transport(inner, asked):
        transports.append(Refusals(inner, asked, cluster))
        return transports[-1]

    cluster.master_transport = transport

    def act():
        cluster.runtime.sleep(3)
        before = scene.admin.described(b"u").table_id
        transports[-1].begin(number, error, seconds)
        said = None
        try:
            operation(scene)
        except HbtableError as failure:
            said = failure
        if said is None:
            assert OPERATIONS[operation](scene, before), f"it was not done, after {transports[-1].refused}"
        cluster.runtime.sleep(30)
        if not isinstance(said, IN_DOUBT):
            done = OPERATIONS[operation](scene, before)
            assert done == (said is None), f"{said!r}, after {transports[-1].refused}"
        assert {one.state for one in cluster.client.catalog.tables()} <= {TableState.ENABLED, TableState.DISABLED}

    scene.play(act)
    return transports[-1].refused


def damaged(message):
    return DataDamaged("sstables/0/7", 4096, message)


KINDS = {
    "stale": (StaleLocation, 0.0),
    "unavailable": (Unavailable, 0.0),
    "for a while": (StaleLocation, 3.0),
    "damaged": (damaged, 0.0),
}
CANNOT_BE_REPEATED = (operations.a_table_is_made, operations.a_table_is_altered, operations.a_table_is_truncated)
CASES = [
    f"{operation.__name__}, {number}, {kind}"
    for operation in OPERATIONS
    for number in range(1, STEPS + 1)
    for kind in KINDS
    if kind != "damaged" or operation in CANNOT_BE_REPEATED
]


@pytest.mark.parametrize("case", one_in(24, CASES))
def test_it_is_told_what_was_done(machine, case):
    name, number, kind = case.split(", ")
    operation = next(one for one in OPERATIONS if one.__name__ == name)
    told(machine, operation, int(number), *KINDS[kind])


class DamagedRows(DelegatingFake):
    """METADATA. Of the tablets of one table the first can be read."""

    def __init__(self, inner, table_id):
        super().__init__(inner)
        self._table_id = table_id

    def tablet_rows(self, table_id, damage=None):
        if table_id != self._table_id:
            return self.inner.tablet_rows(table_id, damage)
        if damage is None:
            raise damaged("a block of METADATA")
        damage.append(damaged("a block of METADATA"))
        return self.inner.tablet_rows(table_id, damage)[:1]


def test_a_change_of_a_schema_is_told_to_all_servers_though_a_part_of_metadata_cannot_be_read(machine):
    """It was told as if nothing had been changed, and no server heard of it."""
    scene = Scene(machine, 42, CountedCluster)

    def act():
        master = scene.cluster.master
        table = scene.admin.described(b"t")
        catalog = master.tables._catalog = DamagedRows(master.tables._catalog, table.table_id)
        master.tables.alterations._catalog = catalog
        family = replace(table.schema.families[b"f"], max_versions=7)
        changed = replace(table.schema, version=table.schema.version + 1, families={b"f": family})
        with pytest.raises(OutcomeUnknown, match="was changed, and not every server knows of it yet"):
            scene.admin.alter_table(changed)
        assert scene.admin.schema(b"t").families[b"f"].max_versions == 7
        tablets = [one for _, role in scene.cluster.servers.values() for one in role._online_tablets.tablets.values()]
        versions = [one.schema.version for one in tablets if one.record.table_id == table.table_id]
        assert versions == [changed.version] * (len(operations.SPLITS) + 1)

    scene.play(act)


@pytest.mark.parametrize("error", [Unavailable, OutcomeUnknown])
def test_a_table_for_which_no_ids_could_be_taken_does_not_exist_already(machine, error):
    """It had its name by then. The call was made again, refused, and the creation taken back."""
    scene = Scene(machine, 43, CountedCluster)

    def act():
        ids = scene.cluster.master.tables._creation._new_ids._tablets
        take, failures = ids.take, [error("the lock service gave no answer")]
        ids.take = lambda count: raised(failures.pop()) if failures else take(count)
        ids._next = ids._stop = 0
        said = None
        try:
            operations.a_table_is_made(scene)
        except HbtableError as failure:
            said = failure
        assert not failures
        scene.cluster.runtime.sleep(30)
        assert type(said) is (type(None) if error is Unavailable else OutcomeUnknown)
        assert (state(scene, b"w") is TableState.ENABLED) == (error is Unavailable)

    scene.play(act)


def raised(error):
    raise error
