r"""Cuts the text of a command into tokens (Ruby's lexical rules, as far as the shell's users meet them).

    strings    'only \\ and \' are escapes'     "\n \t \e \x41 \101 \u20ac #{1 + 1}"
    words      command, CONSTANT, :symbol       numbers 1 -2 1.5 0x1f 1_000
    newlines   end a command, unless a bracket is open or the line ends in , => = or an operator; # begins a comment

Strings are bytes: text in UTF-8, escapes as they say.
"""

import re
from typing import Final, NamedTuple

from hbtable.shell.errors import Incomplete, OutOfRange, SyntaxMistake


class Token(NamedTuple):
    """One token. `kind`: word, constant, symbol, number, text, newline, end, or the sign itself. `spaced`: blank before
    it."""

    kind: str
    value: object
    at: int
    spaced: bool = False


class Embedded(NamedTuple):
    """#{source} inside a string."""

    source: str
    at: int


_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|0[bB][01]+|\d[\d_]*(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)|\d[\d_]*")
_WORD: Final = re.compile(r"[a-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*[?!]?")
_CONSTANT: Final = re.compile(r"[A-Z][A-Za-z0-9_]*")
_SYMBOL: Final = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")
_SIGNS: Final = (
    "=>", "->", "+=", "::", "**", "&.", "(", ")", "[", "]", "{", "}", ",", ";", ".", "=", "+", "-", "*", "/", "%", "|",
)  # fmt: skip
_GOES_ON: Final = frozenset((",", "=>", "=", ".", "+", "*", "/", "("))
_UNICODE: Final = re.compile(r"u([0-9a-fA-F]{4})|u\{\s*([0-9a-fA-F]{1,6}(?:\s+[0-9a-fA-F]{1,6})*)\s*\}")
_CONTROL: Final = re.compile(r"(M-|C-|c)(?:([\x20-\x5b\x5d-\x7e])|\\)")
_SIMPLE: Final = {
    "n": b"\n", "t": b"\t", "r": b"\r", "e": b"\x1b", "s": b" ", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v",
}  # fmt: skip


def tokenize(text: str) -> list[Token]:
    """Ends with a token of kind `end`. Incomplete, SyntaxMistake."""
    return _Scanner(text).run()


def first_outside(text: str, signs: str) -> int | None:
    """The position of the first of `signs` outside strings, brackets, comments and longer signs (=>). Incomplete,
    SyntaxMistake when what comes before cannot be read."""
    scanner = _Scanner(text, signs)
    scanner.run()
    return scanner.stopped_at


class _Scanner:
    def __init__(self, text: str, stops: str = "") -> None:
        self._text = text
        self._stops = stops
        self.stopped_at: int | None = None
        self._at = 0
        self._tokens: list[Token] = []
        self._depth = 0

    def run(self) -> list[Token]:
        text, end = self._text, len(self._text)
        spaced = False
        while self._at < end:
            char = text[self._at]
            if char in " \t\r":
                self._at += 1
                spaced = True
            elif char == "#":
                self._at = _until(text, "\n", self._at)
            elif char == "\\" and text[self._at + 1 : self._at + 2] == "\n":
                self._at += 2
            elif char == "\n":
                self._newline()
                spaced = True
            elif char in self._stops and not self._depth:
                self.stopped_at = self._at
                break
            else:
                self._token(char, spaced)
                spaced = False
        self._tokens.append(Token("newline", None, end))
        self._tokens.append(Token("end", None, end))
        return self._tokens

    def _newline(self) -> None:
        last = self._tokens[-1].kind if self._tokens else "newline"
        if not self._depth and last not in _GOES_ON and last != "newline":
            self._tokens.append(Token("newline", None, self._at))
        self._at += 1

    def _token(self, char: str, spaced: bool) -> None:
        text, at = self._text, self._at
        if char == "'":
            self._add("text", self._single(), at, spaced)
        elif char == '"':
            self._add("text", self._double(), at, spaced)
        elif found := _NUMBER.match(text, at):
            self._match("number", _number(found.group()), found, spaced)
        elif found := _CONSTANT.match(text, at):
            self._match("constant", found.group(), found, spaced)
        elif found := _WORD.match(text, at):
            self._match("word", found.group(), found, spaced)
        elif found := _SYMBOL.match(text, at):
            self._match("symbol", found.group(1), found, spaced)
        else:
            self._sign(spaced)

    def _sign(self, spaced: bool) -> None:
        for sign in _SIGNS:
            if self._text.startswith(sign, self._at):
                self._depth += (sign in "([{") - (sign in ")]}")
                self._depth = max(self._depth, 0)
                self._add(sign, sign, self._at, spaced)
                self._at += len(sign)
                return
        made = mistake(self._text, self._at, f"syntax error, unexpected {self._text[self._at]!r}")
        if self._text[self._at] == ":":
            made.advice = "options are written NAME => value"
        raise made

    def _match(self, kind: str, value: object, found: re.Match[str], spaced: bool) -> None:
        self._add(kind, value, found.start(), spaced)
        self._at = found.end()

    def _add(self, kind: str, value: object, at: int, spaced: bool) -> None:
        self._tokens.append(Token(kind, value, at, spaced))

    def _single(self) -> list[bytes | Embedded]:
        out: list[str] = []
        at = self._at + 1
        while True:
            char = self._text[at : at + 1]
            if not char:
                raise self._unterminated()
            if char == "'":
                break
            if char == "\\" and self._text[at + 1 : at + 2] in ("'", "\\"):
                at += 1
                char = self._text[at]
            out.append(char)
            at += 1
        self._at = at + 1
        return ["".join(out).encode("utf-8", "surrogateescape")]

    def _double(self) -> list[bytes | Embedded]:
        parts: list[bytes | Embedded] = [b""]
        text, at = self._text, self._at + 1
        while True:
            char = text[at : at + 1]
            if not char:
                raise self._unterminated()
            if char == '"':
                break
            if char == "\\":
                piece, at = self._escape(at + 1)
            elif char == "#" and text[at + 1 : at + 2] == "{":
                stop = text.find("}", at)
                if stop < 0:
                    raise self._unterminated()
                parts += (Embedded(text[at + 2 : stop], at + 2), b"")
                at = stop + 1
                continue
            else:
                piece, at = char.encode("utf-8", "surrogateescape"), at + 1
            last = parts[-1]
            parts[-1] = (last if isinstance(last, bytes) else b"") + piece
        self._at = at + 1
        return parts

    def _escape(self, at: int) -> tuple[bytes, int]:
        """(what the escape after the backslash means, where it ends)."""
        text = self._text
        if found := re.compile(r"x([0-9a-fA-F]{1,2})").match(text, at):
            return bytes((int(found.group(1), 16),)), found.end()
        if found := _UNICODE.match(text, at):
            codes = (found.group(1) or found.group(2)).split()
            return "".join([chr(int(code, 16)) for code in codes]).encode("utf-8", "surrogatepass"), found.end()
        if found := _CONTROL.match(text, at):
            inner, end = (found.group(2).encode(), found.end()) if found.group(2) else self._escape(found.end())
            return bytes((inner[0] | 0x80 if found.group(1) == "M-" else inner[0] & 0x9F,)) + inner[1:], end
        if text[at : at + 1] in ("x", "u"):
            kind = "hex" if text[at] == "x" else "Unicode"
            raise mistake(text, at, f"Invalid {kind} escape")
        if found := re.compile(r"[0-7]{1,3}").match(text, at):
            return bytes((int(found.group(), 8) & 255,)), found.end()
        if at >= len(text):
            raise self._unterminated()
        if text[at] == "\n":
            return b"", at + 1
        return _SIMPLE.get(text[at], text[at].encode("utf-8")), at + 1

    def _unterminated(self) -> Incomplete:
        return incomplete(self._text, self._at, "unterminated string meets end of file")


_MOST_DIGITS: Final = 1000
"""Python refuses to write numbers of more than 4300."""


def _number(text: str) -> int | float:
    plain = text.replace("_", "")
    if len(plain) > _MOST_DIGITS:
        raise OutOfRange(f"a number of {len(plain)} digits is too large")
    if plain[:2] in ("0x", "0X", "0b", "0B"):
        return int(plain, 0)
    if plain[0] == "0" and plain.isdigit() and not plain.strip("01234567"):
        return int(plain, 8)
    return int(plain) if plain.isdigit() else float(plain)


def _until(text: str, char: str, at: int) -> int:
    found = text.find(char, at)
    return len(text) if found < 0 else found


def place(text: str, at: int) -> tuple[int, int]:
    """(line from 1, column from 0)."""
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1)


def mistake(text: str, at: int, message: str) -> SyntaxMistake:
    return SyntaxMistake(message, *place(text, at))


def incomplete(text: str, at: int, message: str) -> Incomplete:
    return Incomplete(message, *place(text, at))
