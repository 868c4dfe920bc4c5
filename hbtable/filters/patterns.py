r"""regexstring: Java regular expressions, searched anywhere in a cell part (reference 3.2).

Semantics: the part is read as UTF-8 (bytes that are none become U+FFFD), `.` also matches a line end, \w \d \s mean
ASCII, as in Java. With google-re2 installed that engine is used, in linear time whatever the pattern; else Python's
`re`, which backtracks, so that a pattern from outside could stall a server. Therefore with `re`:
  * a pattern whose repetitions can match one text in exponentially many ways, such as (a+)+ or (a|a)*, is refused;
  * of a part only the first SEARCHED_CHARACTERS are searched.
What remains is polynomial in them: a pattern with k unbounded repetitions may take that to the power k + 1.
Java's \Q..\E, \z, \Z, \h, (?<name>..) and \p{Alpha} and its like are translated; other Java-only syntax is refused.
"""

import re
from collections.abc import Callable, Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Final

try:
    # By name: other packages are called re2, too, and know no Options.
    from re2 import Options as _Re2Options
    from re2 import compile as _compile_re2
    from re2 import error as _re2_error
except ImportError:
    HAS_RE2 = False
else:
    HAS_RE2 = True

PATTERN_BYTES: Final = 4096
SEARCHED_CHARACTERS: Final = 65536

_CLASSES: Final = {
    "Lower": "a-z", "Upper": "A-Z", "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~", "Space": r"\s", "XDigit": "0-9a-fA-F", "Blank": r" \t", "ASCII": r"\x00-\x7f",
}  # fmt: skip
_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\p\{(?P<named>\w+)\}|\\(?P<escaped>.)|(?P<group>\(\?<(?=[A-Za-z]))|(?P<bracket>[\[\]])",
    re.DOTALL,
)
# A sample of characters that stands for all: overlaps between sets are looked for in it.
_SAMPLE: Final = [chr(code) for code in range(256)] + ["\u0416", "\ufffd"]
_MANY: Final = 16
"""Repetitions that can repeat at least so often count as unbounded."""

# Nodes of Python's pattern parser: (opcode, argument), untyped.
_Node = tuple[object, object]


def finder(pattern: bytes, with_re2: bool = HAS_RE2) -> Callable[[bytes], bool]:
    """ValueError, saying why, when the pattern is malformed, too long or, `with_re2` False, could take exponential
    time."""
    if len(pattern) > PATTERN_BYTES:
        raise ValueError(f"the pattern has {len(pattern)} bytes, the limit is {PATTERN_BYTES}")
    text = _from_java(pattern.decode("utf-8", "replace"), with_re2)
    if with_re2:
        return _finder_of_re2(text)
    if text.startswith(".*") and text[2:3] not in ("?", "+", "*", "{"):
        text = text[2:]  # says nothing where the search is unanchored, and would make it quadratic
    try:
        compiled = re.compile(text, re.DOTALL | re.ASCII)
        _refuse_explosive(parser.parse(text, re.DOTALL | re.ASCII))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {text[:100]!r} is malformed: {error}") from error
    search = compiled.search
    return lambda part: search(part.decode("utf-8", "replace")[:SEARCHED_CHARACTERS]) is not None


def _finder_of_re2(text: str) -> Callable[[bytes], bool]:
    options = _Re2Options()
    options.dot_nl = True
    options.log_errors = False
    try:
        search = _compile_re2(text, options).search
    except _re2_error as error:
        raise ValueError(f"the pattern {text[:100]!r} is malformed: {error}") from error
    return lambda part: search(part.decode("utf-8", "replace")) is not None


def _from_java(text: str, with_re2: bool) -> str:
    depth = 0  # of character classes

    def translate(match: re.Match[str]) -> str:
        nonlocal depth
        quoted, named, escaped = match["quoted"], match["named"], match["escaped"]
        if quoted is not None:
            return re.escape(quoted)
        if named is not None:
            if named not in _CLASSES:
                raise ValueError(f"the class \\p{{{named}}} is not supported")
            return _CLASSES[named] if depth else f"[{_CLASSES[named]}]"
        if match["group"]:
            return "(?<" if depth else "(?P<"
        if match["bracket"]:
            depth = 1 if match["bracket"] == "[" else 0
            return match[0]
        if escaped == "h":
            return r" \t" if depth else r"[ \t]"
        if escaped == "z":
            return r"\z" if with_re2 else r"\Z"
        if escaped == "Z":
            return r"(?:\n?\z)" if with_re2 else r"(?=\n?\Z)"  # re2 looks nowhere ahead; only "found" matters
        return match[0]

    return _TOKEN.sub(translate, text)


# ---------------------------------------------------------------- patterns that could take exponential time


def _refuse_explosive(nodes: object) -> None:
    for op, argument in _nodes(nodes):
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            _, maximum, body = _triple(argument)
            if maximum >= _MANY:
                _refuse_ambiguous(list(_nodes(body)))
        for inner in _bodies(op, argument):
            _refuse_explosive(inner)


def _refuse_ambiguous(body: list[_Node]) -> None:
    """Refuses the body of a repetition that can be cut into rounds in more than one way."""
    _refuse_alike(body)
    body = list(_flattened(body))
    repeated: set[str] = set()
    separators: list[set[str]] = []
    for op, argument in body:
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            minimum, maximum, inner = _triple(argument)
            if maximum > minimum:
                repeated |= _characters(inner)
        elif op is codes.BRANCH:
            branches = _branches(argument)
            repeated |= set().union(*(_characters(branch) for branch in branches if _varies(branch)))
        elif op in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY):
            separators.append(_set_of(op, argument))
    if repeated and not any(not (repeated & separator) for separator in separators):
        raise ValueError("the pattern nests repetitions, like (a+)+, which could take for ever")


def _refuse_alike(nodes: object) -> None:
    """Refuses, however deep, alternatives of which more than one could take the next character, and repetitions of
    what can be empty: both give each round several ways to match."""
    for op, argument in _nodes(nodes):
        if op is codes.BRANCH:
            heads = [_first(branch) for branch in _branches(argument)]
            alike = any(one & other for place, one in enumerate(heads) for other in heads[:place])
            if alike or not all(heads):
                raise ValueError("the pattern repeats alternatives that begin alike, which could take for ever")
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            minimum, maximum, inner = _triple(argument)
            if maximum > minimum and not _first(inner):
                raise ValueError("the pattern repeats what can be empty, like (a?)*, which could take for ever")
        for inner in _bodies(op, argument):
            _refuse_alike(inner)


def _flattened(body: list[_Node]) -> Iterator[_Node]:
    for op, argument in body:
        if op is codes.SUBPATTERN:
            yield from _flattened(list(_nodes(argument[-1])))  # type: ignore[index]
        else:
            yield op, argument


def _varies(nodes: object) -> bool:
    """Whether a repetition of variable length lies in it."""
    for op, argument in _nodes(nodes):
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            minimum, maximum, _ = _triple(argument)
            if maximum > minimum:
                return True
        if any(_varies(inner) for inner in _bodies(op, argument)):
            return True
    return False


def _first(nodes: object) -> set[str]:
    """What a match can begin with; empty when it can be empty."""
    found: set[str] = set()
    for op, argument in _flattened(list(_nodes(nodes))):
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            minimum, _, inner = _triple(argument)
            found |= _first(inner) or _characters(inner)
            if minimum:
                return found
        elif op is codes.BRANCH:
            return found.union(*(_first(branch) for branch in _branches(argument)))
        elif op is not codes.AT:
            return found | _set_of(op, argument)
    return set()


def _characters(nodes: object) -> set[str]:
    """Every character that a match can hold, of the sample."""
    found: set[str] = set()
    for op, argument in _nodes(nodes):
        inners = list(_bodies(op, argument))
        if not inners:
            found |= _set_of(op, argument)
        for inner in inners:
            found |= _characters(inner)
    return found


def _set_of(op: object, argument: object) -> set[str]:
    if op is codes.LITERAL:
        return {chr(argument)}  # type: ignore[arg-type]
    if op is codes.IN:
        return {char for char in _SAMPLE if _in_set(char, argument)}
    if op is codes.NOT_LITERAL:
        return set(_SAMPLE) - {chr(argument)}  # type: ignore[arg-type]
    if op is codes.AT:
        return set()
    return set(_SAMPLE)  # any character, back-references and whatever Python adds


def _in_set(char: str, items: object) -> bool:
    negated = found = False
    for op, argument in _nodes(items):
        if op is codes.NEGATE:
            negated = True
        elif op is codes.LITERAL:
            found |= ord(char) == argument
        elif op is codes.RANGE:
            found |= argument[0] <= ord(char) <= argument[1]  # type: ignore[index]
        elif op is codes.CATEGORY:
            found |= _CATEGORIES[argument](char)
    return found != negated


_CATEGORIES: Final[dict[object, Callable[[str], bool]]] = {
    codes.CATEGORY_DIGIT: lambda char: char in "0123456789",
    codes.CATEGORY_NOT_DIGIT: lambda char: char not in "0123456789",
    codes.CATEGORY_SPACE: lambda char: char in " \t\n\r\f\v",
    codes.CATEGORY_NOT_SPACE: lambda char: char not in " \t\n\r\f\v",
    codes.CATEGORY_WORD: lambda char: char.isascii() and (char.isalnum() or char == "_"),
    codes.CATEGORY_NOT_WORD: lambda char: not (char.isascii() and (char.isalnum() or char == "_")),
}


def _nodes(nodes: object) -> Iterator[_Node]:
    yield from nodes  # type: ignore[misc]


def _triple(argument: object) -> tuple[int, int, object]:
    return int(argument[0]), int(argument[1]), argument[2]  # type: ignore[index]


def _branches(argument: object) -> list[object]:
    return list(argument[1])  # type: ignore[index]


def _bodies(op: object, argument: object) -> Iterator[object]:
    """The patterns inside a node."""
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        yield _triple(argument)[2]
    elif op is codes.BRANCH:
        yield from _branches(argument)
    elif op in (codes.SUBPATTERN, codes.ASSERT, codes.ASSERT_NOT):
        yield argument[-1]  # type: ignore[index]
    elif op is codes.ATOMIC_GROUP:
        yield argument
    elif op is codes.GROUPREF_EXISTS:
        yield from (body for body in argument[1:] if body is not None)  # type: ignore[index]
