"""The tree that the parser makes and evaluate.py walks. Plain slotted values; `at` is the offset in the text."""

from dataclasses import dataclass


@dataclass(slots=True)
class Literal:
    """A number, nil, true, false or a symbol."""

    value: object
    at: int


@dataclass(slots=True)
class Text:
    """A string: bytes and, in double quotes, expressions between them."""

    parts: "list[bytes | Node]"
    at: int


@dataclass(slots=True)
class Array:
    """[a, b]"""

    elements: "list[Node]"
    at: int


@dataclass(slots=True)
class Hash:
    """{K => v}, or the trailing pairs of a call without braces."""

    pairs: "list[tuple[Node, Node]]"
    at: int


@dataclass(slots=True)
class Constant:
    """NAME"""

    name: str
    at: int


@dataclass(slots=True)
class Call:
    """A call: `name a, b`, `receiver.name(a)`, or a bare word, which may be a variable. `plain`: nothing was passed."""

    receiver: "Node | None"
    name: str
    arguments: "list[Node]"
    plain: bool
    at: int


@dataclass(slots=True)
class Assignment:
    """name = value"""

    name: str
    value: "Node"
    at: int


@dataclass(slots=True)
class Arithmetic:
    """a + b, and - * / %"""

    operator: str
    left: "Node"
    right: "Node"
    at: int


Node = Literal | Text | Array | Hash | Constant | Call | Assignment | Arithmetic
