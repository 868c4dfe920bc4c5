"""Commits that wait for the same group."""

from collections.abc import Callable
from typing import final

from hbtable.errors import HbtableError
from hbtable.runtime.interface import Event


@final
class Batch:
    """One group to be: what to write, what to apply once that is durable, and who waits.

    One event for all of its waiters: they share their fate.
    """

    __slots__ = ("applies", "count", "done", "error", "payloads", "size_bytes", "tablets")

    def __init__(self, done: Event) -> None:
        self.payloads: list[bytes] = []
        self.applies: list[Callable[[], None]] = []
        self.tablets: dict[int, int] = {}
        """Highest sequence of each tablet in it."""
        self.size_bytes = 0
        self.count = 0
        self.done = done
        self.error: tuple[type[HbtableError], str] | None = None

    def add(self, tablet_id: int, last_sequence: int, records: bytes, apply: Callable[[], None], count: int) -> None:
        self.payloads.append(records)
        self.applies.append(apply)
        self.tablets[tablet_id] = last_sequence
        self.size_bytes += len(records)
        self.count += count

    def payload(self) -> bytes:
        payloads = self.payloads
        return payloads[0] if len(payloads) == 1 else b"".join(payloads)

    def fail(self, kind: type[HbtableError], sentence: str) -> None:
        self.error = (kind, sentence)
        self.done.set()

    def wait(self) -> None:
        """*Switches.* Raises an error of its own for each waiter: a shared one would collect all their tracebacks."""
        self.done.wait()
        if self.error is not None:
            kind, sentence = self.error
            raise kind(sentence)
