"""Walks the tree: variables, constants, commands, and the few methods that values have. Nothing of Python is reachable.

Constants stand for their own names; a word that is no variable is a command. `name` and table references get further
arguments as Ruby's methods would: t.put 'r', ... is put with the table in front.
"""

from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.shell.constants import CONSTANTS
from hbtable.shell.errors import BadType, UnknownMethod, UnknownName
from hbtable.shell.literals import Symbol, Value, class_of, inspect, shown
from hbtable.shell.syntax import Arithmetic, Array, Assign, Call, Constant, Hash, Literal, Node, Text


class Receiver(Protocol):
    """A value with methods of its own."""

    def call(self, name: str, arguments: list[Value], run: "RunCommand") -> Value:
        """UnknownMethod."""


RunCommand = Callable[[str, list[Value]], Value]
"""Carries a command out. UnknownMethod for what is none (`knows` was asked before)."""

_PLAIN_METHODS: Final[dict[str, Callable[[Value], Value]]] = {
    "to_s": lambda value: shown(value).encode(),
    "inspect": lambda value: inspect(value).encode(),
    "to_i": lambda value: int(value) if isinstance(value, (bytes, int, float)) else 0,
    "nil?": lambda value: value is None,
    "to_sym": lambda value: Symbol(shown(value)),
    "length": lambda value: len(value) if isinstance(value, (bytes, list, dict)) else 0,
    "size": lambda value: len(value) if isinstance(value, (bytes, list, dict)) else 0,
    "upcase": lambda value: shown(value).upper().encode(),
    "downcase": lambda value: shown(value).lower().encode(),
    "first": lambda value: value[0] if isinstance(value, list) and value else None,
    "last": lambda value: value[-1] if isinstance(value, list) and value else None,
}


@final
class Interpreter:
    """Variables live as long as this."""

    def __init__(self, knows: Callable[[str], bool], run: RunCommand) -> None:
        self._knows = knows
        self._run = run
        self.variables: dict[str, Value] = {}

    def evaluate(self, node: Node) -> Value:
        """ShellError, with a column where the text itself is at fault."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Text):
            return b"".join(part if isinstance(part, bytes) else self._embedded(part) for part in node.parts)
        if isinstance(node, Array):
            return [self.evaluate(element) for element in node.elements]
        if isinstance(node, Hash):
            return {_key(self.evaluate(key)): self.evaluate(value) for key, value in node.pairs}
        if isinstance(node, Constant):
            return self._constant(node)
        if isinstance(node, Assign):
            self.variables[node.name] = value = self.evaluate(node.value)
            return value
        if isinstance(node, Arithmetic):
            return _arithmetic(node, self.evaluate(node.left), self.evaluate(node.right))
        return self._call(node)

    def _embedded(self, node: Node) -> bytes:
        value = self.evaluate(node)
        return value if isinstance(value, bytes) else shown(value).encode()

    def _constant(self, node: Constant) -> Value:
        if node.name in CONSTANTS:
            return node.name.encode()
        raise UnknownName(f"uninitialized constant HBaseReceiver::{node.name}", node.at)

    def _call(self, node: Call) -> Value:
        if node.receiver is not None:
            return self._method(node, self.evaluate(node.receiver))
        if node.plain and node.name in self.variables:
            return self.variables[node.name]
        if not self._knows(node.name):
            if node.plain:
                raise UnknownName(f"undefined local variable or method `{node.name}'", node.at)
            raise UnknownMethod(f"undefined method `{node.name}'", node.at)
        return self._run(node.name, [self.evaluate(argument) for argument in node.arguments])

    def _method(self, node: Call, value: Value) -> Value:
        arguments = [self.evaluate(argument) for argument in node.arguments]
        call = getattr(value, "call", None) if hasattr(value, "inspect") else None
        if call is not None:
            receiver: Receiver = value  # type: ignore[assignment]  # what shows itself answers calls, too
            return receiver.call(node.name, arguments, self._run)
        if node.name == "[]":
            return _element(value, arguments, node.at)
        method = _PLAIN_METHODS.get(node.name)
        if method is None or arguments:
            raise UnknownMethod(f"undefined method `{node.name}' for {inspect(value)}:{class_of(value)}", node.at)
        return method(value)


def _key(value: Value) -> Value:
    """Arrays and hashes cannot be looked up here; nobody uses them as keys."""
    if isinstance(value, (list, dict)):
        raise BadType(f"{inspect(value)} cannot be a key")
    return value


def _element(value: Value, arguments: list[Value], at: int) -> Value:
    """value[place]: nil where there is nothing."""
    if len(arguments) == 1 and isinstance(value, dict):
        return value.get(_key(arguments[0]))
    place = arguments[0] if len(arguments) == 1 else None
    if not isinstance(value, (list, bytes)) or not isinstance(place, int):
        raise UnknownMethod(f"undefined method `[]' for {inspect(value)}:{class_of(value)}", at)
    if not -len(value) <= place < len(value):
        return None
    return value[place : place + 1 or None] if isinstance(value, bytes) else value[place]


def _arithmetic(node: Arithmetic, left: Value, right: Value) -> Value:
    sign = node.operator
    if sign == "+" and isinstance(left, bytes) and isinstance(right, bytes):
        return left + right
    if sign == "*" and isinstance(left, bytes) and isinstance(right, int) and 0 <= right * len(left) <= 1 << 24:
        return left * right
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    if not numbers or isinstance(left, bool) or isinstance(right, bool):
        raise BadType(f"{inspect(left)} {sign} {inspect(right)}: only numbers can be calculated with", node.at)
    assert isinstance(left, (int, float)) and isinstance(right, (int, float))  # noqa: PT018 -- for mypy
    if sign in "/%" and not right:
        raise BadType("divided by 0", node.at)
    whole = isinstance(left, int) and isinstance(right, int)
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    if sign == "%":
        return left % right
    return left // right if whole else left / right
