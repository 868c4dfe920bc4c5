"""Searches in parts of cells, in a worker process: with RE2 where its answer is Java's, with the engine `regex` for all
else. That one backtracks, so a search has SEARCH_SECONDS.

A server imports none of this, as `regex` takes 5 MB: it has a worker process answer (searching.py).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import regex

from hbtable.errors import LimitExceeded
from hbtable.filters.java_regex import re2_text, regex_text
from hbtable.filters.java_regex.pattern import Node
from hbtable.filters.patterns import Finder, read, search_of_re2
from hbtable.filters.searching import FOUND, NOT_FOUND, UNKNOWN, container

SEARCH_SECONDS: Final = 0.1
_HURRIED_SECONDS: Final = 0.005
"""For each part that is asked ahead."""


def answer(parts: Sequence[bytes]) -> Sequence[bytes]:
    """Answers a question, in a worker process. `parts`: kind of comparison, value, b"hurried" or b"", and what to
    search in. A byte for each of these; or b"" and why there is none."""
    kind, value, hurried, *texts = parts
    found = bytearray()
    try:
        find = _finder(kind, value, _HURRIED_SECONDS if hurried else SEARCH_SECONDS)
        for text in texts:
            found.append(FOUND if find(text) else NOT_FOUND)
    except LimitExceeded as error:
        if not hurried:
            return [b"", str(error).encode("utf-8", "replace")]
        found += bytes([UNKNOWN]) * (len(texts) - len(found))
    except ValueError as error:
        return [b"", str(error).encode("utf-8", "replace")]
    return [bytes(found)]


@lru_cache(16)
def _finder(kind: bytes, value: bytes, seconds: float) -> Finder:
    return finder(value, seconds) if kind == b"regexstring" else container(value)


def finder(pattern: bytes, seconds: float = SEARCH_SECONDS) -> Finder:
    """Searches right here, however long that takes; where it backtracks, LimitExceeded after so many `seconds`.
    ValueError as patterns.compiled()."""
    text, tree = read(pattern)
    linear = re2_text.written(tree)
    if linear is None:
        return _backtracking(text, tree, seconds)
    search = search_of_re2(text, linear)
    anchors = re2_text.anchors(tree)
    if not anchors & {"final end", "word", "not word"}:
        return lambda part: search(part if part.isascii() else part.decode("utf-8", "replace")) is not None
    return _with_exceptions(text, tree, search, anchors, seconds)


def _with_exceptions(
    text: str, tree: Node, search: Callable[[bytes | str], object], anchors: frozenset[str], seconds: float
) -> Finder:
    """RE2, but for the texts of which its anchors are not Java's."""
    other: list[Finder] = []
    ends = "final end" in anchors
    words = not anchors.isdisjoint(("word", "not word"))

    def find(part: bytes) -> bool:
        if (ends and part.endswith(b"\r\n")) or (words and not part.isascii()):
            if not other:
                other.append(_backtracking(text, tree, seconds))
            return other[0](part)
        return search(part if part.isascii() else part.decode("utf-8", "replace")) is not None

    return find


def _backtracking(text: str, tree: Node, seconds: float) -> Finder:
    try:
        search = regex.compile(regex_text.written(tree), regex.VERSION1).search
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {text[:100]!r} cannot be used: {error}") from error

    def find(part: bytes) -> bool:
        try:
            return search(part.decode("utf-8", "replace"), timeout=seconds) is not None
        except TimeoutError as error:
            raise LimitExceeded(
                f"the pattern {text[:100]!r} took more than {seconds} s over {len(part)} bytes; nested "
                "repetitions, look-around and back-references make it try every way to match: write it without them"
            ) from error

    return find
