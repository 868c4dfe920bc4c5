"""A session: lines come in, complete statements go out to the interpreter, answers to the output.

    Took      after every command, also a failed one, but not where nothing was run (unknown names, syntax)
    =>        what the last statement of a piece of input evaluates to; nil shows nothing
    error     a script ends at the first one
Lines are gathered until they are a complete statement, so that a question may read the line behind it.
"""

from collections.abc import Callable, Iterator
from typing import TextIO, final

from hbtable.model.visible import visible
from hbtable.shell.catalogue import Catalogue
from hbtable.shell.context import Context
from hbtable.shell.echo import Echo
from hbtable.shell.errors import Incomplete, ShellError, SyntaxMistake, plain_kind
from hbtable.shell.filter_errors import in_two
from hbtable.shell.language.evaluate import Interpreter
from hbtable.shell.language.literals import Value
from hbtable.shell.language.parser import parse
from hbtable.shell.language.syntax import Node


@final
class ShellSession:
    """One interpreter with its variables. `clock` in seconds. `one_shot`: of a command of hbtable's own, without Took
    and =>."""

    def __init__(self, context: Context, clock: Callable[[], float], one_shot: bool = False) -> None:
        self.context = context
        self.catalogue = Catalogue()
        self.interpreter = Interpreter(self.catalogue.knows, self._run)
        self._clock = clock
        self.one_shot = one_shot

    def execute(self, text: str) -> None:
        """All statements of `text`. Incomplete before any of them runs; ShellError, Leave."""
        self.execute_parsed(parse(text))

    def execute_parsed(self, statements: list[Node]) -> None:
        value: Value = None
        for statement in statements:
            value = self.interpreter.evaluate(statement)
        if statements and not self.one_shot:
            self.context.out.value(value)

    def call(self, name: str, arguments: list[Value]) -> None:
        """One command without the language, for one-shot forms."""
        value = self._run(name, arguments)
        if not self.one_shot or self.context.out.values_are_answers:
            self.context.out.value(value)

    def run_lines(self, lines: Iterator[str], echo: Echo | None = None) -> None:
        """Runs lines until they end. ShellError ends it."""
        held, before = "", 0
        for line in lines:
            if echo is not None:
                echo.line(held, line.rstrip("\n"))
            held += line if line.endswith("\n") else line + "\n"
            try:
                statements = parse(held)
            except Incomplete:
                continue
            except SyntaxMistake as error:
                error.count_from(before)
                raise
            before += held.count("\n")
            self.execute_parsed(statements)
            held = ""
        if held:
            self._execute_rest(held, before)
        if echo is not None:
            echo.end()

    def _execute_rest(self, held: str, before: int) -> None:
        """Executes the incomplete rest of a script, after `before` lines: the error says what is missing."""
        try:
            self.execute(held)
        except SyntaxMistake as error:
            error.count_from(before)
            raise

    def hint(self, error: ShellError) -> str:
        """A second line for people: what to do next."""
        from hbtable.shell.advice import advice

        return advice(error, self.context.server, self.catalogue.names(), self.one_shot)

    def _run(self, name: str, arguments: list[Value]) -> Value:
        started = self._clock()
        unknown = _unknown_options(name, arguments)
        try:
            value = self.catalogue.find(name, len(arguments))(self.context, arguments)
        except BaseException as error:
            self.context.out.failed()
            if unknown and isinstance(error, ShellError):
                error.advice = error.advice or unknown
            raise
        else:
            if unknown:
                self.context.out.note(unknown)
            return value
        finally:
            if not self.one_shot and not self.catalogue.is_language(name):
                self.context.out.took(self._clock() - started)


def _unknown_options(name: str, arguments: list[Value]) -> str:
    """A message, or "". What knows them all is loaded when there are some."""
    if not any(isinstance(argument, dict) for argument in arguments):
        return ""
    from hbtable.shell.arguments.known_options import unknown_options

    return unknown_options(name, arguments)


def show_error(session: ShellSession, error: ShellError, stream: TextIO) -> None:
    message, place, more = str(error).partition(" (at byte ")
    message, reason = in_two(message)
    kind = plain_kind(error) if session.one_shot else error.kind
    stream.write(f"{visible(f'{kind}: {message}', lines=True)}\n")
    if reason:
        stream.write(f"  {visible(reason, lines=True)}\n")
    if place:  # in a filter's text, and what could stand there
        stream.write(f"  at byte {visible(more.replace(')', '', 1), lines=True)}\n")
    if error.column is not None:
        stream.write(f"  at column {error.column + 1}\n")
    hint = session.hint(error)
    if hint:
        stream.write(f"  {visible(hint, lines=True)}\n")
