"""The threads of a copy: each job has a connection to either side."""

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, TypeVar, final

from hbtable.shell.copying.copy_parts import CopyPart
from hbtable.shell.copying.peers import CopyPeer, PeerAddress, connect_peer
from hbtable.shell.errors import Cancelled, CannotConnect
from hbtable.shell.transfer.transfer_workers import outcomes

T = TypeVar("T")
Say = Callable[[str], None]
_PAUSES: Final = (0, 1, 2, 4, 8, 16, 32)
"""Seconds between the tries of what a broken connection stops."""


@final
class CopyWorkers:
    """Threads, each with a connection to either side."""

    def __init__(self, ends: tuple[PeerAddress, PeerAddress], count: int, call_seconds: float, say: Say) -> None:
        self._ends = ends
        self._count = count
        self._call_seconds = call_seconds
        self._say = say
        self._pairs: list[tuple[CopyPeer, CopyPeer]] = []
        self._free: SimpleQueue[tuple[CopyPeer, CopyPeer]] = SimpleQueue()
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="copy")

    def open(self) -> tuple[CopyPeer, CopyPeer]:
        """CannotConnect. The first pair, which may be used while no job runs."""
        for _ in range(self._count):
            source = connect_peer(self._ends[0], self._call_seconds)
            pair = source, connect_peer(self._ends[1], self._call_seconds)
            self._pairs.append(pair)
            self._free.put(pair)
        return self._pairs[0]

    def run(self, parts: Sequence[CopyPart], job: Callable[[CopyPart, CopyPeer, CopyPeer], None]) -> None:
        """Does the work for each part. Raises the first error, when all have ended."""
        outcomes([self._threads.submit(self._one, part, job) for part in parts])

    def go_on(self) -> None:
        """Cancelled when the copy is broken off: jobs ask between pages."""
        if self._closing.is_set():
            raise Cancelled("broken off")

    def ask(self, question: Callable[[CopyPeer], T]) -> T:
        """Asks the source."""
        return self._with_a_pair("the source", lambda source, _: question(source))

    def _one(self, part: CopyPart, job: Callable[[CopyPart, CopyPeer, CopyPeer], None]) -> None:
        self._with_a_pair(part.shown(), lambda source, target: job(part, source, target))

    def _with_a_pair(self, name: str, work: Callable[[CopyPeer, CopyPeer], T]) -> T:
        """Work whose connection breaks is done again: HBase closes connections that rest for a minute, and whatever is
        written twice has the same times."""
        pair = self._free.get()
        try:
            for tries in itertools.count():
                try:
                    return work(*pair)
                except CannotConnect as error:
                    if tries == len(_PAUSES):
                        raise
                    self._say(f"{name}: {error}; trying again")
                    self._closing.wait(_PAUSES[tries])
            raise AssertionError("it counts without end")
        finally:
            self._free.put(pair)

    def close(self) -> None:
        """Waits for the pages under way."""
        self._closing.set()
        self._threads.shutdown(cancel_futures=True)
        for pair in self._pairs:
            for peer in pair:
                peer.close()
