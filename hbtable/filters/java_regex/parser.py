"""Text to tree: groups, alternatives, repetitions, flags. ValueError says what is malformed (in the words of Java) or
not supported."""

from hbtable.filters.java_regex import charset
from hbtable.filters.java_regex.charset import ALL, either_case, negation, of_text
from hbtable.filters.java_regex.classes import MAX_DEPTH, read_class
from hbtable.filters.java_regex.escapes import LINE_BREAK, read_atom, read_group_name
from hbtable.filters.java_regex.pattern import (
    Anchor,
    Atomic,
    Chars,
    Choice,
    Look,
    Node,
    RegexGroup,
    Repeat,
    Sequence,
)
from hbtable.filters.java_regex.source import END, Flags, PatternSource

_MOST_REPEATS = 2**31 - 1
_FLAG_NAMES = {"i": "case_insensitive", "m": "multiline", "s": "dot_all", "d": "unix_lines"}
_REFUSED_FLAGS = {"x": "COMMENTS", "u": "UNICODE_CASE", "U": "UNICODE_CHARACTER_CLASS", "c": "CANON_EQ"}


def parse(pattern: str) -> Node:
    source = PatternSource(pattern)
    found = _choice(source)
    if source.peek() == ")":
        raise source.error("Unmatched closing ')'")
    if any(number <= source.groups for number in source.later_groups):
        raise source.unsupported("a reference to a group that begins later")
    return found


def _choice(source: PatternSource) -> Node:
    items = [_sequence(source)]
    while source.takes("|"):
        items.append(_sequence(source))
    return items[0] if len(items) == 1 else Choice(tuple(items))


def _sequence(source: PatternSource) -> Node:
    items: list[Node] = []
    while source.peek() not in ("|", ")", END):
        atom = _atom(source)
        if atom is not None:
            items.append(_repeated(source, atom))
    return items[0] if len(items) == 1 else Sequence(tuple(items))


def _atom(source: PatternSource) -> Node | None:
    """None: flags, which nothing repeats."""
    flags = source.flags
    if source.peek() == "{":
        return Sequence(())  # a repetition of nothing: Java takes it
    char = source.take()
    match char:
        case "(":
            return _group(source)
        case "[":
            return Chars(read_class(source))
        case "^":
            return Anchor("line begin", flags.unix_lines) if flags.multiline else Anchor("begin")
        case "$":
            return Anchor("line end" if flags.multiline else "final end", flags.unix_lines)
        case ".":
            if flags.dot_all:
                return Chars(ALL)
            return Chars(negation(charset.UNIX_LINE_TERMINATORS if flags.unix_lines else charset.LINE_TERMINATORS))
        case "*" | "+" | "?":
            raise source.error(f"Dangling meta character '{char}'")
        case "\\":
            found = read_atom(source)
            return found if not isinstance(found, str) else _literal(source, found)
    return _literal(source, char[-1])


def _literal(source: PatternSource, char: str) -> Chars:
    chars = of_text(char)
    return Chars(either_case(chars) if source.flags.case_insensitive else chars)


def _repeated(source: PatternSource, item: Node) -> Node:
    char = source.peek()
    if char == "?":
        source.at += 1
        least, most = 0, 1
    elif char == "*":
        source.at += 1
        least, most = 0, None
    elif char == "+":
        source.at += 1
        least, most = 1, None
    elif char == "{":
        source.at += 1
        least, most = _counts(source)
    else:
        return item
    if _has_line_break_as_only_choice(item):
        item = Atomic(item)
    if source.takes("?"):
        return Repeat(item, least, most, "lazy")
    return Repeat(item, least, most, "possessive" if source.takes("+") else "greedy")


def _has_line_break_as_only_choice(item: Node) -> bool:
    r"""Java repeats what it takes for deterministic without going back into it, and takes \R for that."""
    match item:
        case Choice():
            return item is LINE_BREAK
        case Sequence(items):
            return any(map(_has_line_break_as_only_choice, items)) and all(map(_is_deterministic, items))
        case RegexGroup(inner, _):
            return _has_line_break_as_only_choice(inner)
    return False


def _is_deterministic(item: Node) -> bool:
    match item:
        case Choice():
            return item is LINE_BREAK
        case Sequence(items):
            return all(map(_is_deterministic, items))
        case RegexGroup(inner, _):
            return _is_deterministic(inner)
        case Repeat(inner, least, most, _):
            return least == most and _is_deterministic(inner)
    return True


def _counts(source: PatternSource) -> tuple[int, int | None]:
    if source.peek() not in tuple("0123456789"):
        raise source.error("Illegal repetition")
    least = _count(source)
    most: int | None = least
    if source.takes(","):
        most = _count(source) if source.peek() != "}" else None
    if not source.takes("}"):
        raise source.error("Unclosed counted closure")
    if most is not None and most < least:
        raise source.error("Illegal repetition range")
    return least, most


def _count(source: PatternSource) -> int:
    digits = "0"
    while source.peek() in tuple("0123456789"):
        digits += source.take()
    number = int(digits)
    if number > _MOST_REPEATS:
        raise source.error("Illegal repetition range")
    return number


def _group(source: PatternSource) -> Node | None:
    source.depth += 1
    if source.depth > MAX_DEPTH:
        raise source.error(f"more than {MAX_DEPTH} levels of nesting")
    outside = source.flags
    source.flags = Flags(outside.case_insensitive, outside.multiline, outside.dot_all, outside.unix_lines)
    try:
        found = _rest_of_group(source)
        if found is None:
            outside = source.flags  # they hold up to the end of the group around
        elif not source.takes(")"):
            raise source.error("Unclosed group")
        return found
    finally:
        source.flags = outside
        source.depth -= 1


def _rest_of_group(source: PatternSource) -> Node | None:
    if not source.takes("?"):
        return _capturing(source)
    if source.takes(":"):
        return _choice(source)
    if source.takes("="):
        return Look(_choice(source), behind=False, negative=False)
    if source.takes("!"):
        return Look(_choice(source), behind=False, negative=True)
    if source.takes(">"):
        return Atomic(_choice(source))
    if source.takes("<"):
        if source.takes("="):
            return Look(_choice(source), behind=True, negative=False)
        if source.takes("!"):
            return Look(_choice(source), behind=True, negative=True)
        name = read_group_name(source)
        if name in source.names:
            raise source.error(f"Named capturing group <{name}> is already defined")
        source.names[name] = source.groups + 1
        return _capturing(source)
    return _flags(source)


def _capturing(source: PatternSource) -> RegexGroup:
    source.groups += 1
    number = source.groups
    return RegexGroup(_choice(source), number)


def _flags(source: PatternSource) -> Node | None:
    """(?i) or (?i:...), behind the question mark."""
    setting = True
    while True:
        char = source.take()
        if char == "-" and setting:
            setting = False
        elif char in _FLAG_NAMES:
            setattr(source.flags, _FLAG_NAMES[char], setting)
        elif char in _REFUSED_FLAGS:
            raise source.unsupported(f"the flag {char} ({_REFUSED_FLAGS[char]})")
        elif char == ")":
            return None
        elif char == ":":
            return _choice(source)
        else:
            raise source.error("Unknown inline modifier")
