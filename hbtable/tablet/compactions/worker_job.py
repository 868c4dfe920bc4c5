"""A compaction's computing in a worker process (runtime.interface, converse_in_process): both sides of it.

The worker opens nothing. It asks this process for what stands in the inputs and hands over pieces of the output, so
everything that may be lost, refused or fenced stays where it was: in files.py. What goes through the pipe is read by
this program's own processes only.

    R, number of the input, offset, size      the bytes there
    P                                         the next pairs of the memtables, or the key and the value of a single
                                              one; nothing when there are no more
    A, bytes                                  nothing; they were appended to the output
    .                                         nothing; the worker goes on with what takes its time
"""

import marshal
import pickle
import struct
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from hbtable.encoding.cell_key import Pair
from hbtable.memtable.memtable import Memtable, Portion
from hbtable.merge.merging import merge
from hbtable.merge.range_deletes import DeletedKeys, without_deleted
from hbtable.runtime.interface import Ask
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.compactions.making import Made, OutputSpec, make

READ: Final = b"R"
PAIRS: Final = b"P"
APPEND: Final = b"A"
STILL_THERE: Final = b"."

_PLACE: Final = struct.Struct("<IQQ")
_MADE: Final = struct.Struct("<QIQQQ")
_PORTION_PAIRS: Final = 512
"""To merge them takes a millisecond, in which nobody else runs."""
_PORTION_BYTES: Final = 256 << 10
"""Each portion costs two hand-overs between threads, and a copy in either process."""
_PAUSES_BETWEEN_SIGNS: Final = 256
"""Half a second at most: a Bloom filter pauses every millisecond, and a block takes less than two to build."""


class WorkerInput(NamedTuple):
    """An SSTable, as METADATA names it."""

    path: str
    length_bytes: int
    footer_checksum: int
    deleted: Sequence[DeletedKeys] = ()


class Work(NamedTuple):
    """A worker's task. `start`, `stop`: of the cell keys."""

    spec: OutputSpec
    inputs: Sequence[WorkerInput]
    start: bytes
    stop: bytes


class OtherProgram(Exception):
    """The worker runs other code than the process that asks it: hbtable was installed anew, and not restarted yet."""


def _checksum_of_the_program() -> int:
    """The checksum of the modules that decide what a compaction writes, as they lie on the disk."""
    checksum = 0
    root = Path(__file__).parents[2]
    for package in ("encoding", "merge", "model", "sstable", "tablet/compactions"):
        for file in sorted((root / package).glob("*.py")):
            checksum = zlib.crc32(file.read_bytes(), checksum)
    return checksum


PROGRAM: Final = _checksum_of_the_program()
"""As of the import, which is what runs: a server's is that of its start."""


def asked_for(work: Work) -> list[bytes]:
    """The parts that write_sstable() is given."""
    return [PROGRAM.to_bytes(4, "little"), pickle.dumps(work)]


def made_of(answer: Sequence[bytes]) -> Made | None:
    """The file that write_sstable() has answered."""
    return Made(*_MADE.unpack(answer[0])) if answer else None


def place_of(question: Sequence[bytes]) -> tuple[int, int, int]:
    """The number of the input, the offset and the size that a READ asks for."""
    number, offset, size = _PLACE.unpack(question[1])
    return number, offset, size


@switches
def portions_of(memtables: Sequence[Memtable], sequence: int) -> Iterator[Portion]:
    """The answers to PAIRS, for portion_of()."""
    if len(memtables) == 1:
        yield from memtables[0].portions(sequence, _PORTION_PAIRS, _PORTION_BYTES)
        return
    keys: list[bytes] = []
    values: list[bytes] = []
    size = 0
    for key, value in merge([memtable.scan(b"", b"", sequence) for memtable in memtables]):
        keys.append(key)
        values.append(value)
        size += len(key) + len(value)
        if size >= _PORTION_BYTES or len(keys) == _PORTION_PAIRS:
            yield keys, values
            keys, values, size = [], [], 0
    if keys:
        yield keys, values


@switches
def portion_of(portions: Iterator[Portion]) -> list[bytes]:
    """The answer to PAIRS."""
    for keys, values in islice(portions, 1):
        if len(keys) == 1:  # it may be of any size: not to be copied
            return [keys[0], values[0]]
        # Version 2 of the format looks for no object that comes twice.
        return [marshal.dumps((keys, values), 2)]
    return []


# ------------------------------------------------------------ in the worker


@switches
def write_sstable(parts: Sequence[bytes], ask: Ask) -> Sequence[bytes]:
    """The job. Empty when nothing is left of the inputs."""
    if int.from_bytes(parts[0], "little") != PROGRAM:
        raise OtherProgram("this hbtable was installed after the server was started; restart it")
    work: Work = pickle.loads(parts[1])  # noqa: S301  of our own process
    cache = BlockCache(0)
    sources: list[Iterator[Pair]] = []
    for number, (path, length, checksum, deleted) in enumerate(work.inputs):
        reader = SSTableReader.open(partial(_read_at, ask, number), path, length, cache, checksum)
        scan = without_deleted(reader.scan, deleted, reader.properties.max_timestamp)
        sources.append(scan(work.start, work.stop, False, None))
    pairs = merge(sources) if sources else _memtable_pairs(ask)
    made = make(pairs, work.spec, lambda data: ask([APPEND, data]), _Signs(ask).pause)
    return [_MADE.pack(*made)] if made is not None else []


@switches
def _read_at(ask: Ask, number: int, offset: int, size: int) -> bytes:
    return ask([READ, _PLACE.pack(number, offset, size)])[0]


@switches
def _memtable_pairs(ask: Ask) -> Iterator[Pair]:
    while portion := ask([PAIRS]):
        if len(portion) == 2:
            yield portion[0], portion[1]
            continue
        yield from zip(*marshal.loads(portion[0]), strict=True)  # noqa: S302  of our own process


class _Signs:
    """Says now and then that the work goes on."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._pauses = 0

    @switches
    def pause(self) -> None:
        self._pauses += 1
        if not self._pauses % _PAUSES_BETWEEN_SIGNS:
            self._ask([STILL_THERE])
