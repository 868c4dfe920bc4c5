r"""regexstring: Java regular expressions, searched anywhere in a cell part (HBase's RegexStringComparator).

Semantics are those of java.util.regex with the flag DOTALL: the part is read as UTF-8 (bytes that are none become
U+FFFD), `.` also matches a line end, \w \d \s mean ASCII, `$` also stands before a line terminator at the end. What
Java takes is taken, what it refuses is refused, but for what is refused by name: the flags x, u and U, \X, \b{g},
references to later groups and, under the flag i, back-references.

RE2 searches, in linear time whatever the pattern, where it has the construct. Where it has not (look-around, possessive
repetitions, atomic groups, back-references, anchors of lines) the engine `regex` does; it backtracks, so a search has
SEARCH_SECONDS, and one that takes longer ends the scan with LimitExceeded.
"""

from collections.abc import Callable
from typing import Final

import re2
import regex

from hbtable.errors import LimitExceeded
from hbtable.filters.java_regex import re2_text, regex_text
from hbtable.filters.java_regex.parser import parse
from hbtable.filters.java_regex.pattern import Node

PATTERN_BYTES: Final = 4096
SEARCH_SECONDS: Final = 0.1

Finder = Callable[[bytes], bool]


def finder(pattern: bytes) -> Finder:
    """ValueError, saying why, when the pattern is malformed, too long or not supported."""
    if len(pattern) > PATTERN_BYTES:
        raise ValueError(f"the pattern has {len(pattern)} bytes, the limit is {PATTERN_BYTES}")
    text = pattern.decode("utf-8", "replace")
    tree = parse(text)
    linear = re2_text.written(tree)
    if linear is None:
        return _backtracking(text, tree)
    search = _search_of_re2(text, linear)
    anchors = re2_text.anchors(tree)
    if not anchors & {"final end", "word", "not word"}:
        return lambda part: search(part if part.isascii() else part.decode("utf-8", "replace")) is not None
    return _with_exceptions(text, tree, search, anchors)


def _search_of_re2(text: str, linear: str) -> Callable[[bytes | str], object]:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(linear, options).search
    except re2.error as error:
        raise ValueError(f"the pattern {text[:100]!r} is too large: {error}") from error


def _with_exceptions(text: str, tree: Node, search: Callable[[bytes | str], object], anchors: frozenset[str]) -> Finder:
    """RE2, but for the texts of which its anchors are not Java's."""
    other: list[Finder] = []
    ends = "final end" in anchors
    words = not anchors.isdisjoint(("word", "not word"))

    def find(part: bytes) -> bool:
        if (ends and part.endswith(b"\r\n")) or (words and not part.isascii()):
            if not other:
                other.append(_backtracking(text, tree))
            return other[0](part)
        return search(part if part.isascii() else part.decode("utf-8", "replace")) is not None

    return find


def _backtracking(text: str, tree: Node) -> Finder:
    try:
        search = regex.compile(regex_text.written(tree), regex.VERSION1).search
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {text[:100]!r} cannot be used: {error}") from error

    def find(part: bytes) -> bool:
        try:
            return search(part.decode("utf-8", "replace"), timeout=SEARCH_SECONDS) is not None
        except TimeoutError as error:
            raise LimitExceeded(
                f"the pattern {text[:100]!r} took more than {SEARCH_SECONDS} s over {len(part)} bytes; nested "
                "repetitions, look-around and back-references make it try every way to match: write it without them"
            ) from error

    return find
