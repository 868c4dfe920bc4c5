"""A tree as a pattern of the engine `regex` (its VERSION1), which backtracks and knows all that Java knows."""

from typing import Final

from hbtable.filters.java_regex import charset
from hbtable.filters.java_regex.charset import CharSet, Property
from hbtable.filters.java_regex.pattern import (
    Anchor,
    Atomic,
    BackReference,
    Chars,
    Choice,
    Look,
    Node,
    RegexGroup,
    Repeat,
    Sequence,
)

_NEVER: Final = r"(?!)"

# Character.isLetterOrDigit, and what Java up to 18 takes for a part of a word: also marks behind one of these.
_BASE: Final = r"[\p{L}\p{Nd}]"
_LEFT: Final = rf"(?:[\p{{L}}\p{{Nd}}_]|{_BASE}\p{{Mn}}+)"
_RIGHT: Final = rf"(?:[\p{{L}}\p{{Nd}}_]|\p{{Mn}}(?<={_BASE}\p{{Mn}}+))"

_ANCHORS: Final = {
    ("begin", False): r"\A",
    ("end", False): r"\Z",
    ("final end", False): r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)",
    ("final end", True): r"(?=\n?\Z)",
    ("line end", False): r"(?=[\r\x85\u2028\u2029]|(?<!\r)\n|\Z)",
    ("line end", True): r"(?=\n|\Z)",
    ("line begin", False): r"(?!\Z)(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))",
    ("line begin", True): r"(?!\Z)(?:\A|(?<=\n))",
    ("word", False): rf"(?:(?<={_LEFT})(?!{_RIGHT})|(?<!{_LEFT})(?={_RIGHT}))",
    ("not word", False): rf"(?:(?<={_LEFT})(?={_RIGHT})|(?<!{_LEFT})(?!{_RIGHT}))",
}


def written(node: Node) -> str:
    match node:
        case Chars(chars):
            return _set(chars)
        case Sequence(items):
            return "".join(f"(?:{written(item)})" if isinstance(item, Choice) else written(item) for item in items)
        case Choice(items):
            return "|".join(written(item) for item in items) if items else _NEVER
        case RegexGroup(item, number):
            return f"(?P<g{number}>{written(item)})"
        case Atomic(item):
            return f"(?>{written(item)})"
        case Look(item, behind, negative):
            return f"(?{'<' if behind else ''}{'!' if negative else '='}{written(item)})"
        case BackReference(number):
            return f"(?P=g{number})"
        case Anchor(kind, unix):
            return _ANCHORS[kind, unix]
        case Repeat(item, least, most, mode):
            suffix = {"greedy": "", "lazy": "?", "possessive": "+"}[mode]
            return f"(?:{written(item)}){{{least},{'' if most is None else most}}}{suffix}"


def _set(chars: CharSet) -> str:
    if not (chars.properties or chars.nested or chars.both):
        ranges = chars.exact_ranges()
        if not ranges:
            return _NEVER
        if ranges == charset.ALL.ranges:
            return "(?s:.)"
    return _bracket(chars)


def _bracket(chars: CharSet) -> str:
    start = "[^" if chars.negated else "["
    if chars.both is not None:
        one, other = chars.both
        return f"{start}{_bracket(one)}&&{_bracket(other)}]"
    parts = [f"{_code(first)}-{_code(last)}" for first, last in chars.ranges]
    parts += [_property(one) for one in chars.properties]
    parts += [_bracket(one) for one in chars.nested]
    if not parts:  # a bracket may not be empty
        return r"[\x00-\U0010ffff]" if chars.negated else r"[^\x00-\U0010ffff]"
    return f"{start}{''.join(parts)}]"


def _property(one: Property) -> str:
    return f"\\{'P' if one.negated else 'p'}{{{one.name}}}"


def _code(code: int) -> str:
    return f"\\U{code:08x}"
