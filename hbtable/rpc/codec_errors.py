"""Every error of hbtable.errors as the struct RpcError, and back by class.

A class that the receiver does not know (a newer peer's, or one private to a package) becomes its nearest known
ancestor: what the receiver does next follows from that one.
"""

from typing import Final, NamedTuple

from hbtable import errors
from hbtable.errors import BadFilter, Corruption, HbtableError
from hbtable.rpc.codec_binary import BOOLEAN, INTEGER, TEXT, Field, Sequences, Struct

KNOWN: Final = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, HbtableError)
}


class RemoteError(NamedTuple):
    """RpcError's fields. `wrong_incarnation`: the call was meant for another server at this address."""

    classes: list[str]
    message: str
    path: str | None = None
    offset: int | None = None
    reason: str | None = None
    position: int | None = None
    wrong_incarnation: bool = False

    def raised(self) -> HbtableError:
        """The error itself."""
        kind = next((KNOWN[name] for name in self.classes if name in KNOWN), HbtableError)
        if issubclass(kind, Corruption):
            return kind(self.path or "?", self.offset or 0, self.reason if self.reason is not None else self.message)
        if issubclass(kind, BadFilter):
            return kind(self.message, -1 if self.position is None else self.position)
        return kind(self.message)


def described(error: HbtableError, wrong_incarnation: bool = False) -> RemoteError:
    """What is sent of an error."""
    classes = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, HbtableError)]
    if isinstance(error, Corruption):
        return RemoteError(classes, str(error), error.path, error.offset, error.reason)
    if isinstance(error, BadFilter):
        return RemoteError(classes, str(error), position=error.position)
    return RemoteError(classes, str(error), wrong_incarnation=wrong_incarnation)


RPC_ERROR: Final = Struct(
    [
        Field(1, "classes", Sequences(TEXT)),
        Field(2, "message", TEXT),
        Field(3, "path", TEXT, None),
        Field(4, "offset", INTEGER, None),
        Field(5, "reason", TEXT, None),
        Field(6, "position", INTEGER, None),
        Field(7, "wrongIncarnation", BOOLEAN, False),
    ],
    RemoteError,
)
