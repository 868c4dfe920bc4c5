"""Bytes that change in the server's memory after a write was checked: found, said, and never stored."""

from typing import Any

import pytest

from hbtable.errors import MemoryDamaged, OutcomeUnknown, StorageFailed
from hbtable.memtable.memtable import Memtable
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_VERSION, PUT, RowMutation, checksum_of, keep_checksums
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.codec.calls import METHODS, read_head
from hbtable.rpc.thrift_transport import CheckedTabletService
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes.checked_write import CheckedWrite
from hbtable.thrift.message import MessageReader
from tests.harness.tablet_bench import Bench, everything, put


def change_in_memtable(tablet: Tablet) -> None:
    """A value of the active memtable that holds the most."""
    memtable = max((stack.active for stack in tablet._state.version.stacks if stack.active), key=lambda it: it.cells)
    key = sorted(memtable._values)[memtable.cells // 2]
    memtable._values[key] = b"changed"


def sstables(bench: Bench) -> list[str]:
    return [status.path for status in bench.fs.list_files("sstables")]


def refused(tablet: Tablet) -> None:
    """Nothing of what changed is stored, now or when asked again, and the server takes no more writes."""
    for _ in range(2):
        with pytest.raises(MemoryDamaged, match=r"tablet 20 of table t, locality group f, changed in memory.*restart"):
            tablet.flush()
    with pytest.raises((StorageFailed, OutcomeUnknown), match="changed in memory"):
        tablet.mutate([put(b"later", b"f:a", b"1")])


@pytest.mark.parametrize("durability", ["os", "sync"])
@pytest.mark.parametrize("flushed_before", [False, True])
def test_a_cell_that_changed_in_the_memtable_is_not_stored_and_comes_back_from_the_log(
    durability: str, flushed_before: bool
) -> None:
    bench = Bench(durability=durability)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"early", b"f:a", b"1")])
        if flushed_before:
            tablet.flush()
        for n in range(20):
            tablet.mutate([put(b"%d" % k, b"f:a", b"%d" % n) for k in range(n, 40)])
        tablet.mutate([put(b"%d" % n, b"g:a", b"") for n in range(3)])
        acknowledged = everything(tablet)
        before = sstables(bench)
        change_in_memtable(tablet)
        refused(tablet)
        assert sstables(bench) == before
        assert not bench.shared.files_in_flight
        bench.crash()
        again = bench.open()
        assert everything(again) == acknowledged
        again.flush()
        assert everything(again) == acknowledged

    bench.run(main)


@pytest.fixture
def built(monkeypatch) -> list[CheckedWrite]:
    """The writes that were checked, in order."""
    found: list[CheckedWrite] = []
    make = CheckedWrite.__init__

    def noted(self: CheckedWrite, *arguments: object) -> None:
        make(self, *arguments)  # type: ignore[arg-type]
        found.append(self)

    monkeypatch.setattr(CheckedWrite, "__init__", noted)
    return found


def test_a_cell_that_changed_while_its_record_waited_for_the_log_is_not_stored(built) -> None:
    bench = Bench(durability="sync")

    def main() -> None:
        tablet = bench.open()
        task = bench.runtime.spawn(tablet.mutate, [put(b"a", b"f:a", b"1"), put(b"b", b"f:a", b"2")])
        while not built:
            bench.runtime.sleep(0)
        pairs = next(pairs for pairs in built[-1].by_stack if pairs)
        pairs[1] = (pairs[1][0], b"changed")
        task.join()
        refused(tablet)
        bench.crash()
        assert [(row, cells[0][2]) for row, cells in everything(bench.open())] == [(b"a", b"1"), (b"b", b"2")]

    bench.run(main)


@pytest.mark.parametrize("change", [True, False])
def test_a_change_of_the_schema_overtaking_a_write_does_not_hide_what_changed(built, change: bool) -> None:
    bench = Bench(durability="sync")
    other = TableSchema(b"t", {name: FamilySchema(name) for name in (b"f", b"g")}, version=2)

    def main() -> None:
        tablet = bench.open()
        task = bench.runtime.spawn(tablet.mutate, [put(b"a", b"f:a", b"1"), put(b"b", b"g:a", b"2")])
        while not built:
            bench.runtime.sleep(0)
        if change:
            pairs = next(pairs for pairs in built[-1].by_stack if pairs)
            pairs[0] = (pairs[0][0], b"changed")
        tablet.schema = other
        task.join()
        if change:
            with pytest.raises(MemoryDamaged):
                tablet.flush()
        else:
            tablet.flush()

    bench.run(main)


def test_the_check_is_what_finds_it(monkeypatch) -> None:
    """The planted bug: without it the changed cell is stored, and stays."""
    bench = Bench()
    monkeypatch.setattr(Memtable, "changed", lambda _: iter(()))

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"a", b"f:a", b"1")])
        change_in_memtable(tablet)
        tablet.flush()
        assert everything(tablet)[0][1][0][2] == b"changed"

    bench.run(main)


# ---------------------------------------------------------------- before the log record: on the way to the tablet


def sent(mutations: list[RowMutation]) -> list[RowMutation]:
    """What another process reads of them."""
    carried: list[list[RowMutation]] = []

    def carry(_: object, arguments: tuple[Any, ...]) -> None:
        frame = METHODS["mutate"].request(1, ("server", *arguments), lambda: None)
        position = read_head(frame[4:])[3]
        carried.append(METHODS["mutate"].read_arguments(MessageReader(frame[4:]), position)[2])

    CheckedTabletService(carry).mutate(20, mutations)
    return carried[0]


def one_byte_elsewhere(mutation: RowMutation) -> list[RowMutation]:
    """It, with one thing changed in memory and the checksum as it was."""
    (kind, family, qualifier, timestamp, value), *rest = mutation.operations
    others = [
        (mutation.row[:-1] + b"!", mutation.operations, mutation.skip_log, mutation.ttl_millis),
        (mutation.row, [(DELETE_COLUMN, family, qualifier, timestamp, value), *rest], False, 0),
        (mutation.row, [(kind, b"g", qualifier, timestamp, value), *rest], False, 0),
        (mutation.row, [(kind, family, qualifier + b"!", timestamp, value), *rest], False, 0),
        (mutation.row, [(kind, family, qualifier, timestamp ^ 1, value), *rest], False, 0),
        (mutation.row, [(kind, family, qualifier, timestamp, value[:-1] + b"!"), *rest], False, 0),
        (mutation.row, [*rest, mutation.operations[0]], False, 0),
        (mutation.row, rest, False, 0),
        (mutation.row, mutation.operations, True, 0),
        (mutation.row, mutation.operations, False, 1),
    ]
    return [RowMutation(*other, mutation.checksum) for other in others]


def cells(tablet: Tablet) -> list[tuple[bytes, bytes]]:
    return [(row, one[2]) for row, found in everything(tablet) for one in found]


@pytest.mark.parametrize("durability", ["os", "sync"])
def test_a_mutation_that_changed_on_its_way_to_the_tablet_is_refused(durability: str) -> None:
    bench = Bench(durability=durability)

    def main() -> None:
        tablet = bench.open()
        first = RowMutation(b"a", [(PUT, b"f", b"q", 7, b"1"), (PUT, b"f", b"r", 8, b"2")])
        arrived = sent([first, put(b"b", b"f:a", b"3")])
        assert arrived[0].checksum
        for changed in one_byte_elsewhere(arrived[0]):
            with pytest.raises(MemoryDamaged, match="changed in memory on its way to the tablet"):
                tablet.mutate([arrived[1], changed])
            with pytest.raises(MemoryDamaged):
                tablet.check_and_mutate(changed.row, b"f", b"q", None, changed)
        assert everything(tablet) == []
        tablet.mutate(arrived)
        written = [(b"a", b"1"), (b"a", b"2"), (b"b", b"3")]
        assert cells(tablet) == written
        bench.crash()
        assert cells(bench.open()) == written

    bench.run(main)


def test_a_delete_of_the_newest_version_that_changed_is_refused(bench: Bench) -> None:
    """It is made anew by the tablet, with the time of that version."""

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"a", b"f:a", b"1"), put(b"b", b"f:a", b"2")])
        delete = RowMutation(b"a", [(DELETE_VERSION, b"f", b"a", SERVER_TIME, b"")])
        changed = RowMutation(b"b", delete.operations, checksum=checksum_of(delete))
        with pytest.raises(MemoryDamaged):
            tablet.mutate([changed])
        tablet.mutate(sent([delete]))
        assert cells(tablet) == [(b"b", b"2")]

    bench.run(main)


def test_a_mutation_that_changed_while_it_waited_at_the_gate_is_refused(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet._state.gate.freeze()
        waiting = put(b"a", b"f:a", b"1")
        errors = []

        def client() -> None:
            try:
                tablet.mutate([waiting])
            except MemoryDamaged as error:
                errors.append(error)

        task = bench.runtime.spawn(client)
        bench.runtime.sleep(0)
        waiting.operations[0] = (*waiting.operations[0][:4], b"changed")
        tablet._state.gate.thaw()
        task.join()
        assert errors
        assert everything(tablet) == []

    bench.run(main)


@pytest.mark.parametrize("wrong", [None, 7, "row", bytearray(b"row")])
def test_what_is_no_mutation_is_left_to_whoever_checks_types(wrong: object) -> None:
    mutation = RowMutation(wrong, [(PUT, b"f", b"q", 1, b"")])  # type: ignore[arg-type]
    keep_checksums([mutation])
    keep_checksums([wrong])  # type: ignore[list-item]
