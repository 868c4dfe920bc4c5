"""The model of filters, continued: SKIP, WHILE, AND and OR, and the tree of all."""

from collections.abc import Collection
from typing import Any

from tests.campaigns.difffuzz.filter_model import INCLUDED, Cell, Code, Filter, simple_filter
from tests.campaigns.difffuzz.filters import Tree


class _Skip(Filter):
    looks_at_rows = True

    def __init__(self, inner: Filter) -> None:
        self._inner, self._drops = inner, False

    def reset(self) -> None:
        self._inner.reset()
        self._drops = False

    def judge(self, cell: Cell) -> Code:
        code = self._inner.judge(cell)
        self._drops = self._drops or code != Code.INCLUDE
        return code

    def changed(self, cell: Cell) -> Cell:
        return self._inner.changed(cell)

    def drops_row(self) -> bool:
        return self._drops


class _While(Filter):
    looks_at_rows = True

    def __init__(self, inner: Filter, knows_reversed: bool) -> None:
        self._inner, self._knows_reversed = inner, knows_reversed
        self._over = False

    def reset(self) -> None:
        self._inner.reset()

    def is_done(self) -> bool:
        return self._over or self._inner.is_done()

    def _noted(self, ends: bool) -> bool:
        self._over = self._over or ends
        return ends

    def drops_row_key(self, row: str, is_reversed: bool) -> bool:
        return self._noted(self._inner.drops_row_key(row, is_reversed and self._knows_reversed))

    def judge(self, cell: Cell) -> Code:
        code = self._inner.judge(cell)
        self._noted(code != Code.INCLUDE)
        return code

    def changed(self, cell: Cell) -> Cell:
        return self._inner.changed(cell)

    def drops_row(self) -> bool:
        return self._noted(self._inner.drops_row())


class _List(Filter):
    def __init__(self, members: list[Filter]) -> None:
        self._members = members
        self.looks_at_rows = any(member.looks_at_rows for member in members)

    def reset(self) -> None:
        for member in self._members:
            member.reset()

    def last_look(self, cells: list[Cell]) -> list[Cell]:
        for member in self._members:
            cells = member.last_look(cells)
        return cells


class _And(_List):
    def is_done(self) -> bool:
        return any(member.is_done() for member in self._members)

    def drops_row_key(self, row: str, is_reversed: bool) -> bool:
        drops = False
        for member in self._members:
            if member.is_done():
                return True
            if member.drops_row_key(row, is_reversed):
                drops = True
        return drops

    def judge(self, cell: Cell) -> Code:
        """Members after the one that rejects do not see the cell."""
        out = Code.INCLUDE
        for member in self._members:
            if member.is_done():
                return Code.NEXT_ROW
            code = member.judge(cell)
            if code not in INCLUDED:
                return Code.NEXT_COLUMN if out == Code.INCLUDE_NEXT_COLUMN and code == Code.SKIP else code
            out = max(out, code)
        return out

    def changed(self, cell: Cell) -> Cell:
        for member in self._members:
            cell = member.changed(cell)
        return cell

    def drops_row(self) -> bool:
        return any(member.drops_row() for member in self._members)


class _Or(_List):
    def __init__(self, members: list[Filter]) -> None:
        super().__init__(members)
        self._includes: list[Filter] = []
        self._hints: list[tuple[Code, str, str] | None] = [None] * len(members)

    def reset(self) -> None:
        super().reset()
        self._hints = [None] * len(self._members)

    def is_done(self) -> bool:
        return all(member.is_done() for member in self._members)

    def drops_row_key(self, row: str, is_reversed: bool) -> bool:
        drops = True
        for member in self._members:
            if not member.is_done() and not member.drops_row_key(row, is_reversed):
                drops = False
        return drops

    def judge(self, cell: Cell) -> Code:
        """A member that skipped to the next column or row is not asked before it is there."""
        self._includes = []
        out: Code | None = None
        for number, member in enumerate(self._members):
            if member.is_done():
                continue
            code = self._hinted(number, cell)
            if code is None:
                code = member.judge(cell)
                self._hints[number] = _hint(code, cell)
                if code in INCLUDED:
                    self._includes.append(member)
            out = code if out is None else _either(out, code)
        return Code.NEXT_ROW if out is None else out

    def _hinted(self, number: int, cell: Cell) -> Code | None:
        hint = self._hints[number]
        if hint is None:
            return None
        code, family, qualifier = hint
        same = family == cell[0] if code == Code.NEXT_ROW else (family, qualifier) == cell[:2]
        return code if same else None

    def changed(self, cell: Cell) -> Cell:
        for member in self._includes:
            cell = member.changed(cell)
        return cell

    def drops_row(self) -> bool:
        return all(member.is_done() or member.drops_row() for member in self._members)


def _hint(code: Code, cell: Cell) -> tuple[Code, str, str] | None:
    if code in (Code.NEXT_COLUMN, Code.NEXT_ROW):
        return code, cell[0], cell[1]
    return (Code.NEXT_COLUMN, cell[0], cell[1]) if code == Code.INCLUDE_NEXT_COLUMN else None


def _either(a: Code, b: Code) -> Code:
    """Of two members of OR."""
    if a not in INCLUDED and b not in INCLUDED:
        return min(a, b)
    if Code.INCLUDE in (a, b) or Code.SKIP in (a, b):
        return Code.INCLUDE
    return Code.INCLUDE_NEXT_COLUMN


def built(tree: Tree, flags: Collection[str]) -> Filter:
    """A fresh filter of a plain tree (filters.plain)."""
    kind: Any = tree[0]
    if kind == "F":
        return simple_filter(tree[1], tree[2], flags)
    if kind == "SKIP":
        return _Skip(built(tree[1], flags))
    if kind == "WHILE":
        return _While(built(tree[1], flags), "noreverse" not in flags)
    members = [built(member, flags) for member in tree[1]]
    return _And(members) if kind == "AND" else _Or(members)
