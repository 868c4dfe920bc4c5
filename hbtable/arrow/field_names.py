r"""Names of columns as names of Arrow's fields, which are text, and back.

A byte that is no UTF-8 is written \xff there, as a column with a backslash in its name may have it, too. Where the two
cannot be told apart the field has the column's name in its metadata, in hexadecimal digits: what reads metadata as text
reads these.
"""

import re
from typing import Final

import pyarrow as pa

from hbtable.errors import WrongValue

COLUMN: Final = b"hbtable.column"
_MAY_BE_BYTES: Final = re.compile(r"\\x[89a-f][0-9a-f]")


def field_name(column: bytes) -> str:
    return column.decode(errors="backslashreplace")


def field_of(name: str, column: bytes, type: pa.DataType) -> pa.Field:
    """A field called `name` of the column's values."""
    if _MAY_BE_BYTES.search(name) is None or name != field_name(column):
        return pa.field(name, type)
    return pa.field(name, type, metadata={COLUMN: column.hex().encode()})


def column_of(field: pa.Field) -> bytes:
    """The column that the field is named for. WrongValue: it may be two, as its metadata were lost on the way."""
    name: str = field.name
    if _MAY_BE_BYTES.search(name) is None:
        return name.encode()
    digits = (field.metadata or {}).get(COLUMN, b"").decode(errors="replace")
    try:
        column = bytes.fromhex(digits)
    except ValueError:
        column = b""
    if field_name(column) != name:  # also of a field that was renamed
        raise WrongValue(
            f"field {name!r} may be named for a column with these letters, or for one with bytes that are no UTF-8"
        )
    return column
