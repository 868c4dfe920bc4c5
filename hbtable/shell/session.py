"""A session: lines come in, complete statements go out to the interpreter, answers to the output.

    Took      after every command, also a failed one, but not where nothing was run (unknown names, syntax)
    =>        what the last statement of a piece of input evaluates to; nil shows nothing
    error     a script ends at the first one
Lines are gathered until they are a complete statement, so that a question may read the line behind it.
"""

from collections.abc import Callable, Iterator
from typing import Final, final

from hbtable.shell.catalogue import UNTIMED, Catalogue
from hbtable.shell.context import Context
from hbtable.shell.echo import Echo
from hbtable.shell.errors import Incomplete, ShellError, SyntaxMistake, UnknownMethod, UnknownName
from hbtable.shell.evaluate import Interpreter
from hbtable.shell.literals import Value
from hbtable.shell.parser import parse
from hbtable.shell.syntax import Node

_RUBY: Final = ("org", "java", "com", "import", "java_import", "include", "require")


@final
class Session:
    """One interpreter with its variables. `clock` in seconds."""

    def __init__(self, context: Context, clock: Callable[[], float], quiet: bool = False) -> None:
        self.context = context
        self.catalogue = Catalogue()
        self.interpreter = Interpreter(self.catalogue.knows, self._run)
        self._clock = clock
        self._quiet = quiet

    def execute(self, text: str) -> None:
        """All statements of `text`. Incomplete before any of them runs; ShellError, Leave."""
        self.execute_parsed(parse(text))

    def execute_parsed(self, statements: list[Node]) -> None:
        value: Value = None
        for statement in statements:
            value = self.interpreter.evaluate(statement)
        if statements and not self._quiet:
            self.context.out.value(value)

    def call(self, name: str, arguments: list[Value]) -> None:
        """One command without the language, for one-shot forms."""
        value = self._run(name, arguments)
        if not self._quiet or self.context.out.values_are_answers:
            self.context.out.value(value)

    def run_lines(self, lines: Iterator[str], echo: Echo | None = None) -> None:
        """Until the lines end. ShellError ends it."""
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
        """What is incomplete at the end of a script, after `before` lines."""
        try:
            self.execute(held)
        except SyntaxMistake as error:
            error.count_from(before)
            raise

    def hint(self, error: ShellError) -> str:
        """A second line for people: did you mean."""
        if not isinstance(error, (UnknownName, UnknownMethod)):
            return ""
        word = str(error).rpartition("`")[2].rstrip("'") if "`" in str(error) else ""
        if word in _RUBY or str(error).endswith(("Filter", "::Time", "::Java")):
            return "classes of Java and Ruby are not there; a filter is a text: FILTER => \"PrefixFilter('a')\""
        near = self.catalogue.like(word) if word else []
        return f"did you mean {' or '.join(near)}?" if near else ""

    def _run(self, name: str, arguments: list[Value]) -> Value:
        started = self._clock()
        try:
            return self.catalogue.find(name, len(arguments))(self.context, arguments)
        except BaseException:
            self.context.out.failed()
            raise
        finally:
            if name not in UNTIMED and not self._quiet:
                self.context.out.took(self._clock() - started)
