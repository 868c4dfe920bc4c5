"""One seed of the cluster simulation: faults while clients work, then healing, then everything that must hold.

    python -m tests.campaigns.cluster_simulation --seed N --seeds 1          # replays one

After the faults: every row can be read within 30 virtual seconds; every row's history is linearizable, its final state
included, as scans and reads show it (so nothing acknowledged is lost or invented, increments count once);
METADATA tiles the table and itself; no task of a living process died of a bug; no cell's time lies ahead of the true
time by more than a wall clock may be wrong.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hbtable.errors import HbtableError
from hbtable.fs.interface import HDFS, WEBHDFS
from hbtable.metadata.tiling import verify_tiling
from hbtable.model.read import EVERYTHING
from hbtable.model.tablet import METADATA_TABLE_ID
from tests.harness.linearizability import Operation, Row
from tests.harness.sim_chores import Operator, work_done
from tests.harness.sim_cluster import ClientProcess, Seams, SimCluster, SimOptions
from tests.harness.sim_faults import BELIEVED_MILLIS, Faults
from tests.harness.sim_workload import ROWS, SPLITS, TABLE, Journal, Worker, create, row_of, scanned

FAULT_SECONDS = 7.0
SESSION_SECONDS = 1.5
GAPS_SECONDS = (0.4, 0.7, 1.5)
READABLE_WITHIN_SECONDS = 30.0


@dataclass
class Outcome:
    """What one seed showed."""

    seed: int
    faults: tuple[str, ...] = ()
    """The kinds that were chosen for it."""
    violations: list[str] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    fingerprint: int = 0


class Schedule:
    """`log_kind`: "" takes turns. `lying_clocks`: leases may be believed for too long (see Journal.trusts_reads); None:
    in one seed of five. `gap_seconds`: between two faults in the mean; 0: by seed, so that in some runs the cluster has
    time to split and balance. `chores`: what an operator does meanwhile; None: by seed. `near`: one client only reads,
    and still reaches a server that nobody else does. `every_call`: clients make the newer ones, too, although a bug is
    planted; else the seeds that find it would find it no more."""

    def __init__(
        self,
        seed: int,
        log_kind: str = "",
        seams: Seams | None = None,
        lying_clocks: bool | None = None,
        kinds: tuple[str, ...] = (),
        seconds: float = FAULT_SECONDS,
        fakes: bool = False,
        gap_seconds: float = 0.0,
        chores: tuple[str, ...] | None = None,
        session_seconds: float = SESSION_SECONDS,
        near: bool = False,
        every_call: bool = False,
    ) -> None:
        self.outcome = Outcome(seed)
        kind = log_kind or (HDFS, WEBHDFS)[seed % 2]
        self.cluster = SimCluster(
            SimOptions(seed, log_kind=kind, fakes=fakes, session_seconds=session_seconds, seams=seams or Seams())
        )
        lying = seed % 5 == 0 if lying_clocks is None else lying_clocks
        self.faults = Faults(self.cluster, lying, kinds)
        self.outcome.faults = tuple(self.faults.kinds)
        self.journal = Journal(self.cluster.runtime.clock_seconds)
        self.journal.trusts_reads = not lying
        self._seconds = seconds
        self._gap_seconds = gap_seconds or self.cluster.chance.choice(GAPS_SECONDS)
        self._chores = chores
        self._near = near
        self._every_call = every_call or self.cluster.options.seams == Seams()
        self._going = True

    def run(self) -> Outcome:
        """Never raises for what it finds."""
        outcome = self.outcome
        try:
            self.cluster.runtime.run(self._live)
            outcome.violations += self.journal.violations()
        except (AssertionError, HbtableError) as error:
            outcome.violations.append(f"{type(error).__name__}: {error}")
        scheduler = self.cluster.runtime.scheduler
        outcome.fingerprint = scheduler.fingerprint
        bugs = [(name, error) for name, error in scheduler.errors if not isinstance(error, HbtableError)]
        outcome.violations += [f"task {name} died of {type(error).__name__}: {error}" for name, error in bugs]
        outcome.count += self.journal.count
        outcome.count += Counter({f"fault: {kind}": count for kind, count in self.faults.count.items()})
        outcome.count += Counter({f"ended: {why}": count for why, count in self.cluster.ended.items()})
        outcome.count += Counter({f"late: {name}": count for name, count in self.cluster.network.late.count.items()})
        outcome.count += Counter({f"changed: {what}": n for what, n in self.cluster.network.changed.count.items()})
        outcome.count += work_done(self.cluster)
        outcome.count["virtual seconds"] += round(self.cluster.runtime.clock_seconds())
        outcome.count["steps"] += scheduler.steps
        return outcome

    def _live(self) -> None:
        cluster = self.cluster
        cluster.start()
        first = cluster.add_client()
        cluster.in_process(first, lambda: create(first) or True)
        processes = [first, cluster.add_client(), cluster.add_client()]
        near = processes[-1] if self._near else None
        self.faults.near = near
        tasks = []
        operators = cluster.add_client()
        operator = Operator(operators, cluster, self._chores)
        for number, process in enumerate([*processes, first]):
            others_cells = "family" in operator.kinds
            worker = Worker(
                process,
                self.journal,
                f"c{number}",
                self.outcome.seed,
                deletes_ranges=not others_cells,
                every_call=self._every_call,
                only_reads=process is near,
            )
            tasks.append(process.runtime.spawn(worker.run, lambda: self._going, name=f"worker {number}"))
        tasks.append(operators.runtime.spawn(operator.run, lambda: self._going, name="operator"))
        self.faults.run(self._seconds, self._gap_seconds)
        healed = cluster.runtime.clock_seconds()
        cluster.runtime.sleep(0.5)
        self._going = False
        reader = cluster.add_client()
        cluster.in_process(reader, lambda: self._read_all(reader, healed) or True)
        for task in tasks:
            assert task.join(20), "a client's call did not end within 20 s after the faults"
        self.outcome.count += Counter({f"chore: {kind}": count for kind, count in operator.count.items()})
        cluster.in_process(reader, lambda: self._verify(reader) or True)

    def _read_all(self, reader: ClientProcess, healed: float) -> None:
        """Each row by its own read, as soon as it answers."""
        clock = self.cluster.runtime.clock_seconds
        for row in ROWS:
            while (error := _refusal(reader, row)) is not None:
                left = READABLE_WITHIN_SECONDS - (clock() - healed)
                assert left > 0, f"{row!r} cannot be read {READABLE_WITHIN_SECONDS} s after the faults: {error}"
                reader.runtime.sleep(0.2)
        took = clock() - healed
        assert took < READABLE_WITHIN_SECONDS, f"everything was readable only {took:.1f} s after the faults"
        self.outcome.count["milliseconds until readable"] += round(took * 1000)

    def _verify(self, reader: ClientProcess) -> None:
        """The final state of each row becomes part of its history, by a scan and by a read: twice, so that no late
        write of a zombie or of a call that nobody waits for any more is missed. (Such a call may come between.)"""
        client, clock = reader.client, self.cluster.runtime.clock_seconds

        def saw(row: bytes, state: Row, called: float) -> None:
            operation = Operation("get", "reader", None, called, state, clock())
            self.journal.rows[row].operations.append(operation)

        for _ in range(2):
            began = clock()
            final = scanned(client.table(TABLE))
            unknown = sorted(set(final) - set(ROWS))
            assert not unknown, f"rows that nobody wrote: {unknown}"
            for row in ROWS:
                saw(row, final.get(row, Row()), began)
            for row in ROWS:
                began = clock()
                found = client.table(TABLE).read_rows([row], EVERYTHING)
                saw(row, row_of(found[0][1]) if found else Row(), began)
            reader.runtime.sleep(1.0)
        self._look_at_times(reader)
        record = client.catalog.read_table(TABLE)
        assert record is not None, "the table is gone"
        rows = client.catalog.tablet_rows(record.table_id)
        verify_tiling(rows)
        verify_tiling(client.catalog.tablet_rows(METADATA_TABLE_ID))
        self.outcome.count["splits"] += len(rows) - len(SPLITS) - 1

    def _look_at_times(self, reader: ClientProcess) -> None:
        true_millis = reader.runtime.wall_millis() - reader.runtime.wall_offset_millis
        for row in ROWS:
            for _, cells in reader.client.table(TABLE).read_rows([row], EVERYTHING):
                for column, millis, _ in cells:
                    ahead = millis - true_millis
                    assert ahead <= BELIEVED_MILLIS + 1000, f"{row!r} {column!r} has a time {ahead} ms ahead"


def run_seed(seed: int, **options: Any) -> Outcome:
    """One seed of the Schedule with these options, for outcomes()."""
    return Schedule(seed, **options).run()


def _refusal(reader: ClientProcess, row: bytes) -> HbtableError | None:
    try:
        reader.client.table(TABLE).read_rows([row], EVERYTHING)
    except HbtableError as error:
        return error
    return None
