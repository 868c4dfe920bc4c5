"""Large messages are put together and decoded in parts, between which other tasks have their turn, and come out as they
were sent."""

import random
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.model.mutation import PUT, RowMutation
from hbtable.rpc.codec.cells import ROW_MUTATIONS
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.thrift.binary_reader import read_arguments, read_strict, read_value
from hbtable.thrift.binary_writer import write
from hbtable.thrift.frame_tags import TAG_BYTES, FrameTags, TagPair
from hbtable.thrift.frames import Frames
from hbtable.thrift.gathered import Gathered
from hbtable.thrift.message import MessageReader, MessageWriter
from hbtable.thrift.message_input import MessageInput
from tests.harness.wire_mutations import FORMS, encode
from tests.harness.wire_trees import BOOL, LIST, STRING, STRUCT, Node

MEGABYTE = 1 << 20
MOST_BYTES = 4 * MEGABYTE
"""That may be copied between two turns of others: a millisecond or two."""
MOST_MUTATIONS = 2048


class Trace:
    """What was received, joined and made between two pauses."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.joined = 0
        self.pauses = 0

    def recv(self, most: int) -> bytes:
        size = min(most, 300_000)
        found, self._data = self._data[:size], self._data[size:]
        return found

    def sendall(self, data: bytes) -> None: ...
    def settimeout(self, seconds: float | None) -> None: ...
    def close(self) -> None: ...

    def pause(self) -> None:
        self.pauses += 1

    def join(self, pieces: Sequence[bytes]) -> bytes:
        """Many of them are joined while others run."""
        assert all(type(piece) is bytes for piece in pieces), "what may change is joined without giving way"
        self.joined += sum(map(len, pieces))
        return b"".join(pieces)


def mutation(column: bytes, value: bytes) -> Node:
    return Node(STRUCT, [(2, Node(STRING, column)), (3, Node(STRING, value))])


def read_call(method: bytes, arguments: list[tuple[int, Node]], framed: bool) -> tuple[list[Any], Trace, int]:
    """(the values, what happened, the pauses of decoding alone)."""
    data = encode(FORMS[1 if framed else 0], method, Node(STRUCT, arguments))
    trace = Trace(data)
    budget = MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0)
    source = MessageInput(trace, 64 << 20, 1.0, trace.pause, budget, lambda: 0.0, framed, b"", trace.join)
    assert source.begin()
    name, _, _ = read_strict(source)
    assert name == method
    before = trace.pauses
    return read_arguments(source, ThriftInterface().methods[method]), trace, trace.pauses - before


@pytest.mark.parametrize("framed", [True, False])
def test_large_values_of_one_row_are_not_copied_in_one_stretch(framed: bool) -> None:
    cells = [mutation(b"f:%d" % number, bytes((number,)) * (3 * MEGABYTE)) for number in range(6)]
    arguments = [(1, Node(STRING, b"t")), (2, Node(STRING, b"row")), (3, Node(LIST, cells, (STRUCT, 0)))]
    values, trace, pauses = read_call(b"mutateRow", arguments, framed)
    assert [one[2] for one in values[2]] == [bytes((number,)) * (3 * MEGABYTE) for number in range(6)]
    assert pauses >= 6
    assert not framed or trace.joined >= 18 * MEGABYTE


def test_the_mutations_of_one_wide_row_of_many_are_not_read_in_one_stretch() -> None:
    cells = [mutation(b"f:%06d" % number, b"v") for number in range(10_000)]
    row = Node(STRUCT, [(1, Node(STRING, b"row")), (2, Node(LIST, cells, (STRUCT, 0)))])
    arguments = [(1, Node(STRING, b"t")), (2, Node(LIST, [row, row], (STRUCT, 0)))]
    values, _, pauses = read_call(b"mutateRows", arguments, True)
    assert [(row, len(cells)) for row, cells in values[1]] == [(b"row", 10_000)] * 2
    assert pauses >= 20_000 // MOST_MUTATIONS


def test_a_very_long_string_is_copied_in_parts() -> None:
    """Whatever it is: that it is too long is said later."""
    arguments = [(1, Node(STRING, b"t")), (2, Node(STRING, b"r" * (12 * MEGABYTE))), (3, Node(STRING, b"f:q"))]
    values, _, pauses = read_call(b"get", arguments, True)
    assert values[1] == b"r" * (12 * MEGABYTE)
    assert pauses >= 12 * MEGABYTE // MOST_BYTES


@pytest.mark.parametrize("seed", range(3))
def test_lists_of_large_messages_are_read_as_those_of_small_ones(seed: int) -> None:
    """Some elements lie across the ends of what is looked at together."""
    choose = random.Random(seed)
    rows: list[tuple[bytes, list[tuple[bool, bytes, bytes, bool]]]] = []
    while sum(len(cell[2]) for _, cells in rows for cell in cells) < 3 * MEGABYTE:
        count = choose.choice((1, 1, 1, 3, 40))
        sizes = choose.choices((0, 10, 3000, 2 * MEGABYTE), (10, 60, 40, 0.05), k=count)
        rows.append((choose.randbytes(8), [(False, b"f:q", choose.randbytes(size), True) for size in sizes]))
    batches = [
        Node(
            STRUCT,
            [
                (1, Node(STRING, row)),
                (2, Node(LIST, [mutation(column, value) for _, column, value, _ in cells], (STRUCT, 0))),
            ],
        )
        for row, cells in rows
    ]
    arguments = [(1, Node(STRING, b"t")), (2, Node(LIST, batches, (STRUCT, 0)))]
    values, _, _ = read_call(b"mutateRows", arguments, True)
    found = [one if len(one) == 2 else (one[0], [(False, one[1], one[2], True)]) for one in values[1]]
    assert [(row, [(bool(cell[0]), *cell[1:3], bool(cell[3])) for cell in cells]) for row, cells in found] == rows


@pytest.mark.parametrize("seed", range(20))
def test_what_was_gathered_is_split_anywhere(seed: int) -> None:
    choose = random.Random(seed)
    pieces = [choose.randbytes(choose.choice((0, 1, 1000, 700_000, 2_500_000))) for _ in range(choose.randrange(1, 9))]
    whole = b"".join(pieces)
    for first in {0, len(whole), *(choose.randrange(len(whole) + 1) for _ in range(5))}:
        gathered = Gathered(pieces[0])
        for piece in pieces[1:]:
            gathered.add(piece)
        assert (gathered.size, gathered.beginning(500)) == (len(whole), whole[:500])
        assert gathered.split(first, b"".join) == (whole[:first], whole[first:])


def test_very_small_structs_are_counted_and_not_only_their_bytes() -> None:
    """Each takes some microseconds of the processor, however few its bytes are."""
    count = 50_000
    fields = [(1, Node(BOOL, False)), (2, Node(STRING, b"f:")), (3, Node(STRING, b"")), (4, Node(BOOL, True))]
    cells = [Node(STRUCT, fields)] * count  # as happybase writes them, and therefore read fast
    arguments = [(1, Node(STRING, b"t")), (2, Node(STRING, b"r")), (3, Node(LIST, cells, (STRUCT, 0)))]
    values, _, pauses = read_call(b"mutateRow", arguments, True)
    assert len(values[2]) == count
    assert pauses >= count // MOST_MUTATIONS


@pytest.mark.parametrize("kind", ["plain", "checked", "tagged"])
@pytest.mark.parametrize("size", [0, 3, 4, TAG_BYTES, 5000, 2 * MEGABYTE, 9 * MEGABYTE + 1])
def test_frames_of_any_size_arrive_whole_and_leave_what_follows(kind: str, size: int) -> None:
    def frames(trace: Trace) -> Frames:
        made = Frames(trace.recv, trace.recv, 64 << 20, trace.pause, trace.join)
        made.checked = kind == "checked"
        made.tags = TagPair(FrameTags(b"key"), FrameTags(b"key")) if kind == "tagged" else None
        return made

    messages = [random.Random(size).randbytes(size), b"the next", b"x" * (size // 2 + 1)]
    sender = frames(Trace(b""))
    sent = [sender.outgoing(len(message).to_bytes(4, "big") + message) for message in messages]
    trace = Trace(b"".join(sent))
    receiver = frames(trace)
    assert [receiver.next() for _ in messages] == messages
    assert receiver.next() is None
    if size > MOST_BYTES:
        assert trace.pauses >= size // MOST_BYTES
        assert trace.joined >= size


def test_large_cells_between_roles_are_read_with_turns_between() -> None:
    operations = [(PUT, b"f", b"%d" % number, 1, b"v" * (3 * MEGABYTE)) for number in range(6)]
    out = MessageWriter()
    write(ROW_MUTATIONS, [RowMutation(b"row", operations)], out)
    pauses: list[int] = []
    [found] = read_value(MessageReader(b"".join(out.pieces), lambda: pauses.append(1)), ROW_MUTATIONS)  # type: ignore[misc]
    assert (found.row, found.operations) == (b"row", operations)
    assert len(pauses) >= 6


def test_a_frame_that_is_a_length_of_four_bytes_alone_is_a_goodbye() -> None:
    trace = Trace(struct.pack(">I", 0))
    assert Frames(trace.recv, trace.recv, 1000, trace.pause, trace.join).next() == b""


class CountedSlices(bytes):
    """Counts the bytes that are copied out of it."""

    copied = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        if isinstance(place, slice):
            self.copied += len(found)
        return found


PUT_OF_HAPPYBASE = Node(
    STRUCT, [(1, Node(BOOL, False)), (2, Node(STRING, b"f:q")), (3, Node(STRING, b"value")), (4, Node(BOOL, True))]
)
USUAL = [(1, Node(STRING, b"row" * 20)), (2, Node(LIST, [PUT_OF_HAPPYBASE], (STRUCT, 0)))]
TURNED = USUAL[::-1]
"""Nobody writes fields in this order; the fast way leaves it to the careful one."""


@pytest.mark.parametrize("batches", [[USUAL], [TURNED], [USUAL, TURNED], [USUAL[:1]]], ids=range(4))
def test_elements_in_an_unusual_shape_cost_no_copy_of_what_is_behind_them(batches: list[Any]) -> None:
    """A message of 64 MB would take minutes of the processor. A page of memory for each is copied in no time."""
    rows = [Node(STRUCT, fields) for fields in batches] * (40_000 // len(batches))
    arguments = [(1, Node(STRING, b"t")), (2, Node(LIST, rows, (STRUCT, 0)))]
    data = CountedSlices(encode(FORMS[0], b"mutateRows", Node(STRUCT, arguments)))
    assert len(data) > 2 * MEGABYTE
    source = MessageReader(data)
    read_strict(source)
    _, found, *_ = read_arguments(source, ThriftInterface().methods[b"mutateRows"])
    assert isinstance(found, list)
    assert len(found) == len(rows)
    assert data.copied < 5 * len(data) + 4096 * len(rows)
