"""Compiles and runs an expression in CEL, in a worker process: it is killed where an evaluation takes too long.

The library bounds the steps of comprehensions, the depth of an expression and its text, not the time of a regular
expression over a long text, nor memory: for those there is the process.
"""

import json
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, final

from hbtable.encoding.number_codes import NUMBER_CODES
from hbtable.filters.cel.language import PRESENT, ROW, from_pieces, unpacked
from hbtable.model.values import shown

QUESTION: Final = b"cel"
"""The first part of a question."""

FAILED, MISSING, GIVES, LATER = b"!", b"-", b"=", b"?"
"""The first byte of an answer about a row: the expression failed, and why; it has no value, as it needs a column that
the row has not; its value, as a cell stores it; the answers before are so long that this one has to be asked for alone.
"""
TRUE: Final = b"=\x01"

VALUE_BYTES: Final = 1 << 20
_ANSWER_BYTES: Final = 256 << 10
"""Of all values of an answer."""
_NUMBERS: Final = {name: struct.Struct(">" + code) for name, code in NUMBER_CODES.items()}
_UNBOUND: Final = 'UNKNOWN: No value with name "'
_INSTALL: Final = (
    "CelFilter needs cel-expr-python, which is not installed: pip install 'hbtable[cel]' on each tablet server"
)


class Unusable(Exception):
    """An expression cannot be compiled; the reason."""


def header(source: str, variables: Sequence[tuple[str, str, int]], is_condition: bool) -> bytes:
    """The second part of a question: the expression, whether it must be a bool, and of its variables the names, types
    and places of their columns in what language.packed() makes of a row."""
    return json.dumps([source, list(variables), is_condition]).encode()


def answer(parts: Sequence[bytes]) -> Sequence[bytes]:
    """Answers a question, in a worker process. `parts`: QUESTION, a header(), and rows as language.packed() makes them,
    or one as of language.in_pieces(). b"" and an answer for each row; or why there is none."""
    _, head, *rows = parts
    try:
        run = _compiled(head)
    except Unusable as error:
        return [str(error).encode("utf-8", "replace")]
    if (large := from_pieces(rows)) is not None:
        return [b"", run(large)]
    found: list[bytes] = [b""]
    size = 0
    for row in rows:
        found.append(run(unpacked(row)) if size <= _ANSWER_BYTES else LATER)
        size += len(found[-1])
    return found


@lru_cache(16)
def _compiled(head: bytes) -> Callable[[list[memoryview | None]], bytes]:
    source, variables, is_condition = json.loads(head)
    try:
        from cel_expr_python import cel
    except ImportError:
        raise Unusable(_INSTALL) from None
    return _Program(cel, source, variables, is_condition).run


@final
class _Program:
    """One compiled expression. Unusable, saying why, when it cannot be compiled."""

    def __init__(self, cel: Any, source: str, variables: Sequence[tuple[str, str, int]], is_condition: bool) -> None:
        types = cel.Type
        kinds = {"bytes": types.BYTES, "string": types.STRING, "json": types.DYN, "uint64": types.UINT}
        kinds |= {"float": types.DOUBLE, "double": types.DOUBLE}
        known = {name: kinds.get(read_as, types.INT) for name, read_as, _ in variables}
        known |= {ROW: types.BYTES, PRESENT: types.List(types.STRING)}
        self._variables = variables
        self._is_condition = is_condition
        self._error = types.ERROR
        self._writers: dict[str, Callable[[Any], bytes]] = {
            "BOOL": lambda value: b"\1" if value else b"\0", "BYTES": bytes, "STRING": str.encode,
            "INT": struct.Struct(">q").pack, "UINT": struct.Struct(">Q").pack, "DOUBLE": struct.Struct(">d").pack,
        }  # fmt: skip
        try:
            self._expression = cel.NewEnv(variables=known).compile(source)
        except RuntimeError as error:
            raise Unusable(f"the CEL expression {shown(source)} cannot be used: {_told(error)}") from error
        gives = self._expression.return_type().name()
        if is_condition:
            self._writers = {"BOOL": self._writers["BOOL"]}
        if gives not in self._writers and gives != "DYN":
            wanted = "bool" if is_condition else "one of bool, int, uint, double, string, bytes"
            raise Unusable(f"the CEL expression {shown(source)} gives {gives.lower()}, and it has to give {wanted}")

    def run(self, part: list[memoryview | None]) -> bytes:
        """The answer about one row, of which this is the key with the values."""
        row, *values = part
        known: dict[str, object] = {}
        unread: dict[str, str] = {}
        for name, read_as, place in self._variables:
            value = values[place]
            if value is not None:
                try:
                    known[name] = _read(value, read_as)
                except (ValueError, struct.error, RecursionError) as error:
                    unread[name] = f"{name} holds {shown(bytes(value))}, which cannot be read as {read_as}: {error}"
        present = [*known, *unread]
        known |= {ROW: bytearray(row or b""), PRESENT: present}
        try:
            value = self._expression.eval(data=known)
            plain = value.value()
            gives = value.type().name()
            if value.type() == self._error:
                told = str(value.plain_value())
                if not told.startswith(_UNBOUND):
                    return FAILED + _told(told).encode()
                reason = unread.get(told.removeprefix(_UNBOUND).partition('"')[0])
                return MISSING if reason is None else FAILED + reason.encode()
        except (RuntimeError, ValueError, TypeError, OverflowError, RecursionError) as error:
            return FAILED + _told(error).encode()
        if gives == "NULL" and not self._is_condition:
            return MISSING
        write = self._writers.get(gives)
        if write is None:
            return FAILED + f"it gave {gives.lower()}, and not {', '.join(self._writers).lower()}".encode()
        written = write(plain)
        if len(written) > VALUE_BYTES:
            return FAILED + f"it gave {len(written)} bytes, and the limit is {VALUE_BYTES}".encode()
        return GIVES + written


def _read(value: memoryview, read_as: str) -> object:
    if read_as == "bytes":
        return bytearray(value)  # the library cuts bytes at a NUL
    if read_as == "string":
        return _whole(str(value, "utf-8"))
    if read_as == "json":
        return _usable(json.loads(bytes(value)))
    number = _NUMBERS[read_as]
    if len(value) != number.size:
        raise ValueError(f"it has {len(value)} bytes")
    return number.unpack(value)[0]


def _whole(text: str) -> str:
    """ValueError: the library would cut it, or take nothing for it."""
    if "\0" in text:
        raise ValueError("CEL's library cannot take a text with a NUL")
    text.encode()
    return text


def _usable(value: object) -> object:
    """A value of JSON without what the library cannot take: a number beyond 64 bits becomes a float. ValueError."""
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, list):
        return [_usable(one) for one in value]
    if isinstance(value, dict):
        return {_whole(name): _usable(one) for name, one in value.items()}
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _told(error: object) -> str:
    """The first line of what the library says, without its names of the text and of the error's class."""
    line = str(error).partition("\n")[0]
    return line.removeprefix("INVALID_ARGUMENT: ").removeprefix("ERROR: ").removeprefix("<input>:")[:500]
