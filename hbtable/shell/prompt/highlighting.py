"""Colours by the shell's own rules for words: known commands, constants, strings, numbers, comments."""

import re
from collections.abc import Callable
from typing import Final

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from hbtable.shell.language.constants import CONSTANTS
from hbtable.shell.session import ShellSession

_PIECE: Final = re.compile(
    r"""(?P<comment>\#.*)|(?P<text>'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?)|(?P<constant>[A-Z][A-Z0-9_]*)"""
    r"""|(?P<word>[a-z_]\w*[?!]?)|(?P<number>-?\d[\d_.]*)|(?P<rest>.)""",
    re.VERBOSE,
)
_STYLES: Final = {"comment": "ansibrightblack", "text": "ansigreen", "number": "ansicyan", "rest": ""}


class ShellLexer(Lexer):
    """Unknown words and constants are red before they are sent."""

    def __init__(self, session: ShellSession) -> None:
        self._session = session

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = document.lines

        def line(number: int) -> StyleAndTextTuples:
            found: StyleAndTextTuples = []
            for piece in _PIECE.finditer(lines[number]) if number < len(lines) else ():
                kind = piece.lastgroup or "rest"
                found.append((self._style(kind, piece.group()), piece.group()))
            return found

        return line

    def _style(self, kind: str, text: str) -> str:
        if kind == "constant":
            return "ansimagenta" if text in CONSTANTS else "ansired"
        if kind == "word":
            return "bold ansiblue" if self._session.catalogue.knows(text) else ""
        return _STYLES[kind]
