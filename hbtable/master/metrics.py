"""Counters and levels of a master: servers, tablets without one, deaths, recoveries, loads, moves.

A standby has looked at nothing: there the levels are 0. hbtable_is_master says which master's figures count.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import final

from hbtable.errors import HbtableError
from hbtable.master.servers.server_reports import ServerReports
from hbtable.metrics.registry import LONG_SECONDS_BUCKETS, Registry
from hbtable.model.tablet import TabletRecord

_STATES = ("serving", "draining", "decommissioned", "silent", "starting")


@final
class MasterMetrics:
    """Counters, and levels as of the master's last look at them."""

    def __init__(self, registry: Registry) -> None:
        self.server_deaths = registry.counter("hbtable_server_deaths_total", "Tablet servers that were found dead.")
        self.recoveries = registry.counter("hbtable_log_recoveries_total", "Logs of dead servers that were recovered.")
        self.recovery_seconds = registry.histogram(
            "hbtable_log_recovery_seconds",
            "Time to end and to sort the log of one dead server.",
            LONG_SECONDS_BUCKETS,
        )
        self.loads = registry.counter("hbtable_tablet_loads_total", "Tablets that a server loaded when it was asked.")
        self.failed_loads = registry.counter("hbtable_tablet_load_failures_total", "Loads that a server did not do.")
        self.moves = registry.counter("hbtable_tablet_moves_total", "Tablets moved from a living server to another.")
        self.normalizer_merges = registry.counter(
            "hbtable_normalizer_merges_total", "Tablets that the normalizer merged into their neighbours."
        )
        self.normalizer_splits = registry.counter("hbtable_normalizer_splits_total", "Tablets that it had split.")
        self.cycle_seconds = registry.histogram(
            "hbtable_master_cycle_seconds", "Time of one round of the master.", LONG_SECONDS_BUCKETS
        )
        self.failed_cycles = registry.counter("hbtable_master_cycle_failures_total", "Rounds that an error ended.")
        self._servers = dict.fromkeys(_STATES, 0)
        self._levels = {"tables": 0, "tablets": 0, "unserved": 0, "held": 0, "metadata": 0}
        for state in _STATES:
            registry.gauge(
                "hbtable_tablet_servers",
                "Tablet servers that hold their locks. Silent ones do not answer, starting ones have no server file.",
                lambda state=state: float(self._servers[state]),  # type: ignore[misc]
                state=state,
            )
        for level, name, meaning in (
            ("tables", "hbtable_tables", "Tables, in any state."),
            ("tablets", "hbtable_tablets_of_tables", "Tablets of all tables."),
            ("unserved", "hbtable_unserved_tablets", "Tablets of enabled tables that no server serves."),
            ("held", "hbtable_held_tablets", "Tablets given to no server for now, as servers died of them."),
            ("metadata", "hbtable_metadata_served", "1 while every tablet of METADATA is served."),
        ):
            registry.gauge(name, meaning, lambda level=level: float(self._levels[level]))  # type: ignore[misc]

    def count_death(self) -> None:
        """Does not switch."""
        self.server_deaths.value += 1

    @contextmanager
    def cycle(self, clock_seconds: Callable[[], float]) -> Iterator[None]:
        """Around one round."""
        began = clock_seconds()
        try:
            yield
        except HbtableError:
            self.failed_cycles.value += 1
            raise
        finally:
            self.cycle_seconds.observe(clock_seconds() - began)

    def saw_servers(self, reports: ServerReports) -> None:
        """Does not switch."""
        loads = reports.loads.values()
        draining = sum(load.draining for load in loads)
        decommissioned = sum(load.decommissioned and not load.draining for load in loads)
        self._servers = {
            "serving": len(loads) - draining - decommissioned,
            "draining": draining,
            "decommissioned": decommissioned,
            "silent": len(reports.silent),
            "starting": len(reports.starting),
        }

    def saw_metadata(self, served: bool) -> None:
        """Does not switch."""
        self._levels["metadata"] = int(served)

    def saw_tablets(self, tables: int, tablets: int, wanted: Iterable[TabletRecord], reports: ServerReports) -> None:
        """`wanted`: those that should have a server. Does not switch."""
        served = {name: load.tablet_ids for name, load in reports.loads.items()}
        unserved = sum(tablet.tablet_id not in served.get(tablet.owner, ()) for tablet in wanted)
        self._levels.update(tables=tables, tablets=tablets, unserved=unserved)

    def saw_held(self, held: int) -> None:
        """Does not switch."""
        self._levels["held"] = held
