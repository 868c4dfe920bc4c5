"""From tokens to the tree (syntax.py): a recursive descent over Ruby's call syntax.

    program    := { statement ( newline | ';' ) }
    statement  := (word|constant) '=' statement | word '+=' statement | expression
    expression := term { ('+'|'-') term }            term := power { ('*'|'/'|'%') power }
    power      := factor [ '**' power ]
    factor     := primary { '.' word [arguments] | '[' list ']' }
                                                     arguments := '(' list ')' | list on the same line
    list       := item { ',' item }                  item := expression [ '=>' expression ]   pairs are a hash
    primary    := number | text | symbol | constant | word [arguments] | '[' list ']' | '{' pairs '}'
                  | '(' statement ')'

A word takes arguments without brackets only when something that can begin a value follows it after a blank.
"""

import re
from typing import Final

from hbtable.shell.errors import SyntaxMistake
from hbtable.shell.language.literals import Symbol
from hbtable.shell.language.syntax import Arithmetic, Array, Assignment, Call, Constant, Hash, Literal, Node, Text
from hbtable.shell.language.tokens import Embedded, Token, incomplete, mistake, tokenize

_BEGINS_VALUE: Final = frozenset(("number", "text", "symbol", "constant", "word", "[", "{", "("))
_WORDS: Final[dict[str, object]] = {"nil": None, "true": True, "false": False}
_DEPTH: Final = 100
_NO_RUBY: Final = "Ruby's blocks, loops and conditions are not there: write the commands one by one, or a program"
_RUBY: Final = re.compile(r"\{\s*\||\bdo\s*(\||$)|^\s*(for|if|unless|while|until|def|begin)\b|\d\.\.", re.MULTILINE)


def parse(text: str) -> list[Node]:
    """The statements. Incomplete when more lines may complete the last one; SyntaxMistake with its column."""
    return _Parser(text).program()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._place = 0
        self._depth = 0

    def program(self) -> list[Node]:
        found: list[Node] = []
        while True:
            while self._peek().kind in ("newline", ";"):
                self._place += 1
            if self._peek().kind == "end":
                return found
            found.append(self._statement())
            if self._peek().kind not in ("newline", ";", "end"):
                raise self._unexpected()

    def _statement(self) -> Node:
        token, after = self._peek(), self._tokens[self._place + 1]
        if token.kind in ("word", "constant") and after.kind == "=":
            self._place += 2
            return Assignment(str(token.value), self._statement(), token.at)
        if token.kind == "word" and after.kind == "+=":
            self._place += 2
            before = Call(None, str(token.value), [], True, token.at)
            return Assignment(str(token.value), Arithmetic("+", before, self._statement(), after.at), token.at)
        if token.kind == "constant" and after.kind == "text":  # LIST 't1': a command in capitals
            self._place += 1
            return Call(None, str(token.value), self._items(), False, token.at)
        return self._expression()

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEPTH:
            raise mistake(self._text, self._peek().at, f"more than {_DEPTH} levels of brackets")
        left = self._term()
        while self._peek().kind in ("+", "-"):
            sign = self._take()
            left = Arithmetic(sign.kind, left, self._term(), sign.at)
        self._depth -= 1
        return left

    def _term(self) -> Node:
        left = self._power()
        while self._peek().kind in ("*", "/", "%"):
            sign = self._take()
            left = Arithmetic(sign.kind, left, self._power(), sign.at)
        return left

    def _power(self) -> Node:
        base = self._factor()
        if self._peek().kind != "**":
            return base
        sign = self._take()
        return Arithmetic("**", base, self._power(), sign.at)

    def _factor(self) -> Node:
        if self._peek().kind == "-":
            sign = self._take()
            return Arithmetic("-", Literal(0, sign.at), self._factor(), sign.at)
        node = self._primary()
        while self._peek().kind in (".", "&.", "::") or (self._peek().kind == "[" and not self._peek().spaced):
            mark = self._take()
            if mark.kind == "[":
                node = Call(node, "[]", self._list("]"), False, mark.at)
                continue
            name = self._take()
            if name.kind not in ("word", "constant"):
                self._place -= 1
                raise self._unexpected()
            arguments, plain = self._arguments()
            node = Call(node, str(name.value), arguments, plain, name.at)
        return node

    def _primary(self) -> Node:
        token = self._take()
        kind, value, at = token.kind, token.value, token.at
        if kind == "number":
            return Literal(value, at)
        if kind == "symbol":
            return Literal(Symbol(str(value)), at)
        if kind == "text":
            return self._string(value, at)
        if kind == "constant":
            return Constant(str(value), at)
        if kind == "word":
            if value in _WORDS:
                return Literal(_WORDS[str(value)], at)
            arguments, plain = self._arguments()
            return Call(None, str(value), arguments, plain, at)
        if kind == "[":
            return Array(self._list("]"), at)
        if kind == "{":
            return self._hash(at)
        if kind == "(":
            inner = self._statement()
            self._expect(")")
            return inner
        self._place -= 1
        raise self._unexpected()

    def _string(self, parts: object, at: int) -> Text:
        made: list[bytes | Node] = []
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, Embedded):
                inner = parse(part.source)
                made += inner[-1:]
            else:
                made.append(part)
        # Strings side by side are one string, as in Ruby.
        while self._peek().kind == "text":
            more = self._take()
            made += self._string(more.value, more.at).parts
        return Text(made, at)

    def _arguments(self) -> tuple[list[Node], bool]:
        token = self._peek()
        if token.kind == "(" and not token.spaced:
            self._take()
            return self._list(")"), False
        begins = token.kind in _BEGINS_VALUE or (token.kind == "-" and self._tokens[self._place + 1].kind == "number")
        if not token.spaced or not begins:
            return [], True
        if token.kind == "-" and self._tokens[self._place + 1].spaced:
            return [], True  # `a - 1` is arithmetic, `a -1` an argument
        return self._items(), False

    def _list(self, closing: str) -> list[Node]:
        found: list[Node] = []
        self._skip_newlines()
        if self._peek().kind != closing:
            found = self._items(closing)
        self._expect(closing)
        return found

    def _items(self, closing: str = "") -> list[Node]:
        found: list[Node] = []
        pairs: list[tuple[Node, Node]] = []
        start = self._peek().at
        while True:
            self._skip_newlines()
            if closing and self._peek().kind == closing:
                break
            item = self._statement() if closing == ")" else self._expression()
            if self._peek().kind == "=>":
                self._take()
                pairs.append((item, self._expression()))
            else:
                if pairs:
                    raise mistake(self._text, item.at, "syntax error, a value after the => pairs of a call")
                found.append(item)
            if closing:
                self._skip_newlines()
            if self._peek().kind != ",":
                break
            self._take()
        if pairs:
            found.append(Hash(pairs, start))
        return found

    def _hash(self, at: int) -> Hash:
        pairs: list[tuple[Node, Node]] = []
        while True:
            self._skip_newlines()
            if self._peek().kind == "}":
                break
            key = self._expression()
            self._expect("=>")
            self._skip_newlines()
            pairs.append((key, self._expression()))
            self._skip_newlines()
            if self._peek().kind != ",":
                break
            self._take()
        self._expect("}")
        return Hash(pairs, at)

    # ---------------------------------------------------------------- tokens

    def _peek(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._tokens[self._place]
        if token.kind != "end":
            self._place += 1
        return token

    def _skip_newlines(self) -> None:
        while self._peek().kind == "newline" and self._tokens[self._place + 1].kind != "end":
            self._place += 1

    def _expect(self, kind: str) -> None:
        if self._peek().kind != kind:
            raise self._unexpected()
        self._place += 1

    def _unexpected(self) -> SyntaxMistake:
        token = self._peek()
        if token.kind in ("end", "newline") and self._tokens[min(self._place + 1, len(self._tokens) - 1)].kind == "end":
            return incomplete(self._text, len(self._text.rstrip()), "syntax error, unexpected end-of-file")
        shown = "end of line" if token.kind == "newline" else f"'{self._text[token.at : token.at + 1]}'"
        if token.kind in ("word", "constant", "number"):
            shown = f"'{token.value}'"
        made = mistake(self._text, token.at, f"syntax error, unexpected {shown}")
        if _RUBY.search(self._text):
            made.advice = _NO_RUBY
        return made
