"""A stream may hand on 60 MB at once, as of a frame that Kerberos protects: a single message or two million of them."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from hbtable.errors import Overloaded
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.thrift.message_input import MessageInput
from hbtable.thrift.wire import EndOfStream

MEGABYTE = 1 << 20


class Whole:
    """Hands on what there is, a piece at a time, whatever is asked for."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)
        self.pauses = 0

    def recv(self, most: int) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    def sendall(self, data: bytes) -> None: ...
    def settimeout(self, seconds: float | None) -> None: ...
    def close(self) -> None: ...

    def pause(self) -> None:
        self.pauses += 1


def input_of(
    stream: Whole,
    framed: bool,
    first: bytes = b"",
    limit_bytes: int = 1 << 30,
    pause: Callable[[], None] | None = None,
) -> MessageInput:
    budget = MemoryBudget(limit_bytes, lambda seconds: None, lambda: 0.0)
    return MessageInput(stream, 1 << 26, 30.0, pause or stream.pause, budget, lambda: 0.0, framed, first)


def sent(messages: list[bytes], framed: bool) -> bytes:
    return b"".join([len(one).to_bytes(4, "big") + one if framed else one for one in messages])


@pytest.mark.parametrize("is_sniffed", [False, True])
@pytest.mark.parametrize("framed", [False, True])
def test_little_is_copied_for_each_of_very_many_messages(framed: bool, is_sniffed: bool) -> None:
    """Each copied all that followed it: 27 ms of 40 MB, one and a half million times."""
    data = sent([b"message"] * (3 * MEGABYTE // 7), framed)
    stream = Whole() if is_sniffed else Whole(data)
    source: Any = input_of(stream, framed, data if is_sniffed else b"")
    source.count_first()
    pending = bool(source.data)
    for number in range(100):
        assert pending or source.begin()
        pending = False
        assert source.take(7) == b"message"
        assert number < 2 or len(source.data) + len(source._rest) <= MEGABYTE
        assert source._budget.used_bytes > len(data) - 2 * MEGABYTE  # it is there, and so it is counted


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("framed", [False, True])
def test_messages_of_all_sizes_come_out_as_they_were_sent(framed: bool, seed: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice([1, 40, 5000, 300_000, 2_500_000]) for _ in range(15)]
    messages = [chance.randbytes(size) for size in sizes]
    data = sent(messages, framed)
    cuts = sorted(chance.randrange(len(data)) for _ in range(chance.randrange(5)))
    pieces = [data[first:last] for first, last in zip([0, *cuts], [*cuts, len(data)], strict=True) if first < last]
    stream = Whole(*pieces)
    source: Any = input_of(stream, framed)
    source.count_first()
    for message in messages:
        assert source.begin()
        assert source.take(len(message)) == message
        source.settle()
    assert not source.begin()
    assert source._budget.used_bytes == 0


@pytest.mark.parametrize("is_long_value", [False, True])
@pytest.mark.parametrize("size", [1, 100, 60_000])
@pytest.mark.parametrize("framed", [False, True])
def test_others_run_while_a_message_arrives_in_pieces(framed: bool, size: int, is_long_value: bool) -> None:
    """Frames of Kerberos with a byte inside each were opened without a pause: 300 KB stopped the server for seconds. So
    were pieces of less than 64 KB, as TLS hands them on, of a client that sends as fast as we read."""
    count = min(3000, 6 * MEGABYTE // size)
    data = sent([b"x" * (count * size)], framed)
    stream = Whole(*(data[place : place + size] for place in range(0, len(data), size)))
    pieces_at_pauses = [len(stream.pieces)]
    source: Any = input_of(stream, framed, pause=lambda: pieces_at_pauses.append(len(stream.pieces)))
    assert source.begin()
    for _ in range(1 if is_long_value else count):
        source.take(count * size if is_long_value else size)
    pieces_at_pauses.append(len(stream.pieces))
    most = max(before - after for before, after in pairwise(pieces_at_pauses))
    assert most <= max(4, min(80, 2 * 65536 // size))


@pytest.mark.parametrize("framed", [False, True])
def test_what_waits_is_forgotten_with_a_message_that_is_refused(framed: bool) -> None:
    stream = Whole(sent([b"x" * (5 * MEGABYTE)], framed))
    source: Any = input_of(stream, framed, limit_bytes=MEGABYTE)
    others = source._budget.begin(None)
    source._budget.arrive(others, MEGABYTE)
    with pytest.raises(Overloaded):
        source.begin()
    source.discard(1 << 31, 2.0, lambda: True)
    assert (source._budget.used_bytes, source._waiting, source._portions) == (MEGABYTE, 0, [])


def test_a_client_that_leaves_behind_much_has_ended_in_the_middle() -> None:
    source: Any = input_of(Whole(b"x" * (3 * MEGABYTE)), False)
    assert source.begin()
    with pytest.raises(EndOfStream):
        source.take(4 * MEGABYTE)
    source.release()
    assert source._budget.used_bytes == 0
