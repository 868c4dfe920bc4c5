r"""A tree as a pattern of RE2, which finds it in linear time; None where RE2 has no such construct.

RE2 looks neither ahead nor behind. So `$` is written as the line terminator that may follow, which only "found or not"
allows, and only where nothing of the pattern follows; and of a text that ends in \r\n it would be wrong: Java's `$`
does not stand between the two. \b is ASCII's in RE2 and not in Java. Such texts are for the other engine: needs_other.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import re2

from hbtable.filters.java_regex import charset
from hbtable.filters.java_regex.charset import CharSet, Property
from hbtable.filters.java_regex.pattern import Anchor, Chars, Choice, Node, RegexGroup, Repeat, Sequence

_MOST_REPEATS: Final = 1000
"""RE2's own limit."""

_OF_OTHERS: Final = 3
"""Instructions of an anchor, about."""
_OF_NOTHING: Final = 4
"""Of the empty pattern."""

_NEVER: Final = r"[^\x{0}-\x{10ffff}]"
_SURROGATES: Final = ((0xD800, 0xDFFF),)


def written(node: Node) -> str | None:
    try:
        return _text(node, is_last=True)
    except _NotInRe2:
        return None


def instructions(node: Node) -> int:
    """About how many RE2's program has, of a tree that it can be written for: before it is compiled, because that may
    take long."""
    match node:
        case Chars(chars):
            return _of_set(chars)
        case Sequence(items):
            return 1 + sum(map(instructions, items))
        case Choice(items):
            return 1 + sum(1 + instructions(item) for item in items)
        case RegexGroup(item, _):
            return instructions(item)
        case Repeat(item, least, most, _):
            return 1 + (1 + instructions(item)) * max(1, least, most or 0)
    return _OF_OTHERS


@lru_cache(1024)
def _of_set(chars: CharSet) -> int:
    """A set of letters that are not ASCII is a little machine over their bytes."""
    text = _set(chars)
    return 1 if len(text) == 1 else max(1, re2.compile(text, re2.Options()).programsize - _OF_NOTHING)


def anchors(node: Node) -> frozenset[str]:
    """Kinds of all anchors of the tree."""
    return frozenset(part.kind for part in _parts(node) if isinstance(part, Anchor))


class _NotInRe2(Exception):
    pass


def _text(node: Node, is_last: bool) -> str:
    """`is_last`: nothing of the pattern follows."""
    match node:
        case Chars(chars):
            return _set(chars)
        case Sequence(items):
            last = len(items) - 1
            return "".join(_grouped(item, is_last and place == last) for place, item in enumerate(items))
        case Choice(items):
            return "|".join(_text(item, is_last) for item in items) if items else _NEVER
        case RegexGroup(item, _):
            return f"(?:{_text(item, is_last)})"
        case Repeat(item, least, most, mode):
            return _repeat(item, least, most, mode)
        case Anchor():
            return _anchor(node, is_last)
    raise _NotInRe2


def _grouped(node: Node, is_last: bool) -> str:
    text = _text(node, is_last)
    return f"(?:{text})" if isinstance(node, Choice) else text


def _repeat(item: Node, least: int, most: int | None, mode: str) -> str:
    if mode == "possessive" or max(least, most or 0) > _MOST_REPEATS:
        raise _NotInRe2
    text = _text(item, is_last=False)
    if not isinstance(item, Chars):
        text = f"(?:{text})"
    if (least, most) == (0, None):
        return text + "*"
    if (least, most) == (1, None):
        return text + "+"
    if (least, most) == (0, 1):
        return text + "?"
    return f"{text}{{{least},{'' if most is None else most}}}"


def _anchor(anchor: Anchor, is_last: bool) -> str:
    match anchor.kind:
        case "begin":
            return r"\A"
        case "end":
            return r"\z"
        case "word":
            return r"\b"
        case "not word":
            return r"\B"
        case "final end" if is_last:
            return r"\n?\z" if anchor.unix else r"[\n\r\x{85}\x{2028}\x{2029}]?\z"
    raise _NotInRe2


def _set(chars: CharSet) -> str:
    if chars.both or any(not one.re2_name for one in chars.properties):
        raise _NotInRe2
    if chars.nested:
        if chars.negated:
            raise _NotInRe2
        parts = [_set(part) for part in chars.nested]
        return f"(?:{'|'.join([_set(CharSet(chars.ranges, chars.properties)), *parts])})"
    if not chars.properties:
        return _ranges(chars.exact_ranges())
    inside = _inside(chars.ranges) + "".join(_property(one) for one in chars.properties)
    return f"[{'^' if chars.negated else ''}{inside}]"


def _property(one: Property) -> str:
    return f"\\{'P' if one.negated else 'p'}{{{one.re2_name}}}"


def _ranges(ranges: charset.Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        code = ranges[0][0]
        return _code(code) if not 0xD800 <= code <= 0xDFFF else _NEVER  # no text holds half a surrogate pair
    if ranges == charset.ALL.ranges:
        return "(?s:.)"
    return f"[{inside}]" if (inside := _inside(ranges)) else _NEVER


def _inside(ranges: charset.Ranges) -> str:
    apart = charset.complement(charset.normalised((*charset.complement(ranges), *_SURROGATES)))
    return "".join(_code(first) if first == last else f"{_code(first)}-{_code(last)}" for first, last in apart)


def _code(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code:x}}}"


def _parts(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Sequence(items) | Choice(items):
            for item in items:
                yield from _parts(item)
        case RegexGroup(item, _) | Repeat(item, _, _, _):
            yield from _parts(item)
