"""Random filters of the whole language, as a tree: ("F", name, arguments) | ("SKIP" or "WHILE", tree) |
("AND" or "OR", [tree, ...]). An argument is ("s", text) quoted, ("o", operator), ("n", number) or ("b", bool)."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

Tree = tuple[Any, ...]
Argument = tuple[str, Any]

_OPERATORS: Final = ["<", "<=", "=", "!=", ">", ">="]
_NAMES: Final = [
    "KeyOnlyFilter",
    "FirstKeyOnlyFilter",
    "PrefixFilter",
    "ColumnPrefixFilter",
    "MultipleColumnPrefixFilter",
    "ColumnCountGetFilter",
    "PageFilter",
    "ColumnPaginationFilter",
    "InclusiveStopFilter",
    "TimestampsFilter",
    "RowFilter",
    "FamilyFilter",
    "QualifierFilter",
    "ValueFilter",
    "ColumnRangeFilter",
    "SingleColumnValueFilter",
    "SingleColumnValueExcludeFilter",
    "DependentColumnFilter",
    "ColumnValueFilter",
]
_PATTERNS: Final = ["^%s", "%s$", "%s", ".*%s", "[a-c]%s", "(%s|b)"]
_PRECEDENCE: Final = {"OR": 0, "AND": 1, "SKIP": 2, "WHILE": 2, "F": 3}


class World(Protocol):
    """What tables really hold."""

    rows: list[str]
    qualifiers: list[str]
    values: list[str]
    small_times: list[int]

    @property
    def family_names(self) -> list[str]: ...


class Maker:
    """Makes trees; without the filters that `without` names."""

    def __init__(self, rng: random.Random, world: World, without: Sequence[str] = ()) -> None:
        self._r, self._w = rng, world
        self._names = [name for name in _NAMES if name not in without]

    def tree(self, depth: int = 3) -> Tree:
        x = self._r.random()
        if depth == 0 or x < 0.45:
            return self._leaf()
        if x < 0.55:
            return (self._r.choice(["SKIP", "WHILE"]), self.tree(depth - 1))
        members = [self.tree(depth - 1) for _ in range(self._r.choice([2, 2, 2, 3]))]
        return (self._r.choice(["AND", "OR"]), members)

    def _leaf(self) -> Tree:
        name = self._r.choice(self._names)
        compared = {"RowFilter": "rows", "FamilyFilter": "family_names", "QualifierFilter": "qualifiers"}
        if name in compared:
            return ("F", name, self._comparison(getattr(self._w, compared[name])))
        if name == "ValueFilter":
            return ("F", name, self._comparison(self._w.values))
        if name in ("SingleColumnValueFilter", "SingleColumnValueExcludeFilter", "ColumnValueFilter"):
            extra = [self._bool(), self._bool()] if name != "ColumnValueFilter" and self._r.random() < 0.5 else []
            return ("F", name, [*self._column(), *self._comparison(self._w.values), *extra])
        if name == "DependentColumnFilter":
            x = self._r.random()
            drop = [self._bool()] if x < 0.6 else []
            return ("F", name, [*self._column(), *drop, *(self._comparison(self._w.values) if x < 0.3 else [])])
        return ("F", name, self._simple(name))

    def _simple(self, name: str) -> list[Argument]:
        r, w = self._r, self._w
        match name:
            case "KeyOnlyFilter":
                return [self._bool()] if r.random() < 0.4 else []
            case "PrefixFilter":
                return [self._part(w.rows)]
            case "ColumnPrefixFilter":
                return [self._part(w.qualifiers)]
            case "MultipleColumnPrefixFilter":
                return [self._part(w.qualifiers) for _ in range(r.choice([1, 2, 3]))]
            case "ColumnCountGetFilter":
                return [self._number(1, 2, 3, 5)]
            case "PageFilter":
                return [self._number(0, 1, 2, 3, 100)]
            case "ColumnPaginationFilter":
                return [self._number(0, 1, 2, 3), self._number(0, 1, 2, 3)]
            case "InclusiveStopFilter":
                return [("s", r.choice(w.rows))]
            case "TimestampsFilter":
                return [("n", time) for time in r.sample(w.small_times, r.choice([1, 2, 3]))]
            case "ColumnRangeFilter":
                return [self._part(w.qualifiers), self._bool(), self._part(w.qualifiers), self._bool()]
        return []

    def _bool(self) -> Argument:
        return "b", self._r.random() < 0.5

    def _number(self, *numbers: int) -> Argument:
        return "n", self._r.choice(numbers)

    def _part(self, texts: list[str]) -> Argument:
        """One of them, or how it begins."""
        text = self._r.choice(texts)
        return "s", text[: self._r.choice([0, 1, 1, 2, 3])] if self._r.random() < 0.6 else text

    def _column(self) -> list[Argument]:
        return [("s", self._r.choice(self._w.family_names)), ("s", self._r.choice(self._w.qualifiers))]

    def _comparison(self, texts: list[str]) -> list[Argument]:
        operator = self._r.choice(_OPERATORS)
        kinds = ["binary", "binary", "binaryprefix"]
        kind = self._r.choice([*kinds, "regexstring", "substring"] if operator in ("=", "!=") else kinds)
        text = self._r.choice(texts)
        if kind in ("regexstring", "substring"):
            text = "".join(letter for letter in text if letter.isascii() and letter.isalnum())
            text = (self._r.choice(_PATTERNS) % text if kind == "regexstring" else text) or "a"
        elif kind == "binaryprefix" or self._r.random() < 0.1:
            text = text[: self._r.choice([0, 1, 1, 2])]
        return [("o", operator), ("s", f"{kind}:{text}")]


def _argument(argument: Argument) -> str:
    kind, x = argument
    if kind == "s":
        return "'" + x.replace("'", "''") + "'"
    return str(x).lower() if kind == "b" else str(x)


def text(tree: Tree, brackets: bool = False) -> str:
    """With `brackets` around everything inside, which HBase's parser understands whatever the operators are."""

    def inner(x: Tree, tight: bool) -> str:
        looser = _PRECEDENCE[x[0]] < _PRECEDENCE[tree[0]] or (tight and _PRECEDENCE[x[0]] == _PRECEDENCE[tree[0]])
        inside = text(x, brackets)
        return f"({inside})" if looser or (brackets and x[0] != "F") else inside

    if tree[0] == "F":
        return f"{tree[1]}({', '.join(map(_argument, tree[2]))})"
    if tree[0] in ("SKIP", "WHILE"):
        return f"{tree[0]} {inner(tree[1], False)}"
    return f" {tree[0]} ".join(inner(x, True) for x in tree[1])


def leaves(tree: Tree) -> list[str]:
    """The names of its filters and operators."""
    if tree[0] == "F":
        return [tree[1]]
    inside = [tree[1]] if tree[0] in ("SKIP", "WHILE") else tree[1]
    return [tree[0], *(name for x in inside for name in leaves(x))]


def smaller(tree: Tree) -> Iterator[Tree]:
    """Trees with something less."""
    if tree[0] in ("SKIP", "WHILE"):
        yield tree[1]
        for x in smaller(tree[1]):
            yield (tree[0], x)
    elif tree[0] in ("AND", "OR"):
        members = tree[1]
        yield from members
        for number, member in enumerate(members):
            before, after = members[:number], members[number + 1 :]
            if len(members) > 2:
                yield (tree[0], before + after)
            for x in smaller(member):
                yield (tree[0], [*before, x, *after])


def plain(tree: Tree) -> Tree:
    """As the model has its trees: arguments without their kinds."""
    if tree[0] == "F":
        return ("F", tree[1], [x for _, x in tree[2]])
    if tree[0] in ("SKIP", "WHILE"):
        return (tree[0], plain(tree[1]))
    return (tree[0], [plain(x) for x in tree[1]])
