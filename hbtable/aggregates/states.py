"""The state of an aggregate: added to, merged with that of other rows, as JSON, and its result.

Results do not depend on the order in which rows came: sums of floats are exact until the one rounding of the result.
As JSON a state is a whole number (rows, cells, count), a text (distinct), null or a text (last: base64; min and max: a
whole number in decimal, or a float in hexadecimal as C and Java write it), or a list (sum and avg: how many values, the
total in hexadecimal, flags of Total).
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from math import copysign, inf, isinf, isnan, nan
from typing import Any, Final, Protocol, final

from hbtable.aggregates.distinct import Distinct
from hbtable.aggregates.values import Number
from hbtable.model.aggregation import WHOLE_NUMBERS, Aggregate

_UNIT_BITS: Final = 1074
"""Every finite float is a whole number of 2 ** -1074."""
_UNIT: Final = 1 << _UNIT_BITS
_NAN: Final = 1
_POSITIVE_INFINITY: Final = 2
_NEGATIVE_INFINITY: Final = 4
_FLOAT: Final = 8
_HEXADECIMAL_DIGITS: Final = 4096
"""More than any total has."""
_STATE_BYTES: Final = 100
"""About what a state takes."""


class State(Protocol):
    """Of one kind of aggregate."""

    def add(self, values: Sequence[Any]) -> None: ...
    def merge(self, told: Any) -> None:
        """The told() of another one. ValueError or TypeError."""

    def told(self) -> Any: ...
    def result(self) -> Any: ...
    def size_bytes(self) -> int: ...


@final
class Count:
    """Values are only counted."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def add(self, values: Sequence[Any]) -> None:
        self.count += len(values)

    def merge(self, told: Any) -> None:
        self.count += _whole(told)

    def told(self) -> Any:
        return self.count

    def result(self) -> Any:
        return self.count

    def size_bytes(self) -> int:
        return _STATE_BYTES


@final
class Total:
    """Sum and average. `is_whole`: the values are whole numbers, and the total is counted in ones, else in units of
    2 ** -1074."""

    __slots__ = ("_count", "_flags", "_is_average", "_is_whole", "_total")

    def __init__(self, is_average: bool, is_whole: bool) -> None:
        self._is_average = is_average
        self._is_whole = is_whole
        self._count = self._total = self._flags = 0

    def add(self, values: Sequence[Number]) -> None:
        self._count += len(values)
        if self._is_whole:
            self._total += sum(values)  # type: ignore[assignment]
            return
        for value in values:
            if isinstance(value, int):
                self._total += value << _UNIT_BITS
                continue
            self._flags |= _FLOAT
            if isnan(value):
                self._flags |= _NAN
            elif isinf(value):
                self._flags |= _POSITIVE_INFINITY if value > 0 else _NEGATIVE_INFINITY
            else:
                whole, parts = value.as_integer_ratio()
                self._total += whole << (_UNIT_BITS + 1 - parts.bit_length())

    def merge(self, told: Any) -> None:
        count, total, flags = told
        if not isinstance(total, str) or len(total) > _HEXADECIMAL_DIGITS:
            raise ValueError("no total")
        self._count += _whole(count)
        self._total += int(total, 16)
        self._flags |= _whole(flags)

    def told(self) -> Any:
        return [self._count, f"{self._total:x}", self._flags]

    def result(self) -> Any:
        if not self._count:
            return None
        infinities = self._flags & (_POSITIVE_INFINITY | _NEGATIVE_INFINITY)
        if self._flags & _NAN or infinities == (_POSITIVE_INFINITY | _NEGATIVE_INFINITY):
            return nan
        if infinities:
            return inf if infinities == _POSITIVE_INFINITY else -inf
        unit = 1 if self._is_whole else _UNIT
        if self._is_average:
            return _divided(self._total, self._count * unit)
        return _divided(self._total, unit) if self._flags & _FLOAT else self._total // unit

    def size_bytes(self) -> int:
        return _STATE_BYTES + self._total.bit_length() // 8


@final
class Extreme:
    """Min and max. NaN is passed over. `is_text`: whole numbers come beside floats."""

    __slots__ = ("_choose", "_is_text", "_value")

    def __init__(self, is_max: bool, is_text: bool = False) -> None:
        self._choose: Any = max if is_max else min
        self._is_text = is_text
        self._value: Number | None = None

    def add(self, values: Sequence[Number]) -> None:
        found = [value for value in values if value == value]
        if self._value is not None:
            found.append(self._value)
        if found:
            best = self._choose(found)
            if not best or self._is_text:  # others may be equal and look otherwise: whichever came first
                best = self._choose((value for value in found if value == best), key=_among_equals)
            self._value = best

    def merge(self, told: Any) -> None:
        if told is not None:
            if not isinstance(told, str) or len(told) > _STATE_BYTES:
                raise ValueError("no number")
            self.add((float.fromhex(told) if "x" in told or "inf" in told else int(told),))

    def told(self) -> Any:
        if self._value is None:
            return None
        return self._value.hex() if isinstance(self._value, float) else str(self._value)

    def result(self) -> Any:
        return self._value

    def size_bytes(self) -> int:
        return _STATE_BYTES


@final
class LastRow:
    """The greatest row."""

    __slots__ = ("_row",)

    def __init__(self) -> None:
        self._row: bytes | None = None

    def add(self, values: Sequence[bytes]) -> None:
        for row in values:
            if self._row is None or row > self._row:
                self._row = row

    def merge(self, told: Any) -> None:
        if told is not None:
            self.add((b64decode(told, validate=True),))

    def told(self) -> Any:
        return None if self._row is None else b64encode(self._row).decode()

    def result(self) -> Any:
        return self._row

    def size_bytes(self) -> int:
        return _STATE_BYTES + len(self._row or b"")


def state_of(aggregate: Aggregate) -> State:
    """An empty one."""
    kind = aggregate.kind
    if kind == "last":
        return LastRow()
    if kind in ("min", "max"):
        return Extreme(kind == "max", aggregate.read_as == "number")
    if kind in ("sum", "avg"):
        return Total(kind == "avg", aggregate.read_as in WHOLE_NUMBERS)
    return Distinct() if kind == "distinct" else Count()


def _whole(told: Any) -> int:
    if type(told) is not int or told < 0:
        raise ValueError("no count")
    return told


def _among_equals(value: Number) -> tuple[float, bool]:
    """-0.0 is less than 0.0, and 1 than 1.0, where else the first would stay."""
    return copysign(1.0, value), isinstance(value, float)


def _divided(total: int, unit: int) -> float:
    """Rounded once."""
    try:
        return total / unit
    except OverflowError:
        return inf if total > 0 else -inf
