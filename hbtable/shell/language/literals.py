"""Values of the shell's language, and how Ruby shows them after `=>`.

bytes  a string      int, float, bool, None      list  an array      dict  a hash with its pairs in order
Symbol, and objects with an `inspect` of their own (tables)
"""

import re
from typing import Final, NamedTuple, Protocol, runtime_checkable

Value = object
"""Any of the above. Commands check what they are given."""

_ESCAPES: Final = {
    0x22: '\\"',
    0x5C: "\\\\",
    0x0A: "\\n",
    0x09: "\\t",
    0x0D: "\\r",
    0x1B: "\\e",
    0x07: "\\a",
    0x08: "\\b",
    0x0B: "\\v",
    0x0C: "\\f",
}


_EMBEDDED: Final = re.compile(r"#(?=[{$@])")
"""The signs that would be evaluated if the text were typed again."""


class Symbol(NamedTuple):
    """:name"""

    name: str


@runtime_checkable
class Shown(Protocol):
    """A value that knows how it is shown."""

    def inspect(self) -> str: ...


def inspect(value: Value) -> str:
    """The value as Ruby's inspect shows it."""
    if value is None:
        return "nil"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, bytes):
        return quoted(value)
    if isinstance(value, Symbol):
        return f":{value.name}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inspect, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inspect(key)}=>{inspect(held)}" for key, held in value.items()) + "}"
    if isinstance(value, Shown):
        return value.inspect()
    return _float(value) if isinstance(value, float) else str(value)


def _float(value: float) -> str:
    """1.0e+20 where Python writes 1e+20."""
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[text]
    digits, exponent, power = text.partition("e")
    return f"{digits}.0e{power}" if exponent and "." not in digits else text


def quoted(value: bytes) -> str:
    """The text in double quotes, so that it can be typed again."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return '"' + "".join(_ESCAPES.get(byte) or _printable(byte) for byte in value) + '"'
    out = []
    for char in text:
        code = ord(char)
        out.append(_ESCAPES.get(code) or (char if char.isprintable() else f"\\u{code:04X}"))
    return '"' + _EMBEDDED.sub(r"\\#", "".join(out)) + '"'


def _printable(code: int) -> str:
    if 0x20 <= code < 0x7F:
        return chr(code)
    return f"\\x{code:02X}"


def class_of(value: Value) -> str:
    """Ruby's name of its class, for messages."""
    names = ((bool, "TrueClass" if value else "FalseClass"), (bytes, "String"), (int, "Integer"), (float, "Float"),
             (list, "Array"), (dict, "Hash"), (Symbol, "Symbol"), (type(None), "NilClass"))  # fmt: skip
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)


def shown(value: Value) -> str:
    """Ruby's to_s: what a string says, without quotes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Symbol):
        return value.name
    return "" if value is None else inspect(value)
