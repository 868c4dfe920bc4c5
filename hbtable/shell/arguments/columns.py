"""Column names as people type them: `family`, `family:`, `family:qualifier`, `family:qualifier:converter`.

What follows the second colon says how to show values: a method of HBase's Bytes (toInt) or c(Class).method. So no
qualifier with a colon can be named in the shell's language. `family:` is the column with the empty qualifier. Commands
of hbtable's own (`hbtable put`) hand over a Column: there the first colon divides, and the qualifier is the rest.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from hbtable.hbase.admin.structs import AdminColumn
from hbtable.shell.answers import text
from hbtable.shell.context import text_of
from hbtable.shell.errors import ArgumentError, ServerError
from hbtable.shell.language.literals import Value, class_of, inspect

Formatter = Callable[[bytes], str]
_ILLEGAL: Final = "java.lang.IllegalArgumentException"


class Column(NamedTuple):
    """A column that was named. `qualifier` None: the whole family."""

    family: bytes
    qualifier: bytes | None
    formatter: Formatter | None = None

    def wanted(self) -> AdminColumn:
        return AdminColumn(self.family, self.qualifier)


def undivided(name: bytes) -> Column:
    """`family`, `family:` or `family:qualifier`, whose qualifier may hold colons."""
    family, colon, qualifier = name.partition(b":")
    return Column(family, qualifier if colon else None)


def parse(name: Value) -> Column:
    """A name in the shell's language, or a Column as it is."""
    if isinstance(name, Column):
        return name
    family, colon, rest = text_of(name, "a column").partition(b":")
    if not colon:
        return Column(family, None)
    qualifier, colon, converter = rest.partition(b":")
    return Column(family, qualifier, named(converter) if colon else None)


def parse_all(names: Value) -> list[Column]:
    """One name or an array of names."""
    if isinstance(names, bytes):
        return [parse(names)]
    if not isinstance(names, list):
        raise ArgumentError(f"Failed parse column argument type {inspect(names)}, {class_of(names)}")
    return [parse(name) for name in names]


def one(name: Value) -> tuple[bytes, bytes]:
    """(family, qualifier) for commands on one cell: without a colon the empty qualifier."""
    column = parse(name)
    return column.family, column.qualifier or b""


def named(converter: Value) -> Formatter:
    """A converter by the name of a method of Bytes, also in the form c(Class).method. An unknown one is an error only
    when it has something to show, as in HBase: put 't', 'r', 'f:a:b', 'v' never looks at b."""
    name = text_of(converter, "a formatter").decode("utf-8", "replace")
    if name.startswith("c(") and ")." in name:
        java_class, _, name = name[2:].rpartition(").")
        if not is_known_class(java_class):
            return no_such_class(java_class)
    return _FORMATTERS.get(name) or _refusing(f"there is no formatter {name!r}; there is {', '.join(_FORMATTERS)}")


def is_known_class(java_class: str) -> bool:
    return java_class in ("Bytes", "org.apache.hadoop.hbase.util.Bytes")


def no_such_class(java_class: str) -> Formatter:
    """Formatters are the methods of HBase's Bytes; there is no Java here to find others in."""
    return _refusing(f"there is no formatter class {java_class}; there is org.apache.hadoop.hbase.util.Bytes")


def _refusing(message: str) -> Formatter:
    def refuse(value: bytes) -> str:
        raise ArgumentError(message)

    return refuse


def _number(layout: str) -> Formatter:
    width = struct.calcsize(layout)

    def show(value: bytes) -> str:
        if len(value) < width:
            raise ServerError(_ILLEGAL, f"offset (0) + length ({width}) exceed the capacity of the array: {len(value)}")
        number = struct.unpack(layout, value[:width])[0]
        return inspect(number)

    return show


def _boolean(value: bytes) -> str:
    if len(value) != 1:
        raise ServerError(_ILLEGAL, f"Array has wrong size: {len(value)}")
    return "false" if value == b"\x00" else "true"


def _decimal(value: bytes) -> str:
    """Four bytes of scale, then the digits as one number in two's complement."""
    if len(value) < 5:
        raise ServerError(_ILLEGAL, f"offset (0) + length (5) exceed the capacity of the array: {len(value)}")
    scale = int.from_bytes(value[:4], "big", signed=True)
    from decimal import Decimal  # few ask for it, and every shell would load it

    return str(Decimal(int.from_bytes(value[4:], "big", signed=True)).scaleb(-scale))


_FORMATTERS: Final[dict[str, Formatter]] = {
    "toInt": _number(">i"),
    "toLong": _number(">q"),
    "toShort": _number(">h"),
    "toFloat": _number(">f"),
    "toDouble": _number(">d"),
    "toBoolean": _boolean,
    "toString": lambda value: value.decode("utf-8", "replace"),
    "toStringBinary": text.binary,
    "toHex": bytes.hex,
    "toBigDecimal": _decimal,
    "len": lambda value: str(len(value)),
}
