"""Completion: commands at the beginning, live table names in quotes, families of the table in question, constants."""

import re
from collections.abc import Iterator
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hbtable.shell.context import show_name
from hbtable.shell.errors import ShellError
from hbtable.shell.language.constants import CONSTANTS
from hbtable.shell.prompt.specials import Specials
from hbtable.shell.session import ShellSession

_FIRST_WORD: Final = re.compile(r"\s*([\\a-z_]*)$")
_IN_QUOTES: Final = re.compile(r"""['"]([^'"]*)$""")
_CONSTANT: Final = re.compile(r"\b([A-Z][A-Z_]*)$")
_TABLE: Final = re.compile(r"""^\s*\w+\s*\(?\s*(['"])(.+?)\1\s*,""")
_SPECIALS: Final = ("use", "\\watch", "\\x")


class ShellCompleter(Completer):
    """Asks the server for names as they are now; without a server there are none."""

    def __init__(self, session: ShellSession, specials: Specials) -> None:
        self._session = session
        self._specials = specials

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        text = document.text_before_cursor
        statement = text.rpartition(";")[2]
        if found := _FIRST_WORD.match(statement):
            words = [*self._session.catalogue.names(), *_SPECIALS, *self._session.interpreter.variables]
            yield from _matching(found.group(1), sorted(words))
        elif found := _IN_QUOTES.search(statement):
            yield from _matching(found.group(1), self._names(statement))
        elif found := _CONSTANT.search(statement):
            yield from _matching(found.group(1), sorted(CONSTANTS))

    def _names(self, statement: str) -> list[str]:
        """The names of tables, or behind a table's name those of its families."""
        context = self._session.context
        table = _TABLE.match(statement)
        try:
            if table is None and self._specials.current is None:
                return [show_name(one.name) for one in context.server.admin("adminTables")]
            name = table.group(2).encode() if table is not None else self._specials.current or b""
            found = context.find_table(name)
        except ShellError:
            return []
        return [show_name(family.name) + ":" for family in (found.families or ())] if found is not None else []


def _matching(typed: str, words: list[str]) -> Iterator[Completion]:
    for word in words:
        if word.startswith(typed) and word != typed:
            yield Completion(word, -len(typed))
