"""Errors of the shell, each kind with the name that HBase's users know from Ruby.

Every one is a ShellError: shown as `Kind: message` on standard error, never as a trace.
"""

from collections.abc import Sequence


class ShellError(Exception):
    """An error that the shell shows: `kind` comes in front of the message."""

    kind = "RuntimeError"
    exit_code = 1
    """Of a command that ends with it."""

    column: int | None = None
    """The position in the line, from 0; None: nowhere in particular."""

    advice: str = ""
    """A second line for people: what could stand there."""

    about: tuple[str, bytes] | None = None
    """(table, `imported table`, `disabled table`, `enabled table`, namespace or region; its name): advice.py has
    the second line."""

    command: str = ""
    """The command whose arguments were being read."""

    def __init__(self, message: str, column: int | None = None, about: tuple[str, bytes] | None = None) -> None:
        super().__init__(message)
        self.column = column
        self.about = about


class ArgumentError(ShellError):
    """An argument that a command cannot take."""

    kind = "ArgumentError"


class ArgumentTypeError(ShellError):
    """An argument of the wrong type."""

    kind = "TypeError"


class OutOfRange(ShellError):
    """A number that does not fit."""

    kind = "RangeError"


class UnknownName(ShellError):
    """A word that is neither a command, nor a variable, nor a constant."""

    kind = "NameError"


class UnknownMethod(ShellError):
    """Something was asked of a value that does not have it."""

    kind = "NoMethodError"


class SyntaxMistake(ShellError):
    """The line cannot be read. `line` from 1."""

    kind = "SyntaxError"

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"(hbase):{line}: {message}", column)
        self.line = line
        self._message = message

    def count_from(self, before: int) -> None:
        """`before` lines of the script came before the text that was parsed."""
        self.line += before
        self.args = (f"(hbase):{self.line}: {self._message}",)


class Incomplete(SyntaxMistake):
    """The text ends inside a bracket, a string or after a comma: more lines may complete it."""


class ServerError(ShellError):
    """An error that the server answered. `java_class` is the exception's class in HBase, "" when it named none;
    `classes` is hbtable's class of it and its ancestors, nearest first, () when the server does not tell."""

    def __init__(self, java_class: str, message: str, advice: str = "", classes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.java_class = java_class
        self.classes = tuple(classes)
        self.advice = advice
        if java_class:
            self.kind = f"Unhandled Java exception: {java_class}"


class WrongOption(ShellError):
    """The file that an option names cannot be used; no server was asked for anything."""

    kind = "ArgumentError"
    exit_code = 2


class CannotConnect(ShellError):
    """No server answers at the address."""

    kind = "ConnectionError"
    exit_code = 3


class NotLetIn(CannotConnect):
    """A server answers, and does not take the user for whom he says he is: a wrong password or token, or none where one
    is due."""


class BrokenOff(CannotConnect):
    """The connection broke during a call, which may have been carried out. `timed_out`: no answer came in time."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class Cancelled(ShellError):
    """The person pressed Ctrl-C."""

    kind = "Interrupt"


class Leave(Exception):
    """Raised by `exit` and `quit`: the shell ends with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def plain_kind(error: ShellError) -> str:
    """The kind of error of a command of hbtable's own, which no script of HBase's shell reads: without Java's
    packages."""
    java_class = error.java_class if isinstance(error, ServerError) else ""
    return java_class.rpartition(".")[2] or error.kind
