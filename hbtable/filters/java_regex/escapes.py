r"""Escapes, which follow a backslash: one character, a set, or (outside of brackets) an anchor or a back-reference."""

import unicodedata
from typing import Final

from hbtable.filters.java_regex import charset
from hbtable.filters.java_regex.charset import CharSet, negation, of_text
from hbtable.filters.java_regex.pattern import Anchor, BackReference, Chars, Choice, Node, Sequence
from hbtable.filters.java_regex.properties import read_property
from hbtable.filters.java_regex.source import PatternSource

_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_SETS: Final = {
    "d": charset.DIGITS, "w": charset.WORD, "s": charset.SPACE,
    "h": charset.HORIZONTAL_SPACE, "v": charset.VERTICAL_SPACE,
}  # fmt: skip
_OUTSIDE_ONLY: Final = frozenset("bBAGZzRXk123456789")
_OCTAL: Final = "01234567"
_HEX: Final = "0123456789abcdefABCDEF"


LINE_BREAK: Final = Choice((Sequence((Chars(of_text("\r")), Chars(of_text("\n")))), Chars(charset.VERTICAL_SPACE)))
r"""\R: \r\n, or one line terminator."""


def read_in_class(source: PatternSource) -> str | CharSet:
    """Behind a backslash inside of brackets: a character or a set."""
    char = source.take()
    if char == "v" and source.peek() == "-":
        return "\x0b"  # as the start of a range it is what it was before Java 8
    return _char_or_set(source, char)


def read_atom(source: PatternSource) -> str | Node:
    """Behind a backslash outside of brackets: a character or what it stands for."""
    char = source.take()
    if char in _OUTSIDE_ONLY:
        return _anchor_or_reference(source, char)
    found = _char_or_set(source, char)
    return found if isinstance(found, str) else Chars(found)


def _char_or_set(source: PatternSource, char: str) -> str | CharSet:
    if not char:
        raise source.error("Unexpected internal error")  # a backslash at the end, in Java's words
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char in _SETS:
        return _SETS[char]
    if char.lower() in _SETS:
        return negation(_SETS[char.lower()])
    if char in "pP":
        return read_property(source, char == "P")
    reader = _NUMBERS.get(char)
    if reader is not None:
        return reader(source)
    if char.isascii() and char.isalnum():
        raise source.error("Illegal/unsupported escape sequence")
    return char


def _octal(source: PatternSource) -> str:
    digits = _digits(source, _OCTAL, 2)
    if not digits:
        raise source.error("Illegal octal escape sequence")
    if len(digits) == 2 and digits[0] in "0123" and source.peek() in tuple(_OCTAL):
        digits += source.take()
    return chr(int(digits, 8))


def _hex(source: PatternSource) -> str:
    if source.takes("{"):
        digits = _digits(source, _HEX, 12)
        if not digits or not source.takes("}") or int(digits, 16) > charset.HIGHEST:
            raise source.error("Illegal hexadecimal escape sequence")
        return chr(int(digits, 16))
    digits = _digits(source, _HEX, 2)
    if len(digits) != 2:
        raise source.error("Illegal hexadecimal escape sequence")
    return chr(int(digits, 16))


def _unicode(source: PatternSource) -> str:
    high = _utf16_unit(source)
    if 0xD800 <= high < 0xDC00 and source.peek() == "\\" and source.peek(1) == "u":
        before = source.at
        source.at += 2
        low = _utf16_unit(source)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        source.at = before
    return chr(high)


def _utf16_unit(source: PatternSource) -> int:
    digits = _digits(source, _HEX, 4)
    if len(digits) != 4:
        raise source.error("Illegal Unicode escape sequence")
    return int(digits, 16)


def _control(source: PatternSource) -> str:
    char = source.take()
    if not char:
        raise source.error("Illegal control escape sequence")
    return chr(ord(char[-1]) ^ 64)


def _name(source: PatternSource) -> str:
    name = ""
    if source.takes("{"):
        while source.peek() not in ("}", ""):
            name += source.take()
    if not name or not source.takes("}"):
        raise source.error("Illegal character name escape sequence")
    try:
        return unicodedata.lookup(name)
    except KeyError as error:
        raise source.error(f"Unknown character name [{name}]") from error


_NUMBERS: Final = {"0": _octal, "x": _hex, "u": _unicode, "c": _control, "N": _name}


def _digits(source: PatternSource, allowed: str, most: int) -> str:
    found = ""
    while len(found) < most and source.peek() in tuple(allowed):
        found += source.take()
    return found


def _anchor_or_reference(source: PatternSource, char: str) -> Node:
    unix = source.flags.unix_lines
    match char:
        case "b":
            if source.peek() == "{" and source.peek(1) == "g":
                raise source.unsupported(r"\b{g}, the boundary of a grapheme cluster")
            return Anchor("word")
        case "B":
            return Anchor("not word")
        case "A" | "G":  # the first search begins at the beginning of the text
            return Anchor("begin")
        case "Z":
            return Anchor("final end", unix)
        case "z":
            return Anchor("end")
        case "R":
            return LINE_BREAK
        case "X":
            raise source.unsupported(r"\X, a grapheme cluster")
        case "k":
            return _named_reference(source)
    number = int(char)
    if number > source.groups:
        source.later_groups.append(number)
        return Choice(())
    while source.peek() in tuple("0123456789") and number * 10 + int(source.peek()) <= source.groups:
        number = number * 10 + int(source.take())
    return _reference(source, number)


def _named_reference(source: PatternSource) -> Node:
    if not source.takes("<"):
        raise source.error(r"\k is not followed by '<' for named capturing group")
    name = read_group_name(source)
    if name not in source.names:
        raise source.error(f"named capturing group <{name}> does not exist")
    return _reference(source, source.names[name])


def _reference(source: PatternSource, number: int) -> Node:
    if source.flags.case_insensitive:
        raise source.unsupported("a back-reference under the flag i")
    return BackReference(number)


def read_group_name(source: PatternSource) -> str:
    """Reads a group's name up to its `>`, which is taken."""
    name = source.take()
    if not (len(name) == 1 and name.isascii() and name.isalpha()):
        raise source.error("capturing group name does not start with a Latin letter")
    while len(source.peek()) == 1 and source.peek().isascii() and source.peek().isalnum():
        name += source.take()
    if not source.takes(">"):
        raise source.error("named capturing group is missing trailing '>'")
    return name
