"""[...]: unions, ranges, nested classes and intersections, by the rules of Java 9 and later.

Java reads `a-c[d]&&[e]` from left to right: `&&` intersects all that stands before it in its class with all that
follows up to the next `&&` or the end. A `^` negates the whole of its class.
"""

from hbtable.filters.java_regex import charset
from hbtable.filters.java_regex.charset import CharSet, either_case, intersection, negation, of, of_text, union
from hbtable.filters.java_regex.escapes import read_in_class
from hbtable.filters.java_regex.source import END, PatternSource

MAX_DEPTH = 50


def read_class(source: PatternSource) -> CharSet:
    """Behind the opening bracket; the closing one is taken."""
    source.depth += 1
    if source.depth > MAX_DEPTH:
        raise source.error(f"more than {MAX_DEPTH} levels of nesting")
    negated = source.takes("^")
    found = _operands(source, negated)
    source.at += 1  # the closing bracket
    source.depth -= 1
    return found


def _operands(source: PatternSource, negated: bool) -> CharSet:
    """Reads operands up to the closing bracket, which is left. A bracket where no operand stands yet is a character."""
    found: CharSet | None = None
    last: CharSet | None = None  # what an `&&` with nothing behind it intersects with
    singles: CharSet | None = None  # Java gathers the single characters up to U+00FF apart
    while True:
        char = source.peek()
        if char == END:
            raise source.error("Unclosed character class")
        if char == "]" and (found or singles):
            whole = _joined(found, singles)
            return negation(whole) if negated else whole
        if char == "[":
            source.at += 1
            last = read_class(source)
            found = _joined(found, last)
        elif char == "&" and source.peek(1) == "&":
            source.at += 2
            right = _right_operand(source)
            if singles is not None:
                last = singles if found is None else last
                found, singles = _joined(found, singles), None
            if right is not None:
                last = right
            if last is None:
                raise source.error("Bad class syntax")
            found = last if found is None else intersection(found, last)
        else:
            one = _range(source)
            if isinstance(one, str) and one <= "\xff":
                singles, last = _joined(singles, _cased(source, of_text(one))), None
            else:
                last = _cased(source, of_text(one) if isinstance(one, str) else one)
                found = _joined(found, last)


def _joined(one: CharSet | None, other: CharSet | None) -> CharSet:
    return union(one or charset.NONE, other or charset.NONE)


def _right_operand(source: PatternSource) -> CharSet | None:
    right: CharSet | None = None
    while source.peek() not in ("]", "&", END):
        if source.takes("["):
            part = read_class(source)
        else:
            part = _operands(source, negated=False)
        right = part if right is None else union(right, part)
    if source.peek() == END:
        raise source.error("Unclosed character class")
    if source.peek() == "&" and source.peek(1) != "&":
        raise source.unsupported("a single & behind a nested class and &&")
    return right


def _range(source: PatternSource) -> str | CharSet:
    """A range, a set, or a single character."""
    first = _char(source)
    if isinstance(first, CharSet) or source.peek() != "-" or source.peek(1) in ("[", "]", END):
        return first
    source.at += 1
    last = _char(source)
    if isinstance(last, CharSet) or last < first:
        raise source.error("Illegal character range")
    return of((ord(first), ord(last)))


def _char(source: PatternSource) -> str | CharSet:
    char = source.take()
    if char == "\\":
        return read_in_class(source)
    if not char:
        raise source.error("Unclosed character class")
    return char[-1]


def _cased(source: PatternSource, chars: CharSet) -> CharSet:
    return (
        either_case(chars) if source.flags.case_insensitive and chars.is_plain() and chars is not charset.ALL else chars
    )
