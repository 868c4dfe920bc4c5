"""The few of Ruby's methods and operators that values have: enough for rows, names and results. Nothing of Python is
reachable through them."""

from collections.abc import Callable
from typing import Final

from hbtable.shell.errors import ArgumentTypeError, UnknownMethod
from hbtable.shell.language.literals import Symbol, Value, class_of, inspect, shown

_HELD_BYTES: Final = 1 << 24
_POWERS: Final = 1024
Method = Callable[..., Value]


def _first(value: list[Value]) -> Value:
    return value[0] if value else None


def _last(value: list[Value]) -> Value:
    return value[-1] if value else None


def _split(value: bytes, mark: Value = b" ") -> Value:
    """As Ruby: a blank is any white space, empty pieces at the end are dropped."""
    if not isinstance(mark, bytes):
        raise ArgumentTypeError(f"wrong argument type {class_of(mark)} (expected Regexp)")
    pieces: list[Value] = list(value.split() if mark == b" " else value.split(mark) if mark else _characters(value))
    while pieces and pieces[-1] == b"":
        pieces.pop()
    return pieces


def _characters(value: bytes) -> list[bytes]:
    return [char.encode("utf-8", "surrogateescape") for char in value.decode("utf-8", "surrogateescape")]


def _joined(value: list[Value], mark: Value = b"") -> Value:
    return shown(mark).join([shown(one) for one in value]).encode("utf-8", "surrogateescape")


def _integer(value: Value) -> Value:
    if isinstance(value, (int, float)):
        return int(value)
    digits = shown(value).strip()
    end = 1 if digits[:1] in ("-", "+") else 0
    while digits[end : end + 1].isdigit():
        end += 1
    return int(digits[:end]) if digits[:end].strip("+-") else 0


_OF_ALL: Final[dict[str, Method]] = {
    "to_s": lambda value: shown(value).encode("utf-8", "surrogateescape"),
    "inspect": lambda value: inspect(value).encode("utf-8", "surrogateescape"),
    "nil?": lambda value: value is None,
}
_OF_KIND: Final[dict[type, dict[str, Method]]] = {
    bytes: {
        "length": lambda value: len(_characters(value)),
        "size": lambda value: len(_characters(value)),
        "bytesize": len,
        "upcase": lambda value: value.decode("utf-8", "surrogateescape").upper().encode("utf-8", "surrogateescape"),
        "downcase": lambda value: value.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape"),
        "reverse": lambda value: b"".join(reversed(_characters(value))),
        "strip": bytes.strip,
        "chomp": lambda value: value.removesuffix(b"\n").removesuffix(b"\r"),
        "split": _split,
        "empty?": lambda value: not value,
        "to_i": _integer,
        "to_sym": lambda value: Symbol(shown(value)),
    },
    int: {"to_i": _integer, "to_f": float},
    float: {"to_i": _integer, "to_f": float},
    list: {
        "length": len,
        "size": len,
        "first": _first,
        "last": _last,
        "join": _joined,
        "reverse": lambda value: value[::-1],
        "empty?": lambda value: not value,
    },
    dict: {
        "length": len,
        "size": len,
        "keys": list,
        "values": lambda value: list(value.values()),
        "empty?": lambda value: not value,
    },
    type(None): {"to_i": lambda _: 0, "to_a": lambda _: []},
    Symbol: {"to_sym": lambda value: value},
}


def call(value: Value, name: str, arguments: list[Value], at: int) -> Value:
    """UnknownMethod with the place `at` of the name, ArgumentTypeError."""
    method = _OF_ALL.get(name) or _OF_KIND.get(type(value), {}).get(name)
    if method is None or (arguments and (name not in ("split", "join") or len(arguments) > 1)):
        raise UnknownMethod(f"undefined method `{name}' for {inspect(value)}:{class_of(value)}", at)
    return method(value, *arguments)


def calculate(sign: str, left: Value, right: Value, at: int) -> Value:
    """+ - * / % ** of numbers, + of strings and arrays, a string or an array so many times. ArgumentTypeError in Ruby's
    words."""
    if isinstance(left, (bytes, list)) and sign in "+*":
        return _repeated(left, right, at) if sign == "*" else _appended(left, right, at)
    if isinstance(left, bool) or not isinstance(left, (int, float)):
        raise UnknownMethod(f"undefined method `{sign}' for {inspect(left)}:{class_of(left)}", at)
    if isinstance(right, bool) or not isinstance(right, (int, float)):
        name = inspect(right) if right is None or isinstance(right, bool) else class_of(right)
        raise ArgumentTypeError(f"{name} can't be coerced into {class_of(left)}", at)
    if sign in "/%" and not right:
        raise ArgumentTypeError("divided by 0", at)
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    if sign == "%":
        return left % right
    if sign == "**":
        return _power(left, right, at)
    return left // right if isinstance(left, int) and isinstance(right, int) else left / right


def _power(left: float, right: float, at: int) -> Value:
    if abs(right) > _POWERS or (isinstance(left, int) and abs(left) > 1 << 64):
        raise ArgumentTypeError("argument too big", at)
    if not left and right < 0:
        raise ArgumentTypeError("divided by 0", at)
    try:
        found = left**right
    except OverflowError:
        return float("inf")
    if isinstance(found, complex):
        raise ArgumentTypeError("a negative number has no such root", at)
    return found


def _appended(left: bytes | list[Value], right: Value, at: int) -> Value:
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    kind = "nil" if right is None else class_of(right)
    raise ArgumentTypeError(f"no implicit conversion of {kind} into {class_of(left)}", at)


def _repeated(left: bytes | list[Value], right: Value, at: int) -> Value:
    if isinstance(right, bool) or not isinstance(right, int):
        raise ArgumentTypeError(f"no implicit conversion of {class_of(right)} into Integer", at)
    if right < 0 or right * len(left) > _HELD_BYTES:
        raise ArgumentTypeError("argument too big" if right > 0 else "negative argument", at)
    return left * right
