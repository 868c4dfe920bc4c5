"""Two calls of one name, of Thrift1 and Thrift2: one layout that takes the arguments of either.

`get(table, row, column)` and `get(table, TGet)` arrive on the same port. Which one a call is shows in the kinds of its
fields, so the merged layout has a place for each (kind, field id) that either knows; a call that filled a place of
Thrift2's alone is one of Thrift2.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

from hbtable.thrift.shapes import Field, StructLayout, ValueType
from hbtable.thrift.wire import LIST, STRING, STRUCT


class Either(NamedTuple):
    """A struct in a place that both have: as each would have it."""

    first: Any
    second: Any
    is_second: bool
    """A field was there that only the second has."""


@final
class EitherCall:
    """A call that two services have under one name. first() and second() take each one's values, in the order of
    `layout`, out of what was read."""

    def __init__(self, first: StructLayout, second: StructLayout) -> None:
        fields, self._places = _merged(first.fields, second.fields)
        self.layout: Final = StructLayout(fields)
        self.first_count: Final = len(first.fields)
        self._own_count = len(fields) - self.first_count
        self._structs = [place for place in self._places if place < self.first_count and fields[place].shape.layout]
        """Positions in `layout` at which an Either may stand."""
        self._lists = [
            (place, element.kind, element.alternative.kind)
            for place, field in enumerate(fields)
            if (element := field.shape.element) is not None and element.alternative is not None
        ]
        """Positions of lists whose elements are of either kind: (position, the first's, the second's)."""
        self.tells_by_arguments: Final = self._own_count > 0
        is_plain = self.tells_by_arguments and not self._structs and not self._lists
        self.usual: Final = [None] * self._own_count if is_plain else None
        """In the places behind the first's: a call of the first, in which nothing has to be looked at. None: there is
        always something."""

    def is_second(self, values: list[Any]) -> bool:
        """Run for each mutateRow."""
        if values[self.first_count :].count(None) < self._own_count:
            return True
        for place in self._structs:
            value = values[place]
            if type(value) is Either and value.is_second:
                return True
        return False

    def first(self, values: list[Any]) -> list[Any]:
        found = values[: self.first_count]
        for place in self._structs:
            value = found[place]
            if type(value) is Either:
                found[place] = value.first
        for place, kind, _ in self._lists:
            found[place] = _of_kind(found[place], kind)
        return found

    def second(self, values: list[Any]) -> list[Any]:
        for place, _, kind in self._lists:
            values[place] = _of_kind(values[place], kind)
        found = (values[place] for place in self._places)
        return [value.second if type(value) is Either else value for value in found]


def _of_kind(values: Any, kind: int) -> Any:
    """A list without the elements of the other call's kind, as HBase's own server has it: all are of one."""
    if type(values) is list and values and isinstance(values[0], (bytes, str)) != (kind == STRING):
        return []
    return values


def _merged(first: Sequence[Field], second: Sequence[Field]) -> tuple[list[Field], list[int]]:
    """(all fields, the place of each of the second's)."""
    fields = list(first)
    known = {(field.shape.kind, field.id): place for place, field in enumerate(first)}
    places = []
    for field in second:
        place = known.get((field.shape.kind, field.id))
        if place is None:
            places.append(len(fields))
            fields.append(field)
            continue
        places.append(place)
        mine, theirs = fields[place].shape, field.shape
        if mine.kind == STRUCT and mine.layout is not None and theirs.layout is not None:
            fields[place] = fields[place]._replace(shape=_either_struct(mine.layout, theirs.layout))
        elif mine.kind == LIST and mine.element is not None and theirs.element is not None:
            fields[place] = fields[place]._replace(shape=_either_list(mine.element, theirs.element))
    return fields, places


def _either_struct(first: StructLayout, second: StructLayout) -> ValueType:
    fields, places = _merged(first.fields, second.fields)
    count = len(first.fields)

    def make(*values: Any) -> Either:
        is_second = any(value is not None for value in values[count:])
        return Either(first.make(*values[:count]), second.make(*(values[place] for place in places)), is_second)

    return ValueType(STRUCT, layout=StructLayout(fields, make))


def _either_list(first: ValueType, second: ValueType) -> ValueType:
    """The elements tell by their kind whose they are."""
    element = ValueType(first.kind, first.key, first.element, first.layout, first.convert, first.unconvert)
    element.alternative = second
    return ValueType(LIST, element=element)
