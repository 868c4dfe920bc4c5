"""One seed of the simulation of damage: a cluster lives under faults, is stopped or loses its power, something of it is
damaged (sim_damage.py), and it goes on.

    python -m tests.campaigns.cluster_simulation --damage --seed N --seeds 1          # replays one

What must hold then: no row is old, missing or wrong without a word, neither before nor after flushes, compactions, a
new table and the death of a server; a refusal names what is damaged; nothing is refused that needs nothing of it; and
when the right file is put back, as the messages say, everything is served again.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from hbtable.commitlog.segments.segment import log_folder
from hbtable.errors import Corruption, DataDamaged, HbtableError, LockLost, OutcomeUnknown, OutOfSpace, TableExists
from hbtable.fs.interface import HDFS, WEBHDFS
from hbtable.lockservice.state_number import STATE_NUMBER
from hbtable.metadata.layout import ROOT_PATH
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from tests.harness.sim_chores import Operator, work_done
from tests.harness.sim_cluster import ClientProcess, SimCluster, SimOptions
from tests.harness.sim_damage import (
    CLOSING_NODES,
    KINDS,
    MAX_SKEW_MILLIS,
    METADATA_FOLDER,
    Backup,
    Damage,
    Damager,
    take_backup,
)
from tests.harness.sim_faults import Faults
from tests.harness.sim_schedule import Outcome
from tests.harness.sim_withheld import WITHHELD, refuses, release, withhold
from tests.harness.sim_workload import ROWS, SPLITS, TABLE, schema

FAULTS = ("kill", "pause", "expire", "clock")
CHORES = ("move", "split", "merge", "compact", "balance", "family", "regroup")
LATER = b"later"
LIFE_SECONDS = (4.0, 9.0)
WITHIN_SECONDS = 40.0

Promised = dict[bytes, set[bytes]]
"""What each row may hold: b"" for nothing. More than one while the outcome of a write is unknown."""


class Writer:
    """Puts and deletes rows of its own, one after the other. Values are never used twice."""

    def __init__(
        self,
        process: ClientProcess,
        rows: list[bytes],
        promised: Promised,
        past: Promised,
        unknown: Promised,
        name: str,
    ) -> None:
        self._process = process
        self._rows = rows
        self._promised = promised
        self._past = past
        self._unknown = unknown
        self._chance = random.Random(f"{name} {process.cluster.options.seed}")
        self._name = name
        self._number = 0

    def run(self, going: Callable[[], bool]) -> None:
        while going():
            if self._process.lease is not None and self._process.lease.over():
                with suppress(HbtableError):
                    self._process.reconnect()
            with suppress(HbtableError):
                self.write(self._chance.choice(self._rows))
            self._process.runtime.sleep(self._chance.choice((0.0, 0.02, 0.08)))

    def write(self, row: bytes) -> None:
        """The error of one that was refused."""
        value = b""
        operations: list[Any] = [(DELETE_FAMILY, family, b"", SERVER_TIME, b"") for family in (b"f", b"g")]
        if self._chance.random() < 0.85:
            self._number += 1
            value = b"%s.%d/" % (self._name.encode(), self._number) + b"v" * self._chance.choice((4, 60, 300))
            operations = [(PUT, family, b"v", SERVER_TIME, value) for family in (b"f", b"g")]
        before = set(self._promised[row])
        self._promised[row].add(value)  # before the call: a backup may be taken while it is under way
        self._past[row].add(value)
        try:
            self._process.client.table(TABLE).mutate([RowMutation(row, operations)])
        except (OutcomeUnknown, LockLost, OutOfSpace):
            self._unknown[row].add(value)  # it may still be on its way, and arrive after later ones
            raise
        except HbtableError:
            self._promised[row] = before
            raise
        self._promised[row] = {value} | self._unknown[row]


class DamagedSchedule:
    """`kinds` of damage, one of which is done, and `chores` of an operator before; (): any. `counted`: the
    backup is taken when all faults are healed; then some rows are written, and another master counts the state."""

    def __init__(
        self,
        seed: int,
        kinds: tuple[str, ...] = (),
        chores: tuple[str, ...] = (),
        counted: bool = False,
    ) -> None:
        self.outcome = Outcome(seed)
        self._chance = random.Random(f"damage {seed}")
        self.cluster = SimCluster(SimOptions(seed, log_kind=(HDFS, WEBHDFS)[seed % 2], masters=1))
        self._faults = Faults(self.cluster, kinds=FAULTS)
        self._kind = self._chance.choice(kinds or KINDS)
        self._chores = chores or tuple(self._chance.sample(CHORES, self._chance.randint(1, 4)))
        self._counted = counted
        self._promised: Promised = {row: {b""} for row in ROWS}
        self._past: Promised = {row: {b""} for row in ROWS}
        self._unknown: Promised = {row: set() for row in ROWS}
        self._backup: Backup | None = None
        self._damage = Damage("nothing")
        self._records: list[TabletRecord] = []
        """As they were before the damage."""
        self._writing = True

    def run(self) -> Outcome:
        """Never raises for what it finds."""
        outcome, cluster = self.outcome, self.cluster
        try:
            cluster.runtime.run(self._live)
        except (AssertionError, HbtableError) as error:
            outcome.violations.append(f"{self._kind}: {self._damage.what}: {type(error).__name__}: {error}")
        outcome.faults = (self._kind,)
        scheduler = cluster.runtime.scheduler
        outcome.fingerprint = scheduler.fingerprint
        bugs = [(name, error) for name, error in scheduler.errors if not isinstance(error, HbtableError)]
        outcome.violations += [f"task {name} died of {type(error).__name__}: {error}" for name, error in bugs]
        outcome.count += work_done(cluster)
        outcome.count["virtual seconds"] += round(cluster.runtime.clock_seconds())
        return outcome

    # ------------------------------------------------------------ the story

    def _live(self) -> None:
        cluster = self.cluster
        cluster.start()
        clients = [cluster.add_client() for _ in range(3)]
        cluster.in_process(clients[0], lambda: _create(clients[0], schema(), SPLITS) or True)
        rows = (ROWS[::2], ROWS[1::2])
        writers = [self._writer(process, some, process.name) for process, some in zip(clients, rows, strict=False)]
        tasks = [
            process.runtime.spawn(writer.run, lambda: self._writing, name="writer")
            for writer, process in zip(writers, clients, strict=False)
        ]
        operator = Operator(clients[2], cluster, self._chores)
        tasks.append(clients[2].runtime.spawn(operator.run, lambda: self._writing, name="operator"))
        if not self._counted:
            cluster.runtime.spawn(self._take_backup, name="backup")
        self._faults.run(self._chance.uniform(*LIFE_SECONDS), 1.5)
        self._writing = False
        for task in tasks:
            assert task.join(40), "a client's call did not end"
        reader = cluster.add_client()
        if self._counted:
            self._inside(reader, self._back_up_and_count)
        self._inside(reader, self._look)
        assert not self.outcome.count["refused rows"], "rows are refused of which nothing is damaged"
        self._end(reader)
        self._go_on(reader)

    def _writer(self, process: ClientProcess, rows: list[bytes], name: str) -> Writer:
        return Writer(process, rows, self._promised, self._past, self._unknown, name)

    def _take_backup(self) -> None:
        self.cluster.runtime.sleep(self._chance.uniform(1.0, LIFE_SECONDS[0]))
        self._backup = take_backup(self.cluster, self._promised)

    def _back_up_and_count(self, operator: ClientProcess) -> None:
        """METADATA is not flushed in between, as a rule: the files that were put back lack none that is named."""
        cluster = self.cluster
        self._look(operator)
        cluster.runtime.sleep(2.0)  # what compactions leave behind is gone
        self._backup = take_backup(cluster, self._promised)
        writer = self._writer(operator, ROWS, "since")
        for row in ROWS[::3]:
            with suppress(HbtableError):
                writer.write(row)
        before = cluster.lock_files.load(STATE_NUMBER)
        cluster.masters[0].process.kill()
        while cluster.lock_files.load(STATE_NUMBER) == before:
            cluster.runtime.sleep(0.1)

    def _inside(self, process: ClientProcess, act: Callable[[ClientProcess], None]) -> None:
        self.cluster.in_process(process, lambda: act(process) or True)

    def _end(self, reader: ClientProcess) -> None:
        """Everybody stops in order, or dies at once; then something is damaged."""
        cluster, chance = self.cluster, self._chance
        self._inside(reader, lambda _: self._records.extend(reader.client.catalog.all_tablet_rows()))
        if chance.random() < 0.3 and not self._counted:
            self._faults.stop_everything()
        self._kill_all(reader, 5.0)
        assert self._backup is not None
        needed = [path for path in _files(self._records) if path in cluster.disk.files]
        if self._kind == WITHHELD:
            damage = self._withhold(reader)
        else:
            damage = Damager(cluster, chance, self._backup, needed, _logs(self._records)).do(self._kind)
        if damage is None:
            self.outcome.count["nothing to damage"] += 1
            return
        self.outcome.count[f"damaged: {self._kind}"] += 1
        self._damage = damage
        if damage.restored:
            self._promised = {row: set(values) for row, values in self._backup.promised.items()}

    def _withhold(self, reader: ClientProcess) -> Damage | None:
        chosen = self.cluster.in_process(reader, withhold, reader, self._records, self._chance)
        if chosen is None:
            return None
        what = f"tablet {chosen.tablet_id} is withheld"
        return Damage(what, withheld=chosen, undo=lambda: self._inside(reader, lambda one: release(one, chosen)))

    def _kill_all(self, reader: ClientProcess, seconds: float) -> None:
        """The lock service, too, which reads its files when it starts again. `seconds`: writes under way arrive."""
        cluster = self.cluster
        cluster.down = True
        for slot in [*cluster.servers, *cluster.masters]:
            slot.process.kill()
        cluster.lock_service = cluster.lock_service.restarted(cluster.runtime)
        cluster.runtime.sleep(seconds)
        self._inside(reader, ClientProcess.reconnect)

    def _go_on(self, reader: ClientProcess) -> None:
        cluster = self.cluster
        cluster.down = False
        self._inside(reader, self._look)
        self._inside(reader, self._work)
        cluster.runtime.sleep(1.0)
        self._chance.choice(cluster.servers).process.kill()
        self._inside(reader, self._look)
        undo = self._damage.undo
        if undo is None:
            return  # it went on with what is there, so what was right before is not any more
        self._kill_all(reader, 3.0)
        undo()
        self._damage = Damage(f"{self._damage.what}, put right")
        cluster.down = False
        self._inside(reader, self._look)
        self._inside(reader, self._work)
        self._inside(reader, self._look)

    # ------------------------------------------------------------ what must hold

    def _look(self, reader: ClientProcess) -> None:
        """Each row: a right answer, or a refusal that names what is damaged and that it needs."""
        begun = reader.runtime.clock_seconds()
        for row in ROWS:
            found = self._answer(reader, row, begun)
            if found is None:
                self.outcome.count["refused rows"] += 1
                continue
            self.outcome.count["rows read"] += 1
            allowed = self._past[row] if self._damage.unsaid else self._promised[row]
            assert found in allowed, f"{row!r} is {found[:20]!r} and not one of {sorted(v[:20] for v in allowed)}"

    def _answer(self, reader: ClientProcess, row: bytes, begun: float) -> bytes | None:
        """None: refused, as it may be."""
        while True:
            try:
                found = reader.client.table(TABLE).read_rows([row], EVERYTHING)
            except HbtableError as refusal:
                if self._may_refuse(row, refusal):
                    return None
                self._check_wait(row, refusal, reader.runtime.clock_seconds() - begun)
                reader.runtime.sleep(0.2)
                continue
            self._check_times(row, found)
            withheld = self._damage.withheld
            assert withheld is None or not withheld.range.holds(row), f"{row!r} is served, and {self._damage.what}"
            values = {column: value for column, _, value in found[0][1] if column in (b"f:v", b"g:v")} if found else {}
            assert len(set(values.values())) <= 1, f"{row!r} is half of this and half of that: {values}"
            assert len(values) in (0, 2), f"{row!r} is a half: {values}"
            return values.get(b"f:v", b"")

    def _check_times(self, row: bytes, found: list[Any]) -> None:
        true_millis = self.cluster.runtime.wall_millis()
        for _, cells in found:
            for column, millis, _ in cells:
                ahead = millis - true_millis
                assert ahead <= MAX_SKEW_MILLIS, f"{row!r} {column!r} has a time {ahead} ms ahead"

    def _check_wait(self, row: bytes, refusal: HbtableError, seconds: float) -> None:
        assert seconds < WITHIN_SECONDS, f"{row!r} is refused for {seconds:.0f} s: {refusal}; {self._said()}"

    def _may_refuse(self, row: bytes, error: HbtableError) -> bool:
        path, withheld = self._damage.path, self._damage.withheld
        if withheld is not None:
            return refuses(withheld, row, error)
        if not path:
            return False
        if path.startswith("sstables/") and not self._closes_all():
            if not isinstance(error, DataDamaged) or error.path != path:
                return False
            assert RowRange(error.first_row, error.stop_row).holds(row), f"{row!r} is refused by {error}"
            return True
        names = [path]
        if path.startswith("logs/"):
            incarnation = path.split("/")[1]
            if not self._damage.unsaid and not self._needs(row, incarnation):
                return False
            names = [path, log_folder(incarnation)]
            if self._damage.unsaid or self._needs_for_metadata(incarnation):
                names.append("the file is missing")  # METADATA that lost its end may name what is gone
        if path == ROOT_PATH:
            names += [METADATA_FOLDER, "logs/"]  # an old one may name what is gone since
        return any(name in text for name in names for text in (str(error), self._said()))

    def _check_refused_write(self, row: bytes, refusal: HbtableError) -> None:
        if self._damage.path.startswith("sstables/") and not self._closes_all():
            assert not isinstance(refusal, Corruption), f"a write to {row!r} needs no SSTable: {refusal}"

    def _closes_all(self) -> bool:
        return self._damage.path.startswith((METADATA_FOLDER, *CLOSING_NODES))

    def _needs(self, row: bytes, incarnation: str) -> bool:
        """Whether its tablet, or one of METADATA's, has something in that log."""
        users = [record for record in self._records if any(log.incarnation == incarnation for log in record.logs)]
        return any(record.table_id == METADATA_TABLE_ID or record.range.holds(row) for record in users)

    def _needs_for_metadata(self, incarnation: str) -> bool:
        return any(
            record.table_id == METADATA_TABLE_ID and any(log.incarnation == incarnation for log in record.logs)
            for record in self._records
        )

    def _said(self) -> str:
        """By the masters, and by processes that could not start."""
        cluster = self.cluster
        said = [slot.process.why for slot in [*cluster.masters, *cluster.servers]]
        for slot in cluster.masters:
            said.append(getattr(getattr(slot.process, "master", None), "last_message", ""))
        return "; ".join(one for one in said if one)

    # ------------------------------------------------------------ what goes on

    def _work(self, reader: ClientProcess) -> None:
        """New values, flushes, compactions, a split, a new table."""
        writer = self._writer(reader, ROWS, f"w{reader.runtime.clock_seconds():.0f}")
        for row in self._chance.sample(ROWS, 6):
            try:
                writer.write(row)
                self.outcome.count["rows written"] += 1
            except HbtableError as refusal:
                self.outcome.count["writes refused"] += 1
                self._check_refused_write(row, refusal)
        admin = reader.client.admin
        for work in (admin.flush, admin.major_compact):
            with suppress(HbtableError):
                work(TABLE)
        with suppress(HbtableError):
            admin.split(TABLE, self._chance.choice(ROWS))
        with suppress(HbtableError):
            _create(reader, TableSchema(LATER, {b"f": FamilySchema(b"f")}), [b"m"], once=True)
            for row in (b"a", b"z"):
                reader.client.table(LATER).mutate([RowMutation(row, [(PUT, b"f", b"v", SERVER_TIME, row)])])
                found = reader.client.table(LATER).read_rows([row], EVERYTHING)
                assert [value for _, cells in found for _, _, value in cells] == [row], f"{row!r} of {LATER!r}: {found}"
            self.outcome.count["new tables"] += 1
        with suppress(HbtableError):
            _check_ids(list(reader.client.catalog.all_tablet_rows()))


def _files(records: list[TabletRecord]) -> Iterator[str]:
    for record in records:
        for _, refs in record.files:
            yield from (ref.path for ref in refs)


def _logs(records: list[TabletRecord]) -> dict[str, dict[int, int]]:
    """By incarnation, then by tablet: the first sequence that it needs of that log."""
    found: dict[str, dict[int, int]] = {}
    for record in records:
        for log in record.logs:
            found.setdefault(log.incarnation, {})[record.tablet_id] = log.first_needed
    return found


def _check_ids(records: list[TabletRecord]) -> None:
    ids = Counter(record.tablet_id for record in records)
    twice = [record for record in records if ids[record.tablet_id] > 1]
    assert not twice, f"several tablets have one id: {twice}"


def _create(process: ClientProcess, wanted: TableSchema, splits: list[bytes], once: bool = False) -> None:
    """However often that has to be asked for, unless `once`."""
    while True:
        try:
            if wanted.name in process.client.admin.table_names():
                return
            process.client.admin.create_table(wanted, splits)
            return
        except TableExists:
            return
        except HbtableError:
            if once:
                raise
            process.runtime.sleep(0.2)


def run_damaged_seed(seed: int, **options: Any) -> Outcome:
    """One seed with these options, for outcomes()."""
    return DamagedSchedule(seed, **options).run()
