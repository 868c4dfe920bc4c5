"""Bytes that change on the way between two simulated processes, in one direction: the real encoding of a call, the real
frames with their checksums, and one byte of it changed now and then; or, after its frame was checked, one bit of what a
write is made of, in the memory of the process that it came to.

Calls of the simulated network carry objects; only on a way with such a fault are they encoded, changed and decoded.
"""

import inspect
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from hbtable.errors import Corruption, HbtableError, StaleLocation, UnsupportedFormat
from hbtable.model.mutation import RowMutation, keep_checksums
from hbtable.rpc.codec import calls
from hbtable.rpc.codec.errors import RpcError, described
from hbtable.thrift.frames import FRAME_BYTES, Frames, with_checksum
from hbtable.thrift.message import MessageReader

_NUMBER = 7
_WRITES = frozenset({"mutate", "increment", "append", "check_and_mutate", "mutate_if", "add_to_columns"})
_TO = "somebody"


class ChangedBytes:
    """`chance` decides which calls are hit, and where."""

    def __init__(self, chance: random.Random) -> None:
        self.shares: dict[tuple[str, str], float] = {}
        """By way: the probability that a message on it is hit."""
        self.in_memory: dict[tuple[str, str], float] = {}
        """By way: the probability that a write that arrived on it changes in memory."""
        self.trusted = False
        """Whether the calls' own checksums are thrown away: a planted bug."""
        self.checked = True
        """Whether frames have checksums: False is a planted bug."""
        self.count: Counter[str] = Counter()
        self._chance = chance

    def request(
        self, source: str, target: str, method: Callable[..., Any], name: str, arguments: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """What arrives. Corruption: it is seen that it is not what was sent, and the call is not begun."""
        changes_later = name in _WRITES and self._chosen(self.in_memory.get((source, target), 0.0))
        if not changes_later and not self._hits(source, target):
            return arguments
        call = calls.METHODS[name]
        bound = inspect.signature(method).bind(*arguments)
        bound.apply_defaults()
        if changes_later:
            return self._changed_in_memory(name, bound.args)
        first = () if call.role is calls.Role.MASTER else (_TO,)
        message = self._carried(call.request(_NUMBER, (*first, *bound.args), _no_pause))
        kind, named, _, position = calls.read_head(message)
        if kind != calls.CALL or named != name.encode():
            raise Corruption("a message", 0, f"a call of {named!r} arrives for one of {name}")
        try:
            read = call.read_arguments(MessageReader(message, _no_pause), position)
        except UnsupportedFormat as error:
            raise Corruption("a message", position, str(error)) from error
        if first and read[0] != _TO:
            raise StaleLocation("the call arrived at another incarnation")
        return read[len(first) :]

    def answer(
        self, source: str, target: str, name: str, value: Any, error: HbtableError | None
    ) -> tuple[Any, HbtableError | None]:
        """What arrives. Corruption: it is seen that it is not what was sent."""
        if not self._hits(source, target):
            return value, error
        call = calls.METHODS[name]
        sent = call.reply(_NUMBER, value, described(error) if error is not None else None, _no_pause)
        found = call.read_reply(self._carried(sent), _NUMBER, _no_pause)
        if isinstance(found, calls.Failure):
            raise Corruption("a message", 0, found.message)
        return (None, found.raised()) if isinstance(found, RpcError) else (found, None)

    def _changed_in_memory(self, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the tablet gets: another amount, suffix, value or expected value, or for another row; and the checksum
        that was taken before."""
        self.count["in memory"] += 1
        tablet_id, *rest = arguments
        if name == "mutate":
            keep_checksums(rest[0])
            mutations = list(rest[0])
            place = self._chance.randrange(len(mutations))
            mutations[place] = self._changed_mutation(mutations[place])
            return tablet_id, mutations
        if name == "add_to_columns":
            keep_checksums(rest)
            return tablet_id, self._changed_mutation(rest[0])
        if self.trusted:
            rest[-1] = 0
        if name == "increment":
            place = self._chance.choice((0, 3))
            rest[place] = rest[place] ^ 1 if place else self._changed_bytes(rest[0])
        elif name == "append":
            family, qualifier, suffix = rest[1][-1]
            rest[1] = [*rest[1][:-1], (family, qualifier, self._changed_bytes(suffix))]
        elif rest[3]:
            rest[3] = self._changed_bytes(rest[3])
        else:
            keep_checksums((rest[4],))
            rest[4] = self._changed_mutation(rest[4])
        return tablet_id, *rest

    def _changed_mutation(self, mutation: RowMutation) -> RowMutation:
        operations = list(mutation.operations)
        place = self._chance.randrange(len(operations))
        kind, family, qualifier, timestamp, value = operations[place]
        if value:
            value = self._changed_bytes(value)
        else:
            qualifier += b"?"
        operations[place] = (kind, family, qualifier, timestamp, value)
        return RowMutation(mutation.row, operations, mutation.skip_log, mutation.ttl_millis, mutation.checksum)

    def _changed_bytes(self, right: bytes) -> bytes:
        wrong = bytearray(right or b"?")
        wrong[self._chance.randrange(len(wrong))] ^= 1 << self._chance.randrange(8)
        return bytes(wrong)

    def _hits(self, source: str, target: str) -> bool:
        return self._chosen(self.shares.get((source, target), 0.0))

    def _chosen(self, share: float) -> bool:
        return bool(share) and self._chance.random() < share

    def _carried(self, frame: bytes) -> bytes:
        """Corruption, also where the receiver would wait for bytes that never come, and give up."""
        sent = bytearray(with_checksum(frame) if self.checked else frame)
        sent[self._chance.randrange(len(sent))] ^= 1 << self._chance.randrange(8)
        parts = [bytes(sent)]
        frames = Frames(lambda most: parts.pop() if parts else b"", lambda most: b"", FRAME_BYTES, lambda: None)
        frames.checked = self.checked
        try:
            message = frames.next()
        except Corruption:
            self.count["seen"] += 1
            raise
        if not message:
            self.count["seen"] += 1
            raise Corruption("a message", 0, "it ends early")
        self.count["passed"] += 1
        return message


def _no_pause() -> None:
    """Nothing else runs while a message is read."""
