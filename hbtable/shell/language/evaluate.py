"""Walks the tree: variables, constants, commands, and the few methods that values have. Nothing of Python is reachable.

Constants stand for their own names; a word that is no variable is a command. `name` and table references get further
arguments as Ruby's methods would: t.put 'r', ... is put with the table in front.
"""

from collections.abc import Callable
from typing import Protocol, final

from hbtable.shell.errors import ArgumentTypeError, UnknownMethod, UnknownName
from hbtable.shell.language.constants import ALIASES, CONSTANTS
from hbtable.shell.language.literals import Value, class_of, inspect, shown
from hbtable.shell.language.methods import calculate
from hbtable.shell.language.methods import call as call_method
from hbtable.shell.language.syntax import Arithmetic, Array, Assignment, Call, Constant, Hash, Literal, Node, Text


class Receiver(Protocol):
    """A value with methods of its own."""

    def call(self, name: str, arguments: list[Value], run: "RunCommand") -> Value:
        """UnknownMethod."""


RunCommand = Callable[[str, list[Value]], Value]
"""Carries a command out. UnknownMethod for what is none (`knows` was asked before)."""


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
        if isinstance(node, Assignment):
            self.variables[node.name] = value = self.evaluate(node.value)
            return value
        if isinstance(node, Arithmetic):
            return calculate(node.operator, self.evaluate(node.left), self.evaluate(node.right), node.at)
        return self._call(node)

    def _embedded(self, node: Node) -> bytes:
        value = self.evaluate(node)
        return value if isinstance(value, bytes) else shown(value).encode()

    def _constant(self, node: Constant) -> Value:
        if node.name in self.variables:
            return self.variables[node.name]
        name = ALIASES.get(node.name, node.name)
        if name in CONSTANTS:
            return name.encode()
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
        return self._run(node.name, self._arguments(node))

    def _arguments(self, node: Call) -> list[Value]:
        try:
            return [self.evaluate(argument) for argument in node.arguments]
        except UnknownName as error:
            error.command = error.command or node.name
            raise

    def _method(self, node: Call, value: Value) -> Value:
        arguments = self._arguments(node)
        call = getattr(value, "call", None) if hasattr(value, "inspect") else None
        if call is not None:
            receiver: Receiver = value  # type: ignore[assignment]  # what shows itself answers calls, too
            return receiver.call(node.name, arguments, self._run)
        if node.name == "[]":
            return _element(value, arguments, node.at)
        return call_method(value, node.name, arguments, node.at)


def _key(value: Value) -> Value:
    """Arrays and hashes cannot be looked up here; nobody uses them as keys."""
    if isinstance(value, (list, dict)):
        raise ArgumentTypeError(f"{inspect(value)} cannot be a key")
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
