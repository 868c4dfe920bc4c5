"""Split rows of a new table: SPLITS, SPLITS_FILE, or NUMREGIONS with one of HBase's three algorithms."""

from itertools import pairwise
from pathlib import Path
from typing import Final

from hbtable.model.schema import MAX_SPLIT_ROWS
from hbtable.shell.answers.text import binary, from_binary
from hbtable.shell.arguments.options import whole
from hbtable.shell.context import text_of
from hbtable.shell.errors import ArgumentError, ServerError, ShellError
from hbtable.shell.language.literals import Value, inspect

_ILLEGAL: Final = "java.lang.IllegalArgumentException"


def from_hash(given: dict[Value, Value]) -> list[bytes]:
    """Takes its keys out of `given`. Ascending."""
    rows: list[bytes] = []
    listed = given.pop(b"SPLITS", None)
    file = given.pop(b"SPLITS_FILE", None)
    count, algorithm = given.pop(b"NUMREGIONS", None), given.pop(b"SPLITALGO", None)
    if listed is not None:
        if not isinstance(listed, list):
            raise ArgumentError(f"SPLITS is an array of rows, not {inspect(listed)}")
        rows += [from_binary(text_of(row, "a split row")) for row in listed]
    if file is not None:
        rows += _from_file(text_of(file, "SPLITS_FILE").decode("utf-8", "surrogateescape"))
    if count is not None or algorithm is not None:
        if algorithm is None:
            raise ArgumentError("Split algorithm must be specified")
        if count is None:
            raise ArgumentError("Number of regions must be specified")
        rows += _computed(whole(count, "NUMREGIONS"), text_of(algorithm, "SPLITALGO").decode())
    rows.sort()
    if rows[:1] == [b""]:
        raise ServerError(_ILLEGAL, "Empty split key must not be passed in the split keys.")
    for before, row in pairwise(rows):
        if before == row:
            same = binary(row)
            raise ServerError(_ILLEGAL, f"All split keys must be unique, found duplicate: {same}, {same}")
    return rows


def _from_file(path: str) -> list[bytes]:
    try:
        return [from_binary(line) for line in Path(path).read_bytes().splitlines() if line]
    except FileNotFoundError:
        raise ArgumentError(f"Splits file {path} doesn't exist") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ShellError(f"the splits file {path!r} cannot be read: {reason}") from None


def _computed(count: int, algorithm: str) -> list[bytes]:
    if count < 2:
        raise ArgumentError("Number of regions must be greater than 1")
    if count > MAX_SPLIT_ROWS + 1:
        raise ArgumentError(f"Number of regions must be at most {MAX_SPLIT_ROWS + 1}")
    name = algorithm.rpartition(".")[2].rpartition("$")[2]
    if name == "HexStringSplit":
        return [b"%08x" % (2**32 // count * place) for place in range(1, count)]
    if name == "DecimalStringSplit":
        return [b"%08d" % (10**8 // count * place) for place in range(1, count)]
    if name == "UniformSplit":
        return [(2**64 // count * place).to_bytes(8, "big") for place in range(1, count)]
    advice = "use HexStringSplit, DecimalStringSplit or UniformSplit"
    raise ServerError("java.io.IOException", f"Class {algorithm} not found", advice)
