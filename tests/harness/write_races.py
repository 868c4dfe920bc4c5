"""Clients of one tablet that write the same few rows at random, while its gate shuts and opens, its log is slow and
refuses, and some of them are killed. What became visible, in its order, is replayed by a small model (write_order.py).
It must explain each answer, each read and what is there at the end."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from hbtable.errors import HbtableError, NotACounter, OutOfSpace, Unavailable
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.put_batch import PutBatch
from hbtable.model.ranges import RowRange
from hbtable.model.read import ALL_VERSIONS, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime import joining
from hbtable.runtime.interface import Task
from hbtable.sstable.cache import BlockCache
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes import apply, prepared, writing
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.tablet_bench import Bench, VanishingFileSystem, everything
from tests.harness.write_order import OPERATORS, ROWS, Call, Oracle, shown

COLUMNS = [(b"f", b"n"), (b"g", b"n")]
CLIENTS = 7
CALLS = 14
_MANY_VERSIONS = 10_000
SCHEMA = TableSchema(
    b"t",
    {
        b"f": FamilySchema(b"f", max_versions=_MANY_VERSIONS),
        b"g": FamilySchema(b"g", max_versions=_MANY_VERSIONS, locality_group="other"),
    },
)
EVERY_VERSION = ReadSpec(max_versions=ALL_VERSIONS)


class WatchedLog(DelegatingFake):
    """Notes in which order what was committed becomes visible."""

    OWN = ()

    def __init__(self, inner: Any, machine: "Machine") -> None:
        super().__init__(inner)
        self._machine = machine
        self._last = 0
        self._to_be_refused = 0
        """Commits; those that follow one of them have to be refused, too."""

    def commit(
        self,
        tablet_id: int,
        last: int,
        records: bytes,
        insert: Callable[[], None],
        exempt: bool,
        count: int,
        refused: Callable[[], None],
        follows: bool = False,
        checksum: int | None = None,
    ) -> None:
        machine = self._machine
        runtime, chance = machine.runtime, machine.chance
        runtime.wall_offset_millis += 10  # no two writes have one time
        call = machine.running()
        error = chance.choice((OutOfSpace, Unavailable))
        luck = chance.random()
        if luck < 0.02:
            refused()
            raise error("the log refuses at once")
        if luck < 0.04 or self._has_to_refuse(follows):
            self._to_be_refused += 1  # also when this task is killed meanwhile
            runtime.spawn(self._refuse_after, chance.random() * 0.01, refused).join()
            raise error("the log refuses later")

        def watched() -> None:
            assert last > self._last, "the log applies in its order"
            self._last = last
            machine.has_place(call)
            insert()

        self.inner.commit(tablet_id, last, records, watched, exempt, count, refused, checksum=checksum)

    def _has_to_refuse(self, follows: bool) -> bool:
        return follows and self._to_be_refused > 0

    def _refuse_after(self, seconds: float, refused: Callable[[], None]) -> None:
        self._machine.runtime.sleep(seconds)
        self._to_be_refused -= 1
        refused()


class Machine:
    """A tablet, its clients, and what else happens."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"write races {seed}")
        self.bench = Bench(seed, self.chance.choice(("os", "sync", "sync")), SCHEMA)
        self.bench.options = TabletOptions(
            slice_seconds=0.0, merge_files=2, scan_seconds=0.0, write_wait_seconds=self.chance.choice((0.02, 10.0))
        )
        self.bench.cache = BlockCache(self.chance.choice((0, 1 << 20)))
        self.bench.fs = VanishingFileSystem(self.bench.memory, self._read_slowly)
        self.runtime = self.bench.runtime
        self.calls: list[Call] = []
        self.order: list[Call] = []
        self._running: dict[object, Call] = {}
        self._tasks: list[Task] = []
        self._values = 0
        self._clients_left = CLIENTS

    def run(self) -> None:
        self.bench.run(self._life)

    def _life(self) -> None:
        self.bench.start_server()
        self.bench.log = WatchedLog(self.bench.log, self)  # type: ignore[assignment]
        self.tablet = self.bench.load()
        tasks = [self.runtime.spawn(self._client) for _ in range(CLIENTS)]
        tasks += [self.runtime.spawn(self._disturb) for _ in range(2)]
        tasks += [self.runtime.spawn(self._kill)]
        for task in tasks:
            task.join()
            assert task.error is None
        state = self.tablet._state
        state.row_locks.wait_until_idle()
        assert not state.row_locks.held
        assert not state.gate.shut
        self.at_the_end = {row: shown(cells) for row, cells in everything(self.tablet, ScanRequest(spec=EVERY_VERSION))}
        self.tablet.close()

    def running(self) -> Call:
        return self._running[self.runtime.scheduler.current]

    def has_place(self, call: Call) -> None:
        call.places.append(len(self.order))
        self.order.append(call)

    def has_deleted_a_range(self) -> None:
        self.has_place(self.running())

    def _read_slowly(self) -> None:
        if self.chance.random() < 0.3:
            self.runtime.sleep(self.chance.choice((0.0, 0.001, 0.004)))

    # ------------------------------------------------------------ clients

    def _client(self) -> None:
        for _ in range(CALLS):
            task = self.runtime.spawn(self._call, self._chosen())
            self._tasks.append(task)
            task.join()
            self._tasks.remove(task)
            assert task.error is None
            self.runtime.sleep(self.chance.choice((0.0, 0.0, 0.0, 0.002)))
        self._clients_left -= 1

    def _call(self, call: Call) -> None:
        self.calls.append(call)
        self._running[self.runtime.scheduler.current] = call
        call.began = len(self.order)
        try:
            call.answer = self._performed(call)
            call.outcome = "done"
        except (OutOfSpace, Unavailable, NotACounter) as error:
            call.outcome = type(error).__name__
        except HbtableError as error:
            call.outcome = f"unexpected {error!r}"
        finally:
            call.ended = len(self.order)

    def _performed(self, call: Call) -> Any:
        if call.kind != "mutate_if":
            return getattr(self.tablet, call.kind)(*call.arguments)
        row, family, qualifier, value, operator, mutation = call.arguments
        spec = ReadSpec({family: frozenset((qualifier,))})
        return self.tablet.mutate_if(row, spec, operator, value, mutation)

    def _chosen(self) -> Call:
        chance = self.chance
        row = chance.choice(ROWS)
        column = chance.choice(COLUMNS)
        kind = chance.choices(
            ("mutate", "increment", "append", "check_and_mutate", "delete_range", "read_rows"), (9, 6, 3, 3, 0.4, 2)
        )[0]
        arguments: tuple[Any, ...]
        if kind == "mutate":
            arguments = (self._mutations(),)
        elif kind == "increment":
            arguments = (row, *column, chance.randrange(1, 9))
        elif kind == "append":
            arguments = (row, [(*column, chance.choice((b"", b"", b"+%d" % chance.randrange(9))))])
        elif kind == "check_and_mutate":
            now = [self._newest_now(row, column), None, b"never"]
            value = chance.choices(now, (6, 2, 1))[0]
            arguments = (row, *column, value, self._mutation(row))
            if self._values % 2:
                kind = "mutate_if"
                operator = OPERATORS[self._values // 2 % (2 if value is None else len(OPERATORS))]
                arguments = (*arguments[:4], operator, arguments[4])
        elif kind == "delete_range":
            arguments = (RowRange(row, chance.choice((b"", row + b"\0"))), SERVER_TIME)
        else:
            arguments = ([row], EVERY_VERSION)
        return Call(kind, arguments)

    def _newest_now(self, row: bytes, column: tuple[bytes, bytes]) -> bytes | None:
        found = shown([cell for _, cells in self.tablet.read_rows([row], EVERY_VERSION) for cell in cells])
        return found.get(b":".join(column), [None])[0]

    def _value(self) -> bytes:
        self._values += 1
        if self.chance.random() < 0.9:
            return (1000 * self._values).to_bytes(8, "big")
        return b"v%d" % self._values + b"." * self.chance.choice((0, 0, 200))

    def _mutations(self) -> Sequence[RowMutation]:
        chance = self.chance
        rows = chance.choices(ROWS, k=chance.randrange(1, 7))
        if chance.random() < 0.25:
            return PutBatch(*chance.choice(COLUMNS), SERVER_TIME, rows, [self._value() for _ in rows])
        if chance.random() < 0.2:  # two deletes of one newest version in one call of several mutations are one
            return [self._mutation(row, True) for row in sorted(set(rows))]
        return [self._mutation(row, False) for row in rows]

    def _mutation(self, row: bytes, newest: bool | None = None) -> RowMutation:
        chance = self.chance
        columns = chance.sample(COLUMNS, chance.choice((1, 2, 2)))
        if newest or (newest is None and chance.random() < 0.2):
            kinds = [DELETE_VERSION, *chance.choices((DELETE_VERSION, PUT), k=2)]
        else:
            columns += chance.choices(COLUMNS, k=chance.choice((0, 0, 1, 3)))
            kinds = chance.choices((PUT, DELETE_COLUMN, DELETE_FAMILY), (12, 2, 1), k=len(columns))
        operations = []
        for kind, (family, qualifier) in zip(kinds, columns, strict=False):
            qualifier = b"" if kind == DELETE_FAMILY else qualifier
            operations.append((kind, family, qualifier, SERVER_TIME, self._value() if kind == PUT else b""))
        return RowMutation(row, operations)

    # ------------------------------------------------------------ what else happens

    def _pause(self) -> None:
        self.runtime.sleep(self.chance.choice((0.0, 0.001, 0.003, 0.005, 0.02)))

    def _kill(self) -> None:
        while self._clients_left:
            self.runtime.sleep(self.chance.random() * 0.1)
            if self._tasks:
                self.chance.choice(self._tasks).kill()

    def _disturb(self) -> None:
        steps = (self._hold, self._stall, self._fill, self._freeze, self._fill_disk, self._flush)
        often = (8, 1, 1, 1, 0.5, 2)
        while self._clients_left:
            self.runtime.sleep(self.chance.random() * 0.006)
            try:
                self.chance.choices(steps, often)[0]()
            except (Unavailable, OutOfSpace):
                pass

    def _flush(self) -> None:
        self.tablet.flush()
        self.tablet.compact(self.chance.random() < 0.3)

    def _hold(self) -> None:
        """Best while a call waits for a row that it found held."""
        gate, held = self.tablet._state.gate, self.tablet._state.row_locks.held
        for _ in range(100):
            if any(held.values()):
                break
            self.runtime.sleep(0)
        if not gate._held:
            gate.hold()
            self._pause()
            gate.let_go()

    def _stall(self) -> None:
        self.tablet._state.gate.stall(99)
        self._pause()
        self.tablet._state.gate.stall(0)

    def _fill(self) -> None:
        self._limit_memory(-1)
        self._pause()
        self._limit_memory(1 << 30)
        self.bench.shared.memory_freed.set()

    def _limit_memory(self, limit: int) -> None:
        shared = self.bench.shared
        shared.memtable_limit_bytes = limit
        shared.set_out_of_space(shared.out_of_space)

    def _fill_disk(self) -> None:
        self.bench.shared.set_out_of_space("the disk is full")
        self._pause()
        self.bench.shared.set_out_of_space("")

    def _freeze(self) -> None:
        self.tablet.freeze_for_unload()
        self._pause()
        self.tablet.thaw()


@contextmanager
def _few_are_many(machine: Machine) -> Iterator[None]:
    """Each life has its own limits of what is built at once. The place of a range's delete is noted."""
    deleted = TabletState.install
    chance = machine.chance
    ranges = 0

    def install(self: TabletState, version: Any) -> None:
        nonlocal ranges
        deleted(self, version)
        if self.ranges_deleted > ranges:
            ranges = self.ranges_deleted
            machine.has_deleted_a_range()

    with ExitStack() as stack:
        stack.enter_context(patch.object(TabletState, "install", install))
        stack.enter_context(patch.object(writing, "_MOST_AT_ONCE", chance.choice((6, 5000))))
        stack.enter_context(patch.object(prepared, "ADDED_AT_ONCE", chance.choice((2, 20_000))))
        if chance.random() < 0.5:
            stack.enter_context(patch.object(apply, "_LARGE_CELL_BYTES", 0))
            stack.enter_context(patch.object(apply, "HEAVY_BYTES", 400))
            stack.enter_context(patch.object(joining, "_AT_ONCE_BYTES", 0))
        yield


def violations(seed: int) -> list[str]:
    """What no order of the writes of this seed's machine explains."""
    machine = Machine(seed)
    with _few_are_many(machine):
        machine.run()
    return Oracle(machine.calls, machine.order, machine.at_the_end).violations()
