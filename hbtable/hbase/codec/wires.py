"""Thrift's protocols as this port speaks them: how each is read, and in which dialect it is answered."""

from collections.abc import Callable
from typing import NamedTuple

from hbtable.hbase.codec.answers import Dialect
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.codec.sniffing import Protocol
from hbtable.thrift import binary_reader, compact_reader
from hbtable.thrift.message_input import MessageInput
from hbtable.thrift.wire import Call, Malformed, MessageTooLarge


class Wire(NamedTuple):
    """A protocol's way in and out."""

    read_head: Callable[[MessageInput], Call]
    read_arguments: Callable[[MessageInput, ThriftMethod], list[object]]
    skip_arguments: Callable[[MessageInput], None]
    dialect: Dialect


def wires(strict: Dialect, loose: Dialect, compact: Dialect) -> dict[Protocol, Wire]:
    arguments, skip = binary_reader.read_arguments, binary_reader.skip_arguments
    return {
        Protocol.STRICT: Wire(binary_reader.read_strict, arguments, skip, strict),
        Protocol.LOOSE: Wire(binary_reader.read_loose, arguments, skip, loose),
        Protocol.COMPACT: Wire(
            compact_reader.read_call, compact_reader.read_arguments, compact_reader.skip_arguments, compact
        ),
    }


def head_of_refused(source: MessageInput, wire: Wire) -> Call | None:
    """The call's name and number from what has arrived of a frame that was refused for its size."""
    source.limit_bytes = len(source.data)  # nothing more may be read
    source.framed = True
    try:
        return wire.read_head(source)
    except (Malformed, MessageTooLarge):
        return None
