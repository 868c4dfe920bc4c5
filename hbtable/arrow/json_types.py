"""Values of JSON are compared with a type of Arrow. pyarrow.array asks less: within a list it cuts 2.75 to 2, and takes
a text for a list of its letters and an empty list for a struct of nulls.

2.0 is a whole number as well, as far as floats hold whole numbers exactly. A struct has those members of an object
that it names. A map is an object, or a list of objects with a key and a value.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import types as kinds

from hbtable.model.values import shown

Check = Callable[[Sequence[Any]], None]
"""Of values that are to be of one type, or None. A ValueError names the first one that is not."""

_NOTHING: Final = type(None)
_MOST_WHOLE: Final[Mapping[int, int]] = {16: 1 << 11, 32: 1 << 24, 64: 1 << 53}
"""By the bits of a float: a larger whole number may be rounded to another one."""
_INFINITE: Final[Mapping[int, float]] = {16: 65520.0, 32: float(2**128 - 2**103), 64: float("inf")}
"""By the bits of a float: the first number that becomes infinite."""


class NamedFloat(float):
    """NaN or an infinity that stands there by its name, as Python writes it. 1e400 is an infinite float, too."""


def check_of(type: pa.DataType) -> Check:
    """A type that is not made of JSON is left to Arrow, which refuses it."""
    if isinstance(type, pa.BaseExtensionType):
        return check_of(type.storage_type)
    if isinstance(type, pa.DictionaryType):
        return check_of(type.value_type)
    if kinds.is_map(type):
        return _maps(type)
    if kinds.is_struct(type):
        return _structs(type)
    if kinds.is_nested(type) and hasattr(type, "value_type"):
        return _lists(type)
    if kinds.is_floating(type):
        return _floats(type)
    if kinds.is_integer(type) or kinds.is_temporal(type) or kinds.is_decimal(type):
        return _whole_numbers(type)
    kind = bool if kinds.is_boolean(type) else str
    return lambda values: _refuse_others(values, {kind, _NOTHING}, type)


def _refuse_others(values: Sequence[Any], wanted: set[type], type_: pa.DataType) -> None:
    """Refuses the first value of another kind."""
    if not set(map(type, values)) <= wanted:
        raise _none(next(one for one in values if type(one) not in wanted), type_)


def _none(value: object, type: pa.DataType) -> ValueError:
    return ValueError(f"{shown(value)} is no {type}")


def _whole_numbers(type: pa.DataType) -> Check:
    def check(values: Sequence[Any]) -> None:
        _refuse_others(values, {int, float, _NOTHING}, type)
        for one in values:
            if isinstance(one, float) and not (one.is_integer() and abs(one) < _MOST_WHOLE[64]):
                raise _none(one, type)

    return check


def _floats(type: pa.DataType) -> Check:
    whole, infinite = _MOST_WHOLE[type.bit_width], _INFINITE[type.bit_width]

    def check(values: Sequence[Any]) -> None:
        _refuse_others(values, {int, float, NamedFloat, _NOTHING}, type)
        for one in values:
            if isinstance(one, int):
                if abs(one) > whole:
                    raise _none(one, type)
            elif one is not None and abs(one) >= infinite and not isinstance(one, NamedFloat):
                raise _none(one, type)

    return check


def _lists(type: pa.DataType) -> Check:
    inner = check_of(type.value_type)

    def check(values: Sequence[Any]) -> None:
        _refuse_others(values, {list, _NOTHING}, type)
        for one in values:
            if one:
                inner(one)

    return check


def _structs(type: pa.DataType) -> Check:
    fields = [(field.name, check_of(field.type)) for field in type]

    def check(values: Sequence[Any]) -> None:
        _refuse_others(values, {dict, _NOTHING}, type)
        for name, inner in fields:
            inner([one.get(name) for one in values if one is not None])

    return check


def _maps(type: pa.DataType) -> Check:
    key, item = check_of(type.key_type), check_of(type.item_type)

    def check(values: Sequence[Any]) -> None:
        _refuse_others(values, {dict, list, _NOTHING}, type)
        for one in values:
            if isinstance(one, dict):
                key(list(one))
                item(list(one.values()))
            elif one:
                if not all(isinstance(pair, dict) and pair.keys() == {"key", "value"} for pair in one):
                    raise _none(one, type)
                key([pair["key"] for pair in one])
                item([pair["value"] for pair in one])

    return check
