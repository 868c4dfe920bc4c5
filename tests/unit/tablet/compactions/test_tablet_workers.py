"""Compactions computed in worker processes: the same bytes, whatever becomes of the processes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from hbtable.encoding.cell_key import cell_key
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.errors import OutOfSpace, Unavailable
from hbtable.fs.memory import MemoryAppendFile
from hbtable.memtable.memtable import Memtable
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Ask, AskingJob, JobFailed, WorkerDied
from hbtable.sstable.properties import SSTableIdentity
from hbtable.tablet.compactions import worker_job
from hbtable.tablet.compactions.deleted_meanwhile import CompactionCancelled
from hbtable.tablet.compactions.making import OutputSpec, make
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions
from tests.harness.tablet_bench import Bench, delete, everything, put

SCHEMA = TableSchema(
    b"t", {b"f": FamilySchema(b"f", max_versions=2, compression="GZ"), b"g": FamilySchema(b"g", bloom="ROWCOL")}
)
ALL = TabletOptions(worker_bytes=0, output_bytes=3000, memtable_bytes=1 << 30)


def _bench(options: TabletOptions = ALL, deaths: float = 0.0) -> Bench:
    bench = Bench(schema=SCHEMA)
    bench.runtime = SimulatedRuntime(0, SimulationOptions(worker_deaths=deaths))
    bench.memory = bench.memory.__class__(bench.runtime)
    bench.fs = bench.memory
    bench.options = options
    return bench


class Conversations:
    """What a runtime is asked to do in processes, with a hand in each question."""

    def __init__(self, bench: Bench, before: Callable[[int], object] = lambda number: None) -> None:
        self._converse = bench.runtime.converse_in_process
        self._before = before
        self.kinds: list[str] = []
        self.questions: list[Sequence[bytes]] = []
        bench.runtime.converse_in_process = self.converse  # type: ignore[method-assign]

    def converse(
        self, kind: str, job: AskingJob, parts: Sequence[bytes], answer: Ask, seconds: float
    ) -> Sequence[bytes]:
        self.kinds.append(kind)

        def watched(question: Sequence[bytes]) -> Sequence[bytes]:
            self.questions.append(question)
            self._before(len(self.questions))
            return answer(question)

        return self._converse(kind, job, parts, watched, seconds)


def _fill(tablet: Tablet, first: int, rows: int = 300) -> None:
    """Versions in excess, markers and what they mask."""
    for number in range(first, first + rows):
        row = b"row %05d" % number
        tablet.mutate([put(row, b"f:q", b"v" * (number % 50), 1000 + first), put(row, b"g:%d" % number, b"x" * 20)])
        if not number % 7:
            tablet.mutate([delete(row, b"f:q", 900)])


def _life(bench: Bench) -> list[tuple[str, bytes]]:
    """Flushes, a merging compaction, a range of rows deleted, a major one; the SSTables that are there after each."""

    def main() -> list[tuple[str, bytes]]:
        tablet = bench.open()
        seen = []
        named: set[str] = set()
        steps = [lambda: tablet.compact(False), lambda: tablet.compact(True)]
        for first in (0, 100, 200, 300):
            steps.insert(first // 100, lambda first=first: (_fill(tablet, first), tablet.flush()))
        gone = RowRange(b"row 00050", b"row 00060")
        steps.insert(-1, lambda: tablet.delete_range(gone, SERVER_TIME))
        for step in steps:
            step()
            named |= {ref.path for _, refs in tablet.record.files for ref in refs}
            seen += _files(bench)
            # What was begun and given up is gone; what was replaced is left to the collector.
            assert named == {path for path, _ in _files(bench)}
            assert not bench.shared.files_in_flight
        assert len(everything(tablet)) == 590
        return seen

    return bench.run(main)


def _files(bench: Bench) -> list[tuple[str, bytes]]:
    return [(status.path, bench.memory.read_file(status.path)) for status in bench.memory.list_files("sstables")]


def test_a_worker_writes_the_same_bytes() -> None:
    here = _life(_bench(replace(ALL, worker_bytes=1 << 30)))
    bench = _bench()
    heard = Conversations(bench)
    there = _life(bench)
    assert [path for path, _ in there] == [path for path, _ in here]
    assert {"flush", "compaction"} == set(heard.kinds)
    assert {question[0] for question in heard.questions} == {worker_job.READ, worker_job.PAIRS, worker_job.APPEND}


def test_a_large_cell_goes_to_its_file_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are served between two of them: a piece is copied, and taken by the system, in the hub."""
    pieces: list[bytes] = []
    append = MemoryAppendFile.append

    def noted(file: MemoryAppendFile, data: bytes) -> None:
        if file.path.endswith(".sst"):
            pieces.append(data)
        append(file, data)

    monkeypatch.setattr(MemoryAppendFile, "append", noted)
    bench = _bench()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"row", b"g:q", bytes(3 << 20), 1000)])
        tablet.flush()

    bench.run(main)
    assert sum(map(len, pieces)) > 3 << 20
    assert max(map(len, pieces)) <= 256 << 10


def test_a_real_worker_writes_what_this_process_writes() -> None:
    """Byte by byte, of memtables and of SSTables."""
    runtime = GeventRuntime()
    layout = LocalityGroupLayout(SCHEMA)
    memtable, halves = Memtable(), (Memtable(), Memtable())
    for number in range(3000):
        row = b"row %05d" % (number * 7919 % 3000)
        pairs = [(cell_key(row, b"f", b"q", 1000 + number % 3, PUT, number + 1), b"v" * (number % 300))]
        for one in (memtable, halves[number % 2]):
            one.add(pairs, number + 1, checksum_of(pairs))
    spec = OutputSpec(
        layout.sstable_options("f"), SSTableIdentity(16, 20, "f", 1), layout.rules, 5000, True, 0, 0, 10_000
    )
    here: list[bytes] = []
    made = make(memtable.scan(b"", b"", 3000), spec, here.append, lambda: None)
    assert made is not None
    file = b"".join(here)
    try:
        itself = [worker_job.WorkerInput("x", made.length_bytes, made.footer_checksum)]
        for memtables, inputs in (((memtable,), []), (halves, []), ((), itself)):
            portions = worker_job.portions_of(memtables, 3000)
            there: list[bytes] = []

            def answer(question: Sequence[bytes], portions=portions, there=there) -> Sequence[bytes]:
                if question[0] == worker_job.PAIRS:
                    return worker_job.portion_of(portions)
                if question[0] == worker_job.READ:
                    _, offset, size = worker_job.place_of(question)
                    return [file[offset : offset + size]]
                there.append(question[1])
                return []

            asked_for = worker_job.asked_for(worker_job.Work(spec, inputs, b"", b""))
            answered = runtime.converse_in_process("flush", worker_job.write_sstable, asked_for, answer, 60.0)
            assert worker_job.made_of(answered) == made
            assert b"".join(there) == file
    finally:
        runtime.close()


@pytest.mark.parametrize("deaths", [1.0, 0.3])
def test_killed_workers_cost_time_only(deaths: float) -> None:
    bench = _bench(deaths=deaths)
    heard = Conversations(bench)
    assert [path.count("/") for path, _ in _life(bench)]
    assert heard.kinds
    assert bench.shared.worker_failures.value > 0


def test_workers_that_die_are_left_alone_for_a_while() -> None:
    bench = _bench(deaths=1.0)
    heard = Conversations(bench)

    def main() -> None:
        tablet = bench.open()
        for _ in range(2):
            _fill(tablet, 0, 10)
            tablet.flush()
        assert len(heard.kinds) == 2  # of the first stack alone
        bench.runtime.sleep(61)
        _fill(tablet, 0, 10)
        tablet.flush()
        assert len(heard.kinds) == 4

    bench.run(main)


def test_another_programs_worker_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = _bench()
    heard = Conversations(bench)

    def main() -> None:
        tablet = bench.open()
        _fill(tablet, 0)
        asked_for = worker_job.asked_for
        monkeypatch.setattr(worker_job, "asked_for", lambda work: [b"\0\0\0\0", *asked_for(work)[1:]])
        tablet.flush()
        assert (len(heard.kinds), heard.questions) == (1, [])
        assert len(everything(tablet)) == 300

    bench.run(main)


def test_a_cancelled_compaction_ends_soon_and_leaves_no_file() -> None:
    bench = _bench()

    def main() -> None:
        tablet = bench.open()
        for first in (0, 100):
            _fill(tablet, first)
            tablet.flush()
        before = _files(bench)
        errors: list[Unavailable] = []

        def compact() -> None:
            try:
                tablet.compact(True)
            except Unavailable as error:
                errors.append(error)

        heard = Conversations(bench, lambda number: number == 3 and bench.runtime.spawn(tablet.freeze_for_unload))
        task = bench.runtime.spawn(compact)
        assert task.join(60)
        assert [type(error) for error in errors] == [CompactionCancelled]
        assert len(heard.questions) < 8
        assert _files(bench) == before
        tablet.thaw()
        tablet.compact(True)

    bench.run(main)


@pytest.mark.parametrize("error", [WorkerDied("was killed"), JobFailed("it failed"), OutOfSpace("the disk is full")])
def test_what_was_written_before_an_error_is_removed(error: Exception) -> None:
    bench = _bench()

    def fail(number: int) -> None:
        if heard.questions[-1][0] == worker_job.APPEND and len(appended) < 2:
            appended.append(number)
            if len(appended) == 2:
                raise error

    appended: list[int] = []
    heard = Conversations(bench, fail)

    def main() -> None:
        tablet = bench.open()
        _fill(tablet, 0, 600)
        if isinstance(error, OutOfSpace):
            with pytest.raises(OutOfSpace):
                tablet.flush()
            assert _files(bench) == []
        tablet.flush()
        assert len(_files(bench)) == 2
        assert len(everything(tablet)) == 600

    bench.run(main)
