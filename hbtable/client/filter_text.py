"""Filters written as Python objects: they quote what is in them, and mistakes are found where they are made."""

from typing import Final, final

from hbtable.client.given import bytes_of
from hbtable.errors import WrongType, WrongValue
from hbtable.filters.grammar import parse
from hbtable.model.values import shown

OPERATORS: Final = ("<", "<=", "=", "!=", ">", ">=")


@final
class Filter:
    """A filter of HBase's language: `Filter("PrefixFilter", "row")`, `Filter("ValueFilter", "=", "binary:x")`.

    The arguments are HBase's: an operator is one of the texts < <= = != > >=, which as bytes would be a value; other
    texts (as UTF-8) and bytes are values, quotes and all; numbers, True and False stay what they are. `a & b` and
    `a | b` join two filters; skip() and while_() put SKIP and WHILE before one. BadFilter, as a scan would raise it.
    """

    __slots__ = ("text",)

    def __init__(self, name: str, *arguments: str | bytes | int) -> None:
        word: object = name
        if not isinstance(word, str) or not (word.isidentifier() and word.isascii()):
            raise WrongValue(f"a filter's name is one word, as 'PrefixFilter', and not {shown(name)}")
        self.text = b"%b(%b)" % (name.encode(), b", ".join(_written(one) for one in arguments))
        parse(self.text)

    @staticmethod
    def columns(family: str | bytes, pattern: str | bytes) -> "Filter":
        r"""The columns of one family in whose qualifiers the regular expression `pattern` is found, as
        `Filter.columns("anchor", r"\.cnn\.com$")`. The syntax is Java's; ^ and $ stand for the ends."""
        named = Filter("FamilyFilter", "=", b"binary:" + bytes_of("the family", family))
        return named & Filter("QualifierFilter", "=", b"regexstring:" + bytes_of("the pattern", pattern))

    def __and__(self, other: "Filter") -> "Filter":
        return self._joined(b"AND", other)

    def __or__(self, other: "Filter") -> "Filter":
        return self._joined(b"OR", other)

    def skip(self) -> "Filter":
        """Drops a whole row when this drops one of its cells."""
        return _of(b"SKIP (%b)" % self.text)

    def while_(self) -> "Filter":
        """Ends the scan when this drops something."""
        return _of(b"WHILE (%b)" % self.text)

    def __repr__(self) -> str:
        return f"<filter {self.text.decode('utf-8', 'backslashreplace')}>"

    def _joined(self, word: bytes, other: "Filter") -> "Filter":
        if not isinstance(other, Filter):
            raise WrongType(f"a filter is joined with another hbtable.Filter, not with {shown(other)}")
        return _of(b"(%b %b %b)" % (self.text, word, other.text))


def _of(text: bytes) -> Filter:
    parse(text)
    made = Filter.__new__(Filter)
    made.text = text
    return made


def _written(argument: object) -> bytes:
    if isinstance(argument, bool):
        return b"true" if argument else b"false"
    if isinstance(argument, int):
        return b"%d" % argument
    if isinstance(argument, str) and argument in OPERATORS:
        return argument.encode()
    return b"'%b'" % bytes_of("a filter's argument", argument).replace(b"'", b"''")
