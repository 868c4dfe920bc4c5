"""Values of one type of Arrow as values of another one, where nothing is lost by it. Arrow's own cast refuses some of
what it loses, and not all: whether the outcome means the same is looked at here."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from hbtable.errors import WrongType

_SIGNIFICANT_BITS: Final = {16: 11, 32: 24, 64: 53}
"""By the bits of a float: a whole number that needs more may be another one, rounded."""


def converter(name: str, type: pa.DataType, wanted: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Returns what makes values of the other type; an error of Arrow or a ValueError says that a value is none. Times
    are counted from 1970 in UTC, whether they have a zone or none, and become others of the same moment. Floats may be
    rounded to shorter ones. WrongType names the field, where no value of its type is one of the other."""
    if isinstance(wanted, pa.DictionaryType):
        return converter(name, type, wanted.value_type)
    if isinstance(type, pa.DictionaryType):
        convert = converter(name, type.value_type, wanted)
        return lambda values: convert(spelled_out(values))
    _refuse_lossy(name, type, wanted)
    if kinds.is_timestamp(type) and not is_text(wanted):
        plain = pa.timestamp(type.unit)
        to = pa.timestamp(wanted.unit) if kinds.is_timestamp(wanted) else wanted
        return lambda values: _converted(values.view(plain), to)
    return lambda values: _converted(values, wanted)


def spelled_out(values: Any) -> pa.Array:
    """The values themselves, where they are those of a dictionary. Arrow takes none from a dictionary of views, as
    Polars has them for Categorical and Enum: they become text or bytes of the large kind, which mean the same."""
    type = values.type
    if isinstance(type, pa.DictionaryType):
        type = type.value_type
        if kinds.is_string_view(type) or kinds.is_binary_view(type):
            large = pa.large_string() if kinds.is_string_view(type) else pa.large_binary()
            values = values.dictionary.cast(large).take(values.indices)
        else:
            values = values.cast(type)
    found: pa.Array = values
    return found


def _converted(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    made = values.cast(wanted)
    _compare(values, made)
    return made


# ---------------------------------------------------------------- types


_WITH_UNIT: Final = {
    "timestamp": "timestamp('ms')",
    "duration": "duration('ms')",
    "time": "time64('us')",
    "date": "date32()",
}
"""The types of times by what their names begin with; the first that fits."""


def _refuse_lossy(name: str, type: pa.DataType, wanted: pa.DataType) -> None:
    if _is_time(type) and (kinds.is_integer(wanted) or kinds.is_floating(wanted)):
        kind = next(kind for kind in _WITH_UNIT if str(type).startswith(kind))
        raise WrongType(
            f"field {name!r} is {type}, and {wanted} does not say of which unit the number is: give "
            f"pyarrow.{_WITH_UNIT[kind]}, which is stored as a number"
        )
    if kinds.is_timestamp(type) and kinds.is_time(wanted):
        raise WrongType(f"field {name!r} is {type}, whose day {wanted} does not have")
    if kinds.is_struct(type) and kinds.is_struct(wanted):
        for field in type:
            named = [[one.type for one in struct if one.name == field.name] for struct in (type, wanted)]
            if [len(found) for found in named] != [1, 1]:
                raise WrongType(f"field {name!r} is {type}, of which {wanted} does not have each {field.name!r}")
            _refuse_lossy(name, field.type, named[1][0])
    elif _is_sequence(type) and _is_sequence(wanted):
        _refuse_lossy(name, _of_sequence(type), _of_sequence(wanted))


def _of_sequence(type: pa.DataType) -> pa.DataType:
    """The type of its elements. A map's has its keys and values."""
    if not kinds.is_map(type):
        return type.value_type
    return pa.struct([("key", type.key_type), ("value", type.item_type)])


def _is_time(type: pa.DataType) -> bool:
    return bool(kinds.is_timestamp(type) or kinds.is_duration(type) or kinds.is_time(type) or kinds.is_date(type))


def _is_sequence(type: pa.DataType) -> bool:
    """A list, or a map."""
    return is_list(type) or bool(kinds.is_map(type))


def is_list(type: pa.DataType) -> bool:
    """Lists of whatever kind and size."""
    return kinds.is_nested(type) and hasattr(type, "value_type")


def is_text(type: pa.DataType) -> bool:
    return bool(kinds.is_string(type) or kinds.is_large_string(type) or kinds.is_string_view(type))


def is_bytes(type: pa.DataType) -> bool:
    return bool(
        kinds.is_binary(type)
        or kinds.is_large_binary(type)
        or kinds.is_binary_view(type)
        or kinds.is_fixed_size_binary(type)
    )


# ---------------------------------------------------------------- values


def _compare(before: pa.Array, made: pa.Array) -> None:
    """ValueError, or one of Arrow: a value means something else."""
    before, made = _plain(before), _plain(made)
    type, wanted = before.type, made.type
    if type == wanted or kinds.is_null(type):
        return
    if kinds.is_floating(wanted):
        _compare_floats(before, made)
    elif is_text(wanted) or is_bytes(wanted) or is_text(type) or is_bytes(type):
        pass  # a text has all of a value, and Arrow reads all of a text or refuses it
    elif isinstance(before, pa.StructArray) and isinstance(made, pa.StructArray):
        children = {field.name: child for field, child in zip(wanted, made.flatten(), strict=True)}
        for field, child in zip(type, before.flatten(), strict=True):
            _compare(child, children[field.name])
    elif kinds.is_nested(type):
        _compare(_elements(before), _elements(made))
    else:
        if kinds.is_floating(type):
            _refuse_rounded(before, made)
        _refuse_where(pc.not_equal(made.cast(type), before), before, made)


def _elements(values: Any) -> pa.Array:
    """Those of lists and maps."""
    if not isinstance(values, pa.MapArray):
        flat: pa.Array = values.flatten()
        return flat
    first, end = values.offsets[0].as_py(), values.offsets[len(values)].as_py()
    children = [one.slice(first, end - first) for one in (values.keys, values.items)]
    return pa.StructArray.from_arrays(children, ["key", "value"])


def _plain(values: pa.Array) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return spelled_out(values)


def _compare_floats(before: pa.Array, made: pa.Array) -> None:
    """Fractions may be rounded, and floats to shorter ones, but what is finite stays so."""
    if kinds.is_floating(before.type):
        finite = pc.is_finite(before)
    elif is_text(before.type) or is_bytes(before.type):
        finite = pc.invert(pc.match_substring_regex(before.cast(pa.large_binary()), "inf|nan", ignore_case=True))
    else:
        finite = pc.is_valid(before)
    _refuse_where(pc.and_(finite, pc.invert(pc.is_finite(made))), before, made)
    if kinds.is_boolean(before.type) or kinds.is_integer(before.type):
        _refuse_where(pc.not_equal(made.cast(before.type), before), before, made)
    elif not kinds.is_floating(before.type):
        _refuse_other_numbers(before, made)


def _refuse_other_numbers(before: pa.Array, made: pa.Array) -> None:
    """A decimal or a text that is no float, where floats hold no fractions any more, is refused. Of a text that is one
    which is written so, as 1e300, the float is near enough."""
    large = pc.greater_equal(pc.abs(made.cast(pa.float64())), float(1 << _SIGNIFICANT_BITS[made.type.bit_width]))
    for at in pc.indices_nonzero(pc.and_(large, pc.is_finite(made))).to_pylist():
        value, other = before[at].as_py(), made[at]
        if isinstance(value, Decimal):
            is_same = value == Decimal(float(other.as_py()))
        else:
            text = value.decode() if isinstance(value, bytes) else value
            is_same = Decimal(text) in (Decimal(float(other.as_py())), Decimal(other.cast(pa.string()).as_py()))
        if not is_same:
            raise ValueError(f"{value} is {before.type}, and would become {other} as {made.type}")


def _refuse_rounded(before: pa.Array, made: pa.Array) -> None:
    most = 1 << _SIGNIFICANT_BITS[before.type.bit_width]
    rounded = pc.greater_equal(pc.abs(before.cast(pa.float64())), float(most))
    _refuse_where(rounded, before, made, f" of {most} or more, which may be rounded")


def _refuse_where(lost: pa.Array, before: pa.Array, made: pa.Array, what: str = "") -> None:
    at = pc.index(lost, True).as_py()
    if at >= 0:
        value, other = before[at], made[at]
        raise ValueError(f"{value} is {before.type}{what}, and would become {other} as {made.type}")
