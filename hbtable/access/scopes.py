"""Scopes, at which rights are held. A right at a scope holds for everything below it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from hbtable.model.names import shown, split


class Scope(NamedTuple):
    """Everything, a namespace, a table, a family or a column. Whatever is wider than `table` is named as well."""

    namespace: bytes = b""
    table: bytes = b""
    """Canonical."""
    family: bytes = b""
    qualifier: bytes | None = None
    """None: the whole family. A column's may be empty."""

    def widening(self) -> Iterator["Scope"]:
        """This one, and each that it is part of."""
        if self.qualifier is not None:
            yield self
        if self.family:
            yield Scope(self.namespace, self.table, self.family)
        if self.table:
            yield Scope(self.namespace, self.table)
        if self.namespace:
            yield Scope(self.namespace)
        yield GLOBAL

    def holds(self, other: "Scope") -> bool:
        """Whether `other` is this one or a part of it."""
        return self in other.widening()

    def __str__(self) -> str:
        """For people."""
        if self.family:
            column = self.family if self.qualifier is None else self.family + b":" + self.qualifier
            what = "family" if self.qualifier is None else "column"
            return f"{what} {shown(column)} of table {shown(self.table)}"
        if self.table:
            return f"table {shown(self.table)}"
        return f"namespace {shown(self.namespace)}" if self.namespace else "everything"


GLOBAL: Final = Scope()


def of_table(name: bytes, family: bytes = b"", qualifier: bytes | None = None) -> Scope:
    """`name` is canonical."""
    return Scope(split(name)[0], name, family, qualifier)
