"""Counts the tablet servers that gave up lately: a file in the lock service, so that a network that comes and goes, or
a master that errs, never makes all of them end at once.

    /withdrawals    JSON: {"format": 1, "given_up": [[incarnation, milliseconds], ...]}
"""

import json
import logging
from typing import Any, Final

from hbtable.errors import AlreadyExists, Conflict, FileNotFound, UnsupportedFormat
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import WITHDRAWALS
from hbtable.reachability.evidence import limit
from hbtable.switches import switches

log = logging.getLogger(__name__)

_FORMAT: Final = 1
_TRIES: Final = 20


class Withdrawals:
    """Lets only some of the tablet servers give up within one period. `limit_seconds`: see ReachabilityOptions. Times
    are wall clocks': one that is wrong makes the limit narrower or lets one more server through, and does no other
    harm."""

    def __init__(self, session: Session, limit_seconds: float) -> None:
        self._session = session
        self._millis = round(limit_seconds * 1000)

    @switches
    def admit(self, server: str, living: int, now_millis: int) -> str:
        """Writes down that this server gives up, one of so many that live; why it may not, or "". Any error: it may
        not now."""
        for _ in range(_TRIES):
            known, version = self._read()
            recent = {name: at for name, at in known.items() if abs(now_millis - at) < self._millis}
            if server in recent:
                return ""
            if len(recent) >= limit(living):
                return f"{len(recent)} of {living} tablet servers gave up within {self._millis / 1000:g} s"
            data = _encoded({**recent, server: now_millis})
            try:
                if version:
                    self._session.write(WITHDRAWALS, data, version)
                else:
                    self._session.create(WITHDRAWALS, data)
            except (Conflict, AlreadyExists, FileNotFound):
                continue  # another server gave up at the same moment
            return ""
        return "too many tablet servers want to give up at once"

    @switches
    def _read(self) -> tuple[dict[str, int], int]:
        """And the version; 0: there is no file."""
        try:
            file = self._session.read(WITHDRAWALS)
        except FileNotFound:
            return {}, 0
        return _decoded(file.data), file.version


def _encoded(given_up: dict[str, int]) -> bytes:
    return json.dumps({"format": _FORMAT, "given_up": sorted(given_up.items())}, sort_keys=True).encode()


def _decoded(data: bytes) -> dict[str, int]:
    """One that is damaged says nothing. UnsupportedFormat."""
    try:
        fields: dict[str, Any] = json.loads(data)
        found = fields["format"]
        if found == _FORMAT:
            return {str(name): int(millis) for name, millis in fields["given_up"]}
    except (ValueError, KeyError, TypeError) as error:
        log.warning("%s is damaged, and is passed over: %s", WITHDRAWALS, error)
        return {}
    raise UnsupportedFormat.unknown(WITHDRAWALS, "format", found, _FORMAT)
