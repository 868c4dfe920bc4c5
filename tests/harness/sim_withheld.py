"""A tablet of a simulated cluster that is withheld and released again, as `hbtable repair --config` does it."""

import random
from collections.abc import Iterable

from hbtable.errors import HbtableError, InvalidRequest, TabletWithheld
from hbtable.launch.cli.cluster_repair import mended
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.repair.withholding import WithholdingOrders
from tests.harness.sim_cluster import ClientProcess

WITHHELD = "tablet withheld"
"""A kind of damage, though nothing is damaged: rows are refused, and come back with what they held."""


def withhold(process: ClientProcess, records: Iterable[TabletRecord], chance: random.Random) -> TabletRecord | None:
    """*Switches.* In `process`, while every role is down. None where METADATA has gone on since these records."""
    user = [record for record in records if record.table_id != METADATA_TABLE_ID]
    if not user:
        return None
    chosen = chance.choice(user)
    try:
        _repair(process, WithholdingOrders(withhold=[chosen.tablet_id]))
    except InvalidRequest:
        return None  # it was split, or is being merged
    return chosen


def release(process: ClientProcess, record: TabletRecord) -> None:
    """*Switches.* As withhold()."""
    _repair(process, WithholdingOrders(release=[record.tablet_id]))


def refuses(record: TabletRecord, row: bytes, refusal: HbtableError) -> bool:
    """Whether this is how a row of the withheld tablet is to be refused."""
    return (
        record.range.holds(row)
        and isinstance(refusal, TabletWithheld)
        and f"--release {record.tablet_id}" in str(refusal)
    )


def _repair(process: ClientProcess, orders: WithholdingOrders) -> None:
    report = mended(process.runtime, process.fs, process.lease, orders=orders).report
    assert not report.lost, f"a repair of what is sound lost something: {report.lost}"
