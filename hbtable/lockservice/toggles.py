"""Toggles that an operator turns on and off for the whole cluster: a file each, so that they outlive every process; on
without it."""

from typing import Final, final

from hbtable.errors import AlreadyExists, FileNotFound, InvalidRequest, UnsupportedFormat
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import MERGES, SPLITS
from hbtable.switches import switches

_ON: Final = b"on"
_OFF: Final = b"off"


@final
class Toggle:
    """A file that says `on` or `off`. `path`: of its file (paths.py)."""

    def __init__(self, session: Session, path: str) -> None:
        self._session = session
        self._path = path

    @switches
    def is_on(self) -> bool:
        """*Switches.*"""
        try:
            return self._says(self._session.read(self._path).data)
        except FileNotFound:
            return True

    @switches
    def turn(self, on: bool) -> bool:
        """Whether it was on before. Durable on return."""
        while True:
            try:
                return self._turned(_ON if on else _OFF)
            except AlreadyExists:
                continue  # somebody else turned it at the same moment: this comes after it

    @switches
    def _turned(self, data: bytes) -> bool:
        """AlreadyExists: the file is another one by now."""
        try:
            file = self._session.read(self._path)
        except FileNotFound:
            self._session.create(self._path, data)
            return True
        before = self._says(file.data)
        if file.data != data:
            self._session.write(self._path, data, file.version)
        return before

    def _says(self, data: bytes) -> bool:
        if data not in (_ON, _OFF):
            raise UnsupportedFormat.unknown(self._path, "position", data[:40], (_ON, _OFF))
        return data == _ON


@final
class OperatorToggles:
    """The toggles that need no master: `splits` and `merges`. InvalidRequest for another name. *Switches.*"""

    def __init__(self, session: Session) -> None:
        self._toggles = {"splits": Toggle(session, SPLITS), "merges": Toggle(session, MERGES)}

    @switches
    def is_on(self, name: str) -> bool:
        return self._named(name).is_on()

    @switches
    def turn(self, name: str, on: bool) -> bool:
        """As Switch.turn."""
        return self._named(name).turn(on)

    def _named(self, name: str) -> Toggle:
        found = self._toggles.get(name)
        if found is None:
            raise InvalidRequest(f"there is no switch {name!r}, only {' and '.join(self._toggles)}")
        return found
