"""Every error of hbtable.errors as the struct RpcError, and back by class.

A class that the receiver does not know (a newer peer's, or one private to a package) becomes its nearest known
ancestor: what the receiver does next follows from that one.
"""

from typing import Final, NamedTuple

from hbtable.errors import BadFilter, Corruption, DataDamaged, HbtableError, class_names, nearest_class
from hbtable.thrift.shapes import BINARY, BOOLEAN, INTEGER, TEXT, Field, Sequences, Struct


class RpcError(NamedTuple):
    """RpcError's fields. `wrong_incarnation`: the call was meant for another server at this address."""

    classes: list[str]
    message: str
    path: str | None = None
    offset: int | None = None
    reason: str | None = None
    position: int | None = None
    wrong_incarnation: bool = False
    first_row: bytes | None = None
    stop_row: bytes | None = None

    def raised(self) -> HbtableError:
        """The error itself."""
        kind = nearest_class(self.classes)
        if issubclass(kind, Corruption):
            reason = self.reason if self.reason is not None else self.message
            if issubclass(kind, DataDamaged):
                return kind(self.path or "?", self.offset or 0, reason, self.first_row or b"", self.stop_row or b"")
            return kind(self.path or "?", self.offset or 0, reason)
        if issubclass(kind, BadFilter):
            return kind(self.message, -1 if self.position is None else self.position)
        return kind(self.message)


def described(error: HbtableError, wrong_incarnation: bool = False) -> RpcError:
    """The message that carries an error to the caller."""
    classes = class_names(error)
    if isinstance(error, DataDamaged):
        return _of_damage(classes, error)._replace(first_row=error.first_row, stop_row=error.stop_row)
    if isinstance(error, Corruption):
        return _of_damage(classes, error)
    if isinstance(error, BadFilter):
        return RpcError(classes, str(error), position=error.position)
    return RpcError(classes, str(error), wrong_incarnation=wrong_incarnation)


def _of_damage(classes: list[str], error: Corruption) -> RpcError:
    return RpcError(classes, str(error), error.path, error.offset, error.reason)


RPC_ERROR: Final = Struct(
    [
        Field(1, "classes", Sequences(TEXT)),
        Field(2, "message", TEXT),
        Field(3, "path", TEXT, None),
        Field(4, "offset", INTEGER, None),
        Field(5, "reason", TEXT, None),
        Field(6, "position", INTEGER, None),
        Field(7, "wrongIncarnation", BOOLEAN, False),
        Field(8, "firstRow", BINARY, None),
        Field(9, "stopRow", BINARY, None),
    ],
    RpcError,
)
