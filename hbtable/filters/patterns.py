r"""regexstring: Java regular expressions, searched anywhere in a cell part (HBase's RegexStringComparator).

Semantics are those of java.util.regex with the flag DOTALL: the part is read as UTF-8 (bytes that are none become
U+FFFD), `.` also matches a line end, \w \d \s mean ASCII, `$` also stands before a line terminator at the end. What
Java takes is taken, what it refuses is refused, but for what is refused by name: the flags x, u and U, \X, \b{g},
references to later groups and, under the flag i, back-references.

RE2 searches where it has the construct. Its time is bounded by the size of its program times the text, and where that
product is small it searches at once, in the hub. Everything else is for a worker process (searching.py): long texts,
large patterns, and what RE2 has not (look-around, possessive repetitions, atomic groups, back-references, anchors of
lines). For that the engine `regex` is there (part_search.py).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import re2

from hbtable.filters.java_regex import re2_text
from hbtable.filters.java_regex.parser import parse
from hbtable.filters.java_regex.pattern import Node

PATTERN_BYTES: Final = 4096

HUB_STEPS: Final = 200_000
"""Instructions of a program times bytes of a text, each 15 ns at most: 3 ms."""

_HUB_INSTRUCTIONS: Final = 1500
"""A larger program takes milliseconds to compile, and some take many seconds."""

_MOST_INSTRUCTIONS: Final = 400_000
"""About as many as RE2 takes in its 8 MiB."""

_HUB_MEMORY: Final = 1 << 20
"""For each of the patterns that are kept, the states that RE2 finds while it searches included."""

Finder = Callable[[bytes], bool]


class Pattern(NamedTuple):
    """A pattern that may be searched for, as far as the hub does it."""

    find: Finder | None
    """None: never in the hub."""
    instructions: int
    """Of its program."""
    odd_ends: bool
    r"""Whether a text that ends in \r\n is for a worker."""
    odd_letters: bool
    """Whether a text that is not ASCII is for a worker."""

    @property
    def hub_bytes(self) -> int:
        """Longer texts are for a worker."""
        return HUB_STEPS // self.instructions if self.find is not None else -1


@lru_cache(128)
def compiled(pattern: bytes) -> Pattern:
    """ValueError, saying why, when the pattern is malformed, too long or not supported. Takes milliseconds at most."""
    text, tree = read(pattern)
    linear = re2_text.written(tree)
    if linear is None:
        return Pattern(None, 0, False, False)
    instructions = re2_text.instructions(tree)
    if instructions > _MOST_INSTRUCTIONS:
        raise ValueError(f"the pattern {text[:100]!r} is too large: written out it has {instructions} steps")
    if instructions > _HUB_INSTRUCTIONS:
        return Pattern(None, instructions, False, False)
    search = search_of_re2(text, linear, _HUB_MEMORY)
    anchors = re2_text.anchors(tree)

    def find(part: bytes) -> bool:
        return search(part if part.isascii() else part.decode("utf-8", "replace")) is not None

    words = not anchors.isdisjoint(("word", "not word"))
    return Pattern(find, max(1, instructions), "final end" in anchors, words)


def read(pattern: bytes) -> tuple[str, Node]:
    """The pattern as text, and as a tree. ValueError as compiled()."""
    if len(pattern) > PATTERN_BYTES:
        raise ValueError(f"the pattern has {len(pattern)} bytes, the limit is {PATTERN_BYTES}")
    text = pattern.decode("utf-8", "replace")
    return text, parse(text)


def search_of_re2(text: str, linear: str, memory: int = 0) -> Callable[[bytes | str], object]:
    """RE2's search for `linear`, which is what re2_text writes for the pattern `text`. ValueError: too large."""
    options = re2.Options()
    options.log_errors = False
    if memory:
        options.max_mem = memory
    try:
        return re2.compile(linear, options).search
    except re2.error as error:
        raise ValueError(f"the pattern {text[:100]!r} is too large: {error}") from error
