"""Messages between a session and the lock service in another process of this machine.

    length (4 B, big-endian)  JSON, in ISO 8859-1, so that a character stands for each byte of a file

    call      [number, operation, argument...]
    answer    [number, value]   or   [number, null, error's class, message]
    hint      [0, number of a watch]      something below the watch's folder has changed

Both sides are of one program, which the launcher starts: no version is told, and none is kept.
"""

import json
import struct
from collections.abc import Callable
from typing import Any, Final

from hbtable import errors
from hbtable.errors import Corruption, HbtableError
from hbtable.lockservice.interface import VersionedFile
from hbtable.switches import switches

_LENGTH: Final = struct.Struct(">I")
HINT: Final = 0
CLOSE: Final = "close"
OPEN: Final = "open"


def encoded(fields: list[Any]) -> bytes:
    body = json.dumps(fields, ensure_ascii=False, default=_text).encode("latin-1")
    return _LENGTH.pack(len(body)) + body


def _text(data: object) -> str:
    if not isinstance(data, bytes):
        raise TypeError(f"{data!r} cannot be sent")
    return data.decode("latin-1")


@switches
def read_message(receive: Callable[[int], bytes]) -> list[Any] | None:
    """*Switches.* None: the other side has ended. `receive`: up to so many bytes; b"" at the end. OSError."""
    head = _exactly(receive, _LENGTH.size)
    body = _exactly(receive, _LENGTH.unpack(head)[0]) if head else b""
    if not body:
        return None
    fields: list[Any] = json.loads(body.decode("latin-1"))
    return fields


@switches
def _exactly(receive: Callable[[int], bytes], size: int) -> bytes:
    """b"" when the other side ends before."""
    gathered = bytearray()
    while len(gathered) < size:
        piece = receive(size - len(gathered))
        if not piece:
            return b""
        gathered += piece
    return bytes(gathered)


def as_file(value: list[Any] | None) -> VersionedFile | None:
    """A file as an answer has it."""
    return None if value is None else VersionedFile(as_bytes(value[0]), value[1])


def as_bytes(text: str) -> bytes:
    return text.encode("latin-1")


def described(error: HbtableError) -> list[Any]:
    """The part of an answer that tells of an error."""
    if isinstance(error, Corruption):
        return [None, type(error).__name__, error.reason, error.path, error.offset]
    return [None, type(error).__name__, str(error)]


def raised(answer: list[Any]) -> HbtableError:
    """The error that described() told of."""
    _, kind, message, *rest = answer
    found = getattr(errors, kind, HbtableError)
    if issubclass(found, Corruption):
        return found(rest[0], rest[1], message)
    error: HbtableError = found(message)
    return error
