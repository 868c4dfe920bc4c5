"""The quotas in the lock service: one file beside the grants (lockservice.record_file), followed by tablet servers.

A change is in force everywhere as soon as the watch tells of it, or the file is read after a few seconds. While it
cannot be read or understood, the last quotas known stay in force.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import Corruption, HbtableError, UnsupportedFormat
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import LOCK_SUFFIX, QUOTAS, SERVERS
from hbtable.lockservice.record_file import RecordFile, RecordFollower, RecordKind
from hbtable.quotas import quotas_record
from hbtable.quotas.settings import NO_QUOTAS, Quotas
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0
_KIND: Final = RecordKind(
    QUOTAS,
    NO_QUOTAS,
    quotas_record.encode,
    quotas_record.decode,
    "quotas",
    "set some on namespaces instead of tables",
)


def quotas_file(session: Session) -> RecordFile[Quotas]:
    """The quotas, to be read and changed."""
    return RecordFile(session, _KIND)


@switches
def forget(session: Session, namespace: bytes = b"", table: bytes = b"") -> None:
    """Drops the quotas of a table or namespace that ends. Repeatable. A file of quotas that cannot be understood stops
    nobody."""
    try:
        quotas_file(session).change(lambda quotas: quotas.without(namespace, table))
    except (Corruption, UnsupportedFormat) as error:
        log.warning("quotas on %r could not be changed: %s", namespace or table, error)


@final
class WatchedQuotas(RecordFollower):
    """Follows the file, and the number of tablet servers, while a quota is shared by them."""

    def __init__(self, runtime: Runtime, session: Session, changed: Callable[[Quotas, int], None]) -> None:
        """`changed` gets the quotas and the number, before start() returns if there are any, and must not switch."""
        super().__init__(runtime, session, _LOOK_SECONDS, "quotas")
        self._file = quotas_file(session)
        self._changed = changed
        self._known: tuple[Quotas, int] = NO_QUOTAS, 1
        self._failure = ""

    @switches
    def refresh(self) -> None:
        try:
            quotas = self._file.read()
            found = quotas, self._servers() if any(one.cluster for one in quotas.throttles) else 1
        except HbtableError as error:
            message = f"the quotas stay as they are known, because they cannot be read: {error}"
            if message != self._failure:
                log.error("%s", message)
            self._failure = message
            return
        self._failure = ""
        if found != self._known:
            self._known = found
            self._changed(*found)

    @switches
    def _servers(self) -> int:
        return sum(name.endswith(LOCK_SUFFIX) for name in self._session.list(SERVERS))
