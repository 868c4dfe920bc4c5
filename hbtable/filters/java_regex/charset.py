"""Sets of characters: ranges of code points where that is known, else properties that an engine knows by name."""

from dataclasses import dataclass
from typing import Final

HIGHEST: Final = 0x10FFFF

Ranges = tuple[tuple[int, int], ...]
"""(first, last), ascending, apart from each other."""


@dataclass(frozen=True, slots=True)
class Property:
    r"""\p{name} of the engines; `re2_name` is "" where RE2 has no such property."""

    name: str
    re2_name: str = ""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class CharSet:
    """The union of ranges, properties and other sets; all but that if `negated`."""

    ranges: Ranges = ()
    properties: tuple[Property, ...] = ()
    negated: bool = False
    nested: "tuple[CharSet, ...]" = ()
    both: "tuple[CharSet, CharSet] | None" = None
    """The intersection of two sets instead, where they cannot be computed."""

    def is_plain(self) -> bool:
        """Whether the ranges say everything."""
        return not (self.properties or self.nested or self.both)

    def exact_ranges(self) -> Ranges:
        """Every character in a plain set."""
        return complement(self.ranges) if self.negated else self.ranges


def of(*ranges: tuple[int, int]) -> CharSet:
    return CharSet(normalised(ranges))


def of_text(text: str) -> CharSet:
    return of(*((ord(char), ord(char)) for char in text))


def union(one: CharSet, other: CharSet) -> CharSet:
    if one.is_plain() and other.is_plain():
        return CharSet(normalised((*one.exact_ranges(), *other.exact_ranges())))
    found = CharSet()
    for part in (one, other):
        if part.is_plain():
            ranges = normalised((*found.ranges, *part.exact_ranges()))
            found = CharSet(ranges, found.properties, nested=found.nested)
        elif part.negated or part.both:
            found = CharSet(found.ranges, found.properties, nested=(*found.nested, part))
        else:
            ranges = normalised((*found.ranges, *part.ranges))
            found = CharSet(ranges, (*found.properties, *part.properties), nested=(*found.nested, *part.nested))
    return found


def intersection(one: CharSet, other: CharSet) -> CharSet:
    if one.is_plain() and other.is_plain():
        left, right = complement(one.exact_ranges()), complement(other.exact_ranges())
        return CharSet(complement(normalised((*left, *right))))
    return CharSet(both=(one, other))


def negation(chars: CharSet) -> CharSet:
    if chars.is_plain():
        return CharSet(complement(chars.exact_ranges()))
    return CharSet(chars.ranges, chars.properties, not chars.negated, chars.nested, chars.both)


def normalised(ranges: tuple[tuple[int, int], ...]) -> Ranges:
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    found = []
    start = 0
    for first, last in ranges:
        if start < first:
            found.append((start, first - 1))
        start = last + 1
    if start <= HIGHEST:
        found.append((start, HIGHEST))
    return tuple(found)


def either_case(chars: CharSet) -> CharSet:
    """The set with the other case of its ASCII letters: CASE_INSENSITIVE without UNICODE_CASE."""
    other: list[tuple[int, int]] = []
    for first, last in chars.ranges:
        for begin, distance in ((ord("a"), -32), (ord("A"), 32)):
            low, high = max(first, begin), min(last, begin + 25)
            if low <= high:
                other.append((low + distance, high + distance))
    return CharSet(normalised((*chars.ranges, *other)), chars.properties, chars.negated, chars.nested, chars.both)


ALL: Final = of((0, HIGHEST))
NONE: Final = CharSet()
LINE_TERMINATORS: Final = of_text("\n\r\x85\u2028\u2029")
UNIX_LINE_TERMINATORS: Final = of_text("\n")
DIGITS: Final = of((ord("0"), ord("9")))
WORD: Final = union(of((ord("a"), ord("z")), (ord("A"), ord("Z")), (ord("_"), ord("_"))), DIGITS)
SPACE: Final = of_text(" \t\n\x0b\f\r")
HORIZONTAL_SPACE: Final = union(of_text(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), of((0x2000, 0x200A)))
VERTICAL_SPACE: Final = of_text("\n\x0b\f\r\x85\u2028\u2029")
