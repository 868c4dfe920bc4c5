"""Text of the filter language to an expression (docs/contract.md: filter language). Bytes in; keywords and names are
ASCII.

    expr    := and ( "OR" and )*                 lowest precedence
    and     := unary ( "AND" unary )*
    unary   := ( "SKIP" | "WHILE" ) unary | primary
    primary := "(" expr ")" | Name blank* "(" arguments ")"
    arguments: quoted or bare, separated by blanks, a comma or both; '' inside quotes is one quote

Unlike HBase's parser it takes operators of any precedence inside brackets, and refuses what HBase silently misreads:
unbalanced brackets, and bytes right after a closing quote. Blank is space or tab.

A filter is evaluated for every cell while other requests wait: so how much one text may ask for is bounded here, below
every way in.
"""

import re
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import BadFilter
from hbtable.filters.arguments import CEL_FILTER_NAMES, Argument, as_text, leaf_of
from hbtable.filters.expression import All, AnyOf, Expression, Skip, While, has_condition, takes_rows_whole
from hbtable.switches import switches_if_given

MAX_DEPTH: Final = 100
"""Brackets, SKIPs and WHILEs inside each other. More would deepen the recursion of the evaluation, too."""

MAX_BYTES: Final = 1 << 20
"""Of a filter's text."""

MAX_FILTERS: Final = 1000
"""Filters in one text. Each is asked about every cell that the scan meets: a thousand cost about 0.3 ms a cell."""

MAX_ARGUMENTS: Final = 10_000
"""Of all filters of one text together: MultipleColumnPrefixFilter compares each cell with all of its own."""

MAX_EXPRESSIONS: Final = 16
"""In CEL, of one text: each is a question to a worker process about the same rows."""

_FILTERS_BETWEEN_PAUSES: Final = 16

_DOUBLED: Final = "; a ' inside of a value is written twice: 'binary:it''s'"
_BLANK: Final = b" \t"
_BLANKS: Final = re.compile(rb"[ \t]*")
_NAME: Final = re.compile(rb"[^ \t(),']*")
_BARE: Final = re.compile(rb"[^ \t,)']*")
_END_OF_BARE: Final = b" \t,)"


def _go_on() -> None:
    pass


@switches_if_given
def parse(text: bytes, pause: Callable[[], object] = _go_on) -> Expression:
    """The expression that `text` says. BadFilter, with the byte position of the offence, for anything else. `pause` is
    called now and then: a thousand patterns take 0.1 s."""
    if len(text) > MAX_BYTES:
        shown = text[:100].decode("latin-1")
        raise BadFilter(f"the filter has {len(text)} bytes, the limit is {MAX_BYTES}; it begins {shown!r}", MAX_BYTES)
    if not text.strip(_BLANK):
        raise BadFilter("Incorrect Filter String: it is empty; send no filter at all to get every cell", 0)
    reader = _Reader(text, pause)
    expression = reader.read_any(0)
    if reader.position < len(text):
        if text[reader.position : reader.position + 1] == b")":
            raise reader.error("Mismatched parenthesis: nothing is open that this ')' could close")
        raise reader.error("Incorrect Filter String: AND, OR or the end is expected")
    return expression


@final
class _Reader:
    """Recursive descent over the text; `position` is the next unread byte, never a blank between tokens."""

    __slots__ = ("_arguments", "_expressions", "_filters", "_pause", "_projections", "_skips", "position", "text")

    def __init__(self, text: bytes, pause: Callable[[], object]) -> None:
        self.text = text
        self.position = 0
        self._pause = pause
        self._filters = 0
        self._arguments = 0
        self._expressions = 0
        self._projections = 0
        self._skips = 0  # that are open
        self._skip_blanks()

    def error(self, message: str, position: int = -1) -> BadFilter:
        at = self.position if position < 0 else position
        found = self.text[at : at + 20]
        where = f"found {found.decode('latin-1')!r}" if found else "the text ends here"
        return BadFilter(f"{message} (at byte {at}: {where})", at)

    @switches_if_given
    def read_any(self, depth: int) -> Expression:
        start, expressions = self.position, self._expressions
        members = [self._read_all(depth)]
        while self._take_operator(b"OR"):
            members.append(self._read_all(depth, b"OR"))
        if self._expressions > expressions and len(members) > 1:
            self._check_alternatives(members, start)
        return members[0] if len(members) == 1 else AnyOf(tuple(members))

    @switches_if_given
    def _read_all(self, depth: int, after: bytes = b"") -> Expression:
        members = [self._read_unary(depth, after)]
        while self._take_operator(b"AND"):
            members.append(self._read_unary(depth, b"AND"))
        return members[0] if len(members) == 1 else All(tuple(members))

    @switches_if_given
    def _read_unary(self, depth: int, after: bytes = b"") -> Expression:
        if depth > MAX_DEPTH:
            raise self.error(f"Incorrect Filter String: more than {MAX_DEPTH} filters inside each other")
        for keyword in (b"SKIP", b"WHILE"):
            if self._take_keyword(keyword):
                self._skips += keyword == b"SKIP"
                member = self._read_unary(depth + 1, keyword)
                self._skips -= keyword == b"SKIP"
                return Skip(member) if keyword == b"SKIP" else While(member)
        if self.text[self.position : self.position + 1] == b"(":
            return self._read_bracketed(depth)
        return self._read_simple(after)

    @switches_if_given
    def _read_bracketed(self, depth: int) -> Expression:
        opened = self.position
        self.position += 1
        self._skip_blanks()
        if self.text[self.position : self.position + 1] == b")":
            raise self.error("Incorrect Filter String: the brackets hold no filter")
        inner = self.read_any(depth + 1)
        if self.position >= len(self.text):
            raise self.error("Mismatched parenthesis: this '(' is never closed", opened)
        if self.text[self.position : self.position + 1] != b")":
            raise self.error("Incorrect Filter String: AND, OR or ')' is expected")
        self.position += 1
        self._skip_blanks()
        return inner

    @switches_if_given
    def _read_simple(self, after: bytes) -> Expression:
        start = self.position
        self._skip(_NAME)
        name = self.text[start : self.position]
        if not name or name in (b"AND", b"OR"):
            raise self._missing(after, name, start)
        self._skip_blanks()
        if self.text[self.position : self.position + 1] != b"(":
            raise self.error(f"Incorrect Filter Name: no '(' follows {as_text(name)!r}", start)
        self.position += 1
        arguments = self._read_arguments(name)
        self._count_filter(start)
        if name in CEL_FILTER_NAMES:
            self._check_expression(name, start)
        simple = self.text[start : self.position]
        self._skip_blanks()
        return leaf_of(name, arguments, simple, start)

    @switches_if_given
    def _count_filter(self, start: int) -> None:
        self._filters += 1
        if self._filters > MAX_FILTERS:
            raise self.error(
                f"Incorrect Filter String: it holds more than {MAX_FILTERS} filters, each asked about "
                f"every cell; the limit is {MAX_FILTERS}: send several requests with fewer filters each",
                start,
            )
        if not self._filters % _FILTERS_BETWEEN_PAUSES:
            self._pause()

    def _check_expression(self, name: bytes, start: int) -> None:
        if self._skips:
            raise self.error(
                f"Incorrect Filter String: SKIP looks at cells one by one, and {name.decode()} decides on whole rows",
                start,
            )
        if name == b"CelProjectionFilter":
            self._projections += 1
            if self._projections > 1:
                raise self.error("Incorrect Filter String: it holds more than one CelProjectionFilter", start)
        self._expressions += 1
        if self._expressions > MAX_EXPRESSIONS:
            raise self.error(
                f"Incorrect Filter String: it holds more than {MAX_EXPRESSIONS} expressions in CEL, the limit: "
                "join them with && and ||",
                start,
            )

    def _check_alternatives(self, members: list[Expression], start: int) -> None:
        """A CelFilter keeps each cell, until it has seen the row: the others would have its cells as well."""
        if any(map(has_condition, members)) and not all(map(takes_rows_whole, members)):
            raise self.error(
                "Incorrect Filter String: OR keeps cells one by one, and CelFilter decides on whole rows: beside it in "
                "an OR may stand CelFilter, RowFilter, PrefixFilter and SingleColumnValueFilter",
                start,
            )

    def _missing(self, after: bytes, name: bytes, start: int) -> BadFilter:
        if name or after in (b"AND", b"OR"):
            which = (name or after).decode()
            return self.error(f"Incorrect Filter String: an {which} needs two filters", start)
        if after:
            return self.error(f"Incorrect Filter String: a {after.decode()} wraps a filter", start)
        if self.text[start : start + 1] == b")":
            return self.error("Mismatched parenthesis: a filter is expected before this ')'", start)
        return self.error("Incorrect Filter Name: a filter's name is expected", start)

    def _read_arguments(self, name: bytes) -> list[Argument]:
        """Between the brackets; leaves `position` after the closing one."""
        found: list[Argument] = []
        comma = False
        while True:
            self._skip_blanks()
            if self.position >= len(self.text):
                raise self.error("Incorrect argument list: it is never closed with ')'")
            byte = self.text[self.position : self.position + 1]
            if byte == b")" and not comma:
                self.position += 1
                return found
            if byte == b"," and found and not comma:
                comma = True
                self.position += 1
                continue
            if byte in (b",", b")"):
                raise self.error("Incorrect argument list: an argument is expected")
            self._arguments += 1
            if self._arguments > MAX_ARGUMENTS:
                raise self.error(
                    f"Incorrect argument list: the filters up to {as_text(name)} have more than "
                    f"{MAX_ARGUMENTS} arguments together, which is the limit: send several requests with fewer each"
                )
            found.append(self._read_quoted() if byte == b"'" else self._read_bare())
            comma = False

    def _read_quoted(self) -> Argument:
        start = self.position
        parts = []
        at = start + 1
        while True:
            end = self.text.find(b"'", at)
            if end < 0:
                raise self.error(f"Incorrect argument list: this quote is never closed{_DOUBLED}", start)
            parts.append(self.text[at:end])
            if self.text[end + 1 : end + 2] != b"'":
                break
            at = end + 2
        self.position = end + 1
        if self.position < len(self.text) and self.text[self.position] not in _END_OF_BARE:
            raise self.error(f"Incorrect argument list: a blank, ',' or ')' must follow a closing quote{_DOUBLED}")
        return Argument(b"'".join(parts), True, start)

    def _read_bare(self) -> Argument:
        start = self.position
        self._skip(_BARE)
        if self.text[self.position : self.position + 1] == b"'":
            raise self.error(f"Incorrect argument list: a blank or ',' must come before a quote{_DOUBLED}")
        return Argument(self.text[start : self.position], False, start)

    def _take_operator(self, word: bytes) -> bool:
        """AND or OR: after a blank or ')' (always so here unless the text begins), before a blank or '('."""
        return self.text[self.position - 1 : self.position] in (b" ", b"\t", b")") and self._take_keyword(word)

    def _take_keyword(self, word: bytes) -> bool:
        end = self.position + len(word)
        if not self.text.startswith(word, self.position) or self.text[end : end + 1] not in (b" ", b"\t", b"(", b""):
            return False
        self.position = end
        self._skip_blanks()
        return True

    def _skip_blanks(self) -> None:
        self._skip(_BLANKS)

    def _skip(self, bytes_of_a_kind: "re.Pattern[bytes]") -> None:
        found = bytes_of_a_kind.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
