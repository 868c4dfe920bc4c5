"""What operators do to a simulated cluster while faults go on: tablets move, split, merge, are compacted; servers stop.

Also counts what the cluster does by itself, so that a batch of runs can say that all of it happened.
"""

import random
from collections import Counter
from collections.abc import Callable

from hbtable.client.admin import Admin
from hbtable.errors import HbtableError
from hbtable.metadata import layout
from hbtable.metadata.tiling import standing
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID, TabletRecord
from tests.harness.sim_cluster import ClientProcess, ServerProcess, SimCluster
from tests.harness.sim_schema_chores import SchemaChores
from tests.harness.sim_workload import ROWS, TABLE

CHORES = ("move", "split", "compact", "balance", "stop")
"""Of a run that names none; `merge`, `normalize`, `decommission`, changes of the schema, splits and merges of METADATA
have runs of their own (simulation/test_merges.py, test_decommissioning.py, test_schema_chores.py and
test_merges_of_metadata.py)."""

_STOP_SECONDS = 6.0
"""How long an operator waits for a server that stops in order."""


class Operator:
    """One task of one client. `kinds`: the chores of this run, a subset by seed unless named."""

    def __init__(self, process: ClientProcess, cluster: SimCluster, kinds: tuple[str, ...] | None = None) -> None:
        self._process = process
        self._cluster = cluster
        self._chance = random.Random(f"chores {cluster.options.seed}")
        self.kinds = (
            tuple(self._chance.sample(CHORES, self._chance.randint(0, len(CHORES)))) if kinds is None else kinds
        )
        self.count: Counter[str] = Counter()
        schema = SchemaChores(process, self._chance)
        self._normalized = schema.normalized
        self._family, self._regroup, self._read_only = schema.family, schema.regroup, schema.read_only

    def run(self, going: Callable[[], bool]) -> None:
        """Until not going(); after that at most the chore under way."""
        while self.kinds and going():
            self._process.runtime.sleep(self._chance.uniform(0.1, 1.2))
            kind = self._chance.choice(self.kinds)
            try:
                if self._process.lease is not None and self._process.lease.over():
                    self._process.reconnect()
                done = getattr(self, "_" + kind)(self._process.client.admin)
            except HbtableError:
                done = False
            self.count[f"{kind} done" if done else f"{kind} not done"] += 1

    # ------------------------------------------------------------ chores

    def _move(self, admin: Admin) -> bool:
        tablet = self._chance.choice(admin.tablets(TABLE)).tablet_id
        target = self._chance.choice(["", *sorted(self._cluster.network.servers)])
        admin.move_tablet(TABLE, tablet, target)
        return True

    def _split(self, admin: Admin) -> bool:
        return admin.split(TABLE, self._chance.choice([None, *ROWS]))

    def _merge(self, admin: Admin) -> bool:
        tablets = admin.tablets(TABLE)
        place = self._chance.randrange(len(tablets))
        chosen = tablets[place : place + self._chance.randint(2, 3)]
        if len(chosen) < 2:
            return False
        admin.merge_tablets(TABLE, [tablet.tablet_id for tablet in chosen])
        return True

    def _split_metadata(self, admin: Admin) -> bool:
        """METADATA's tablet where the row of one of the table's tablets is, at that row."""
        key = layout.tablet_key(admin.record(TABLE).table_id, self._chance.choice(ROWS)) + b"\x00"
        (tablet,) = [one for one in self._metadata() if one.range.holds(key)]
        return self._process.transport.tablet_admin(tablet.owner).split(tablet.tablet_id, key)

    def _merge_metadata(self, admin: Admin) -> bool:
        tablets = self._metadata()
        place = self._chance.randrange(len(tablets))
        chosen = tablets[place : place + self._chance.randint(2, 3)]
        if len(chosen) < 2:
            return False
        admin.merge_tablets(layout.SCHEMA.name, [tablet.tablet_id for tablet in chosen])
        return True

    def _metadata(self) -> list[TabletRecord]:
        rows = self._process.client.catalog.tablet_rows(METADATA_TABLE_ID)
        return [row for row in standing(rows) if row.tablet_id != ROOT_TABLET_ID]

    def _compact(self, admin: Admin) -> bool:
        tablet = self._chance.choice(admin.tablets(TABLE)).tablet_id
        self._chance.choice((admin.flush, admin.compact, admin.major_compact))(TABLE, tablet)
        return True

    def _balance(self, admin: Admin) -> bool:
        if self._chance.random() < 0.3:
            admin.balance_switch(self._chance.random() < 0.7)
        return admin.balance()

    def _normalize(self, admin: Admin) -> bool:
        if self._chance.random() < 0.1:
            admin.normalizer_switch(self._chance.random() < 0.8)
        self._normalized(admin)
        return admin.normalize([] if self._chance.random() < 0.5 else [TABLE])

    def _decommission(self, admin: Admin) -> bool:
        """Or the other way round."""
        if not self._cluster.network.servers:
            return False
        server = self._chance.choice(sorted(self._cluster.network.servers))
        if self._chance.random() < 0.6:
            admin.decommission([server], self._chance.random() < 0.8)
        else:
            admin.recommission(server)
        return True

    def _stop(self, admin: Admin) -> bool:
        """In order; killed when that takes too long."""
        server = self._chance.choice(self._cluster.servers).process
        assert isinstance(server, ServerProcess)
        if server.runtime.crashed:
            return False
        server.runtime.spawn(server.stop, name="stop")
        if not server.ended.wait(_STOP_SECONDS):
            server.kill("took too long to stop")
        return server.why == "stopped"


def work_done(cluster: SimCluster) -> Counter[str]:
    """By all tablet servers that ever were, and by the masters of their own accord."""
    count: Counter[str] = Counter()
    for role in cluster.roles:
        count["minor compactions"] += int(role.shared.flushes.value)
        for kind in ("merging", "major"):
            count[f"{kind} compactions"] += role.shared.compaction_seconds[kind].count
    count["balancer at work"] += sum(one.moved for one in cluster.relocations)
    count.update({f"drains {how}": times for how, times in cluster.drains.items()})
    count["merged by the normalizer"] += sum(int(one.normalizer_merges.value) for one in cluster.normalizers)
    count["taken from who cannot load"] += cluster.reassigned
    return count
