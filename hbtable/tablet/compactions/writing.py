"""Has a compaction's output made: a large one in a worker process, a small one here (worker_job.py).

A worker that dies, hangs or fails costs time only: the output is begun anew, under another name, by a second worker and
then in this process, which also finds out what an error really was. After that workers are left alone for a while.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from hbtable.encoding.cell_key import Pair
from hbtable.memtable.memtable import Memtable
from hbtable.merge.merging import merge
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.runtime.interface import JobFailed, WorkerDied
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.compactions import worker_job
from hbtable.tablet.compactions.making import Made, OutputSpec, make
from hbtable.tablet.files import Append, SSTableOutput
from hbtable.tablet.pacing import Pacer, Throttle
from hbtable.tablet.portions import Portions
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, key_range

logger = logging.getLogger(__name__)

_TRIES: Final = 2
_TIMEOUT_SECONDS: Final = 10.0
"""From one question to the next. One takes milliseconds of a processor, of which others may leave a tenth to workers:
on a machine so busy the work is done here, where it has this process's share."""
_APPENDED_AT_ONCE: Final = 256 << 10
"""A megabyte would take the hub half a millisecond to copy. A thread hands it to the system."""
_LEFT_ALONE_SECONDS: Final = 60.0
"""After they failed."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a compaction: frozen memtables, up to a sequence, or SSTables."""

    memtables: Sequence[Memtable] = ()
    sequence: int = 0
    files: Sequence[LoadedFile] = ()


@final
class CompactionWriter:
    """Writes the SSTables of one tablet's compactions."""

    __slots__ = ("_output", "_state")

    def __init__(self, state: TabletState, output: SSTableOutput) -> None:
        self._state = state
        self._output = output

    @switches
    def write(
        self, sources: Sources, spec: OutputSpec, in_memory: bool, check: Callable[[], None] | None
    ) -> LoadedFile | None:
        """As SSTableOutput.write(). `check` is called often, and may raise to end the work."""
        write = partial(self._output.write, spec.identity.table_id, in_memory)
        tries = _TRIES if self._is_for_a_worker(sources) else 0
        for last in range(tries - 1, -1, -1):
            try:
                return write(partial(self._make_in_a_worker, sources, spec, check))
            except WorkerDied as error:
                self._failed(f"the worker process {error}", last=not last)
            except JobFailed as error:
                self._failed(str(error), last=True)
                break
        return write(partial(self._make_here, sources, spec, check))

    def _is_for_a_worker(self, sources: Sources) -> bool:
        state = self._state
        runtime = state.environment.runtime
        if state.keeper.record.table_id == METADATA_TABLE_ID or runtime.clock_seconds() < state.shared.no_workers_until:
            return False
        keys = key_range(state.range)
        size = sum(memtable.bytes_used for memtable in sources.memtables)
        size += sum(file.bytes_in(keys) for file in sources.files)
        # A damaged input is met here, where it is known what it is.
        readable = all(isinstance(file.reader, SSTableReader) for file in sources.files)
        return readable and size >= state.environment.options.worker_bytes

    def _failed(self, why: str, *, last: bool) -> None:
        state = self._state
        logger.warning("tablet %d: a compaction is begun again: %s", state.tablet_id, why)
        state.shared.worker_failures.value += 1
        if last:
            state.shared.no_workers_until = state.environment.runtime.clock_seconds() + _LEFT_ALONE_SECONDS

    def _throttle(self, sources: Sources) -> Throttle:
        options = self._state.environment.options
        is_urgent = not sources.files or len(sources.files) > options.max_files
        return Throttle(self._state.environment.runtime, 0 if is_urgent else options.compaction_bytes_per_second)

    @switches
    def _make_here(
        self, sources: Sources, spec: OutputSpec, check: Callable[[], None] | None, append: Append
    ) -> Made | None:
        state = self._state
        pacer = Pacer(state.environment.runtime, state.environment.options.slice_seconds, check)
        start, stop = key_range(state.range)
        portions = Portions()
        pairs = _memtable_pairs(sources)
        if sources.files:
            pairs = merge([file.scan(start, stop, False, portions) for file in sources.files])
        # Paced before it is thinned out: a million masked cells that leave nothing take their time all the same.
        return make(pacer.paced(pairs, portions), spec, append, pacer.pause)

    @switches
    def _make_in_a_worker(
        self, sources: Sources, spec: OutputSpec, check: Callable[[], None] | None, append: Append
    ) -> Made | None:
        state = self._state
        portions = worker_job.portions_of(sources.memtables, sources.sequence)
        throttle = self._throttle(sources)
        pacer = Pacer(state.environment.runtime, state.environment.options.slice_seconds, check)
        reads = [file.reader.read_at for file in sources.files if isinstance(file.reader, SSTableReader)]

        def answer(question: Sequence[bytes]) -> Sequence[bytes]:
            if check is not None:
                check()
            match question[0]:
                case worker_job.READ:
                    number, offset, size = worker_job.place_of(question)
                    throttle.passed(size)
                    return [reads[number](offset, size)]
                case worker_job.PAIRS:
                    return worker_job.portion_of(portions)
                case worker_job.APPEND:
                    for piece in _pieces(question[1]):
                        throttle.passed(len(piece))
                        append(piece)
                        pacer.pause()
            return []

        inputs = [
            worker_job.WorkerInput(file.ref.path, file.ref.length_bytes, file.ref.footer_checksum, file.deleted)
            for file in sources.files
        ]
        work = worker_job.Work(spec, inputs, *key_range(state.range))
        kind = "compaction" if sources.files else "flush"  # a flush never waits for long compactions
        asked_for = worker_job.asked_for(work)
        converse = state.environment.runtime.converse_in_process
        return worker_job.made_of(converse(kind, worker_job.write_sstable, asked_for, answer, _TIMEOUT_SECONDS))


def _pieces(data: bytes) -> Iterator[bytes]:
    """A block with a cell of many megabytes takes its time to write."""
    if len(data) <= _APPENDED_AT_ONCE:
        yield data
        return
    for first in range(0, len(data), _APPENDED_AT_ONCE):
        yield data[first : first + _APPENDED_AT_ONCE]


@switches
def _memtable_pairs(sources: Sources) -> Iterator[Pair]:
    return merge([memtable.scan(b"", b"", sources.sequence) for memtable in sources.memtables])
