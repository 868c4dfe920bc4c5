"""Clients of one tablet, whose rows are deleted as ranges while it is written, read, flushed, compacted and split, and
while its server dies: each row's history must have an order (linearizability.py)."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from hbtable.errors import HbtableError, StaleLocation, Unavailable
from hbtable.model.cell import SERVER_TIME, Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.linearizability import Operation
from tests.harness.sim_workload import ROWS, Journal, Worker, row_of, schema
from tests.harness.tablet_bench import Bench, VanishingFileSystem, everything

_LIFE_SECONDS = 0.6


class OneMachine:
    """What a Worker takes for a client process, and for its client, and for a table."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"races {seed}")
        self.bench = Bench(seed, "sync", schema())
        self.bench.options = TabletOptions(merge_files=2, scan_seconds=0.0)
        self.runtime = self.bench.runtime
        self.lease = None
        self.client = self
        self.records = [self.bench.records]
        self.tablets: list[Tablet] = []

    def table(self, _name: bytes) -> "OneMachine":
        return self

    def start(self) -> None:
        self.bench.fs = VanishingFileSystem(self.bench.memory, self._read_slowly)
        self.bench.start_server()
        self.tablets = [self.bench.load(records) for records in self.records]

    def _read_slowly(self) -> None:
        if self._chance.random() < 0.5:
            self.runtime.sleep(self._chance.choice((0.0, 0.001)))

    def lose_power(self) -> None:
        for tablet in self.tablets:
            tablet.close()
        self.bench.memory = self.bench.memory.crash_clone(self.runtime.random)
        self.start()

    # ------------------------------------------------------------ a table

    def _tablet_of(self, row: bytes) -> Tablet:
        found = next((tablet for tablet in self.tablets if tablet.range.holds(row)), None)
        if found is None:
            raise StaleLocation("it is being split")
        return found

    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self._tablet_of(mutations[0].row).mutate(mutations)

    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        return self._tablet_of(row).increment(row, family, qualifier, amount)

    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]]) -> list[Cell]:
        return self._tablet_of(row).append(row, values)

    def check_and_mutate(self, row: bytes, *arguments: Any) -> bool:
        return self._tablet_of(row).check_and_mutate(row, *arguments)

    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        return self._tablet_of(rows[0]).read_rows(rows, spec)

    def delete_range(self, rows: RowRange) -> None:
        """The part of it that lies in the first tablet that has any: a Worker is told of all rows or of none."""
        tablet = self._tablet_of(rows.start)
        if rows.intersect(tablet.range) != rows:
            raise StaleLocation("it lies in two tablets")
        tablet.delete_range(rows, SERVER_TIME)

    # ------------------------------------------------------------ what else happens

    def maintain(self) -> None:
        """One step of a tablet server's maintenance, or an operator's word."""
        tablet = self._chance.choice(self.tablets)
        step: Callable[[], object] = self._chance.choice(
            (tablet.flush, lambda: tablet.compact(False), lambda: tablet.compact(True), lambda: self._split(tablet))
        )
        try:
            step()
        except HbtableError as error:
            if not isinstance(error, (Unavailable, StaleLocation)):
                raise

    def _split(self, parent: Tablet) -> None:
        row = self._chance.choice(ROWS)
        if len(self.tablets) > 2 or not parent.may_split_at(row) or self._chance.random() < 0.5:
            return
        parent.freeze_for_unload()
        children = self.bench.split(parent, row)
        parent.close()
        place = self.tablets.index(parent)
        self.tablets[place : place + 1] = children
        self.records[place : place + 1] = self.bench.children[-2:]


def violations(seed: int) -> list[str]:
    """The rows whose histories no order explains, in one life of a machine with two servers after each other."""
    machine = OneMachine(seed)
    runtime = machine.runtime
    journal = Journal(runtime.clock_seconds)

    def life(number: int) -> None:
        until = runtime.clock_seconds() + _LIFE_SECONDS

        def going() -> bool:
            return runtime.clock_seconds() < until

        def maintenance() -> None:
            while going():
                machine.maintain()
                runtime.sleep(machine._chance.choice((0.0, 0.002, 0.02)))

        workers = [Worker(machine, journal, f"w{number}{name}", seed) for name in range(4)]  # type: ignore[arg-type]
        for worker in workers:
            worker._mix = (30, 15, 25, 12, 12, 3, 8)
        tasks = [runtime.spawn(worker.run, going, (0.0, 0.002, 0.02)) for worker in workers]
        tasks.append(runtime.spawn(maintenance))
        for task in tasks:
            task.join()

    def main() -> None:
        machine.start()
        life(1)
        machine.lose_power()
        life(2)
        _read_everything(machine, journal)

    machine.bench.run(main)
    return journal.violations()


def _read_everything(machine: OneMachine, journal: Journal) -> None:
    """By scans, which must show what gets do."""
    reader = Worker(machine, journal, "reader", 0)  # type: ignore[arg-type]
    found = {row: cells for tablet in machine.tablets for row, cells in everything(tablet)}
    for row in ROWS:
        operation = Operation("get", "scan", None, journal.clock())
        journal.record(row, operation, lambda row=row: row_of(found.get(row, [])))  # type: ignore[misc]
        operation = Operation("get", "get", None, journal.clock())
        journal.record(row, operation, lambda row=row: reader.read(machine, row))  # type: ignore[misc, arg-type]
