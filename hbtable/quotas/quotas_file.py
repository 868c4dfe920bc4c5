"""The quotas in the lock service: one file beside the grants, changed by compare-and-set, watched by tablet servers.

A change is in force everywhere as soon as the watch tells of it, which may be late or lost; so the file is read every
few seconds as well. While it cannot be read or understood, the last quotas known stay in force.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import (
    AlreadyExists,
    Corruption,
    FileNotFound,
    HbtableError,
    LimitExceeded,
    UnsupportedFormat,
)
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ACCESS, LOCK_SUFFIX, QUOTAS, SERVERS
from hbtable.quotas import quotas_record
from hbtable.quotas.settings import NO_QUOTAS, Quotas
from hbtable.runtime.interface import Event, Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0
_MOST_BYTES: Final = 900_000
"""Of the record: a file of the lock service has no more than 1,000,000."""


@final
class QuotasFile:
    """Read and changed; nothing is remembered here."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @switches
    def read(self) -> Quotas:
        """As they are now. Corruption, UnsupportedFormat."""
        try:
            return quotas_record.decode(self._session.read(QUOTAS).data, QUOTAS)
        except FileNotFound:
            return NO_QUOTAS

    @switches
    def change(self, edit: Callable[[Quotas], Quotas]) -> Quotas:
        """The quotas before; the change is durable on return. `edit` is called again when somebody else was quicker.
        LimitExceeded when they would be too many for one file; Corruption, UnsupportedFormat."""
        while True:
            try:
                return self._changed(edit)
            except AlreadyExists:  # a Conflict is one, too
                continue

    @switches
    def _changed(self, edit: Callable[[Quotas], Quotas]) -> Quotas:
        try:
            file = self._session.read(QUOTAS)
        except FileNotFound:
            edited = edit(NO_QUOTAS)
            if edited != NO_QUOTAS:
                self._session.create(QUOTAS, _encoded(edited))
            return NO_QUOTAS
        known = quotas_record.decode(file.data, QUOTAS)
        edited = edit(known)
        if edited != known:
            self._session.write(QUOTAS, _encoded(edited), file.version)
        return known


@switches
def forget(session: Session, namespace: bytes = b"", table: bytes = b"") -> None:
    """It ends, and so do the quotas on it. Repeatable. A file of quotas that cannot be understood is in nobody's
    way."""
    try:
        QuotasFile(session).change(lambda quotas: quotas.without(namespace, table))
    except (Corruption, UnsupportedFormat) as error:
        log.warning("quotas on %r could not be changed: %s", namespace or table, error)


def _encoded(quotas: Quotas) -> bytes:
    data = quotas_record.encode(quotas)
    if len(data) > _MOST_BYTES:
        raise LimitExceeded(
            f"the quotas of this cluster would take {len(data)} bytes, and {_MOST_BYTES} is the most: set some on "
            "namespaces instead of tables"
        )
    return data


@final
class WatchedQuotas:
    """Follows the file, and the number of tablet servers, while a quota is shared by them."""

    def __init__(self, runtime: Runtime, session: Session, changed: Callable[[Quotas, int], None]) -> None:
        """`changed` gets the quotas and the number, and must not switch."""
        self._runtime = runtime
        self._session = session
        self._file = QuotasFile(session)
        self._changed = changed
        self._known: tuple[Quotas, int] = NO_QUOTAS, 1
        self._failure = ""
        self._look: Event = runtime.event()
        self._task: Task | None = None

    @switches
    def start(self) -> None:
        """The quotas are known on return."""
        self.refresh()
        self._session.watch(ACCESS, self._look.set)
        self._task = supervise(self._runtime, self._follow, name="quotas")

    @switches
    def stop(self) -> None:
        if self._task is not None:
            self._task.kill()
            self._task = None

    @switches
    def refresh(self) -> None:
        """Reads the file now."""
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

    @switches
    def _follow(self) -> None:
        while True:
            self._look.wait(_LOOK_SECONDS)
            self._look.clear()
            self.refresh()
