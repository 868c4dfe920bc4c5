"""A worker process: reads calls from its standard input, answers on its standard output (worker_process.py).

It is nobody's server: it ends with its parent, whatever it computes then, and when it was idle for long. It gives way
to everything else on the machine, and dies first when memory runs out.
"""

import ctypes
import os
import resource
import select
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from typing import Final

from hbtable.crc32 import crc32

IDLE_SECONDS: Final = 60.0
NICE: Final = 10

READY: Final = b"R"
ASKED: Final = b"?"
"""Parts follow, and an answer is waited for."""
BEGUN: Final = b"B"
"""The call has arrived and its module is imported: from here on its time counts."""
ANSWERED: Final = b"A"
FAILED: Final = b"F"
"""One part follows: the exception, as text."""
NO_MEMORY: Final = b"M"

MAY_ASK: Final = "?"
"""Behind the name of a job that takes `ask`, too."""

Ask = Callable[[Sequence[bytes]], Sequence[bytes]]

PROTOCOL: Final = 2
"""Of what goes through the pipes: 2 has checksums. A server that was started before this hbtable was installed gives
another, or none: each side would wait for bytes that the other never sends."""

_DEATH_OF_PARENT: Final = 1
"""PR_SET_PDEATHSIG."""

_COUNT: Final = struct.Struct("<I")
_CHECKSUM: Final = struct.Struct("<I")


def packed(parts: Sequence[bytes]) -> list[bytes]:
    """The bytes of parts: their number and lengths, then each as it is, then checksum_of() all of them."""
    pieces = [struct.pack(f"<I{len(parts)}Q", len(parts), *map(len, parts)), *parts]
    return [*pieces, checksum_of(pieces)]


def checksum_of(pieces: Sequence[bytes]) -> bytes:
    """A CRC32 of all that one process hands the other: a byte that changed on the way, in either's memory or the
    kernel's, would get a sound checksum with the block that is made of it."""
    return _CHECKSUM.pack(reduce(lambda checksum, piece: crc32(piece, checksum), pieces, 0))


def main(parent: int, memory_bytes: int, protocol: int = 1) -> None:
    if protocol != PROTOCOL:
        os._exit(1)  # before it is ready: the parent does the work itself until it is started again
    _take_precautions(parent, memory_bytes)
    calls = 0
    answers = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    os.write(answers, READY)

    def ask(question: Sequence[bytes]) -> list[bytes]:
        for data in [ASKED, *packed(question)]:
            _write(answers, data)
        return _read_parts(calls)

    while select.select([calls], [], [], IDLE_SECONDS)[0]:
        name, *parts = _read_parts(calls)
        status, answer = _answer(name.decode(), parts, answers, ask)
        for data in [status, *packed(answer)]:
            _write(answers, data)
        del parts, answer


def _answer(name: str, parts: list[bytes], answers: int, ask: Ask) -> tuple[bytes, Sequence[bytes]]:
    try:
        module, _, function = name.partition(":")
        function, asks = function.removesuffix(MAY_ASK), function.endswith(MAY_ASK)
        call: Callable[..., Sequence[bytes]] = getattr(import_module(module), function)
        os.write(answers, BEGUN)
        return ANSWERED, call(parts, ask) if asks else call(parts)
    except MemoryError:
        return NO_MEMORY, ()
    except Exception as error:  # noqa: BLE001  the caller is told
        return FAILED, (f"{type(error).__name__}: {error}".encode("utf-8", "replace"),)


def _take_precautions(parent: int, memory_bytes: int) -> None:
    try:
        ctypes.CDLL(None).prctl(_DEATH_OF_PARENT, signal.SIGKILL)
    except (AttributeError, OSError):
        pass  # not Linux: the end of the standard input must do
    if os.getppid() != parent:
        os._exit(0)  # it died before the line above
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        pass


def _read_parts(calls: int) -> list[bytes]:
    count = _read(calls, _COUNT.size)
    lengths = _read(calls, 8 * _COUNT.unpack(count)[0])
    parts = [_read(calls, length) for (length,) in struct.iter_unpack("<Q", lengths)]
    if _read(calls, _CHECKSUM.size) != checksum_of([count + lengths, *parts]):
        os._exit(1)  # it arrived changed: the parent tells whoever asked that this process ended
    return parts


def _read(descriptor: int, length: int) -> bytes:
    pieces = []
    while length:
        piece = os.read(descriptor, min(length, 1 << 20))
        if not piece:
            os._exit(0)  # the parent is gone, or needs this no longer
        pieces.append(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
