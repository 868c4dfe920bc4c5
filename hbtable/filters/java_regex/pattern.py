"""A Java pattern as a tree. Flags are resolved: each node says by itself what it matches.

Only whether a pattern is found somewhere matters, never where, nor what its groups hold.
"""

from dataclasses import dataclass
from typing import Literal as Either

from hbtable.filters.java_regex.charset import CharSet


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; empty: matches the empty text."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of them; of none: never matches."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition. `most` is None: without bound. Lazy or greedy makes no difference to whether it is found, except to
    what is around it in an atomic group, a possessive repetition or before a back-reference."""

    item: "Node"
    least: int
    most: int | None
    mode: Either["greedy", "lazy", "possessive"]


@dataclass(frozen=True, slots=True)
class RegexGroup:
    """A capturing group."""

    item: "Node"
    number: int


@dataclass(frozen=True, slots=True)
class Atomic:
    """(?>...): what it has matched is not tried another way."""

    item: "Node"


@dataclass(frozen=True, slots=True)
class Look:
    """Look-ahead or look-behind."""

    item: "Node"
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """A reference back to a group that exists; one to any other group never matches, and is an empty Choice."""

    number: int


AnchorKind = Either["begin", "line begin", "end", "final end", "line end", "word", "not word"]


@dataclass(frozen=True, slots=True)
class Anchor:
    r"""begin: of the text. line begin: ^ of MULTILINE. end: of the text. final end: $ and \Z, also before one line
    terminator at the end of the text. line end: $ of MULTILINE. `unix`: only \n is a line terminator."""

    kind: AnchorKind
    unix: bool = False


Node = Chars | Sequence | Choice | Repeat | RegexGroup | Atomic | Look | BackReference | Anchor
