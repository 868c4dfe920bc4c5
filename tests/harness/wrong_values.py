"""Values to hand to every parameter of every way in: of every wrong type, and at the edges of the right ones."""

from array import array
from collections.abc import Callable, Iterator
from typing import Any, Final


class TextLike(str):
    """Derived from str."""

    __slots__ = ()


class BytesLike(bytes):
    """Derived from bytes, and unequal to all others, itself included."""

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 1

    def __bytes__(self) -> bytes:
        return b"other"


class DictLike(dict[Any, Any]):
    """Derived from dict."""


class Unspeakable:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def _rows() -> Iterator[bytes]:
    yield b"m"
    yield b"n"


VALUES: Final[dict[str, Callable[[], Any]]] = {
    "None": lambda: None,
    "text": lambda: "m",
    "empty text": lambda: "",
    "half a surrogate pair": lambda: "\ud800",
    "text with 00": lambda: "m\0",
    "long text": lambda: "x" * 70_000,
    "text of its own class": lambda: TextLike("m"),
    "bytes": lambda: b"m",
    "empty bytes": lambda: b"",
    "00": lambda: b"\0",
    "colons": lambda: b"::",
    "a column": lambda: b"f:m",
    "the longest row": lambda: b"x" * 32_767,
    "too long a row": lambda: b"x" * 32_768,
    "very long": lambda: b"x" * ((10 << 20) + 1),
    "bytes of their own class": lambda: BytesLike(b"m"),
    "bytearray": lambda: bytearray(b"m"),
    "memoryview": lambda: memoryview(b"m"),
    "memoryview of floats": lambda: memoryview(array("d", [1.0, 2.0])),
    "array of floats": lambda: array("d", [1.0, 2.0]),
    "array of bytes": lambda: array("B", [1, 2]),
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "2**31 - 1": lambda: 2**31 - 1,
    "2**31": lambda: 2**31,
    "2**40": lambda: 2**40,
    "2**62": lambda: 2**62,
    "2**63 - 1": lambda: 2**63 - 1,
    "2**63": lambda: 2**63,
    "2**64": lambda: 2**64,
    "-2**63": lambda: -(2**63),
    "-2**63 - 1": lambda: -(2**63) - 1,
    "10**22": lambda: 10**22,
    "10**5000": lambda: 10**5000,
    "1.0": lambda: 1.0,
    "-1.0": lambda: -1.0,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "True": lambda: True,
    "False": lambda: False,
    "a complex number": lambda: 1j,
    "empty list": list,
    "empty tuple": tuple,
    "list of bytes": lambda: [b"m"],
    "tuple of columns": lambda: (b"f:m", b"f:n"),
    "list of bytes twice": lambda: [b"m", b"m"],
    "list of text": lambda: ["m"],
    "list of bytearrays": lambda: [bytearray(b"m")],
    "list of floats' views": lambda: [memoryview(array("d", [1.0]))],
    "list of None": lambda: [None],
    "list of ints": lambda: [5],
    "list of lists": lambda: [[b"m"]],
    "generator": _rows,
    "set": lambda: {b"m"},
    "empty dict": dict,
    "dict": lambda: {b"f:m": b"v"},
    "dict of its own class": lambda: DictLike({b"f:m": b"v"}),
    "dict with text": lambda: {"f:m": "v"},
    "dict with a number": lambda: {b"f:m": 5},
    "dict with None": lambda: {b"f:m": None},
    "dict with a bytearray": lambda: {b"f:m": bytearray(b"v")},
    "dict with floats": lambda: {b"f:m": array("d", [1.0] * 300)},
    "dict with a view of floats": lambda: {b"f:m": memoryview(array("d", [1.0] * 300))},
    "dict with a view of bytes": lambda: {b"f:m": memoryview(b"v")},
    "dict with bytes of their own class": lambda: {b"f:m": BytesLike(b"v")},
    "dict with a column of its own class": lambda: {BytesLike(b"f:m"): b"v"},
    "dict with a long column": lambda: {b"f:" + b"x" * 70_000: b"v"},
    "dict with too long a value": lambda: {b"f:m": b"v" * ((10 << 20) + 1)},
    "dict without a colon": lambda: {b"f": b"v"},
    "dict of another family": lambda: {b"h:m": b"v"},
    "object": object,
    "unspeakable": Unspeakable,
    "class": lambda: dict,
}
"""By what to call it in the name of a test; made anew for each call, for generators are used up."""
