"""The grants in the lock service, as Chubby keeps its lists: one file, changed by compare-and-set, watched by whoever
checks calls.

A watch is a hint that may be late or lost, so the file is read every half second as well: a revoked right is gone
everywhere within a second of the revoke's answer. While the lock service cannot be reached the last grants known stay
in force; its server may answer nobody then in any case (tabletserver.suspension). A file that cannot be understood
grants nothing: superusers alone may do something.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.access import grants_record
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.scopes import Scope
from hbtable.errors import (
    AlreadyExists,
    Corruption,
    FileNotFound,
    HbtableError,
    LimitExceeded,
    UnsupportedFormat,
)
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ACCESS, GRANTS
from hbtable.runtime.interface import Event, Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_MOST_BYTES: Final = 900_000
"""Of the record: a file of the lock service has no more than 1,000,000."""


@final
class GrantsFile:
    """Read and changed; nothing is remembered here."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @switches
    def read(self) -> Grants:
        """As they are now. Corruption, UnsupportedFormat."""
        try:
            return grants_record.decode(self._session.read(GRANTS).data, GRANTS)
        except FileNotFound:
            return NO_GRANTS

    @switches
    def change(self, edit: Callable[[Grants], Grants]) -> Grants:
        """The grants from now on; durable on return. `edit` is called again when somebody else was quicker.
        LimitExceeded when they would be too many for one file; Corruption, UnsupportedFormat."""
        while True:
            try:
                return self._changed(edit)
            except AlreadyExists:  # a Conflict is one, too
                continue

    @switches
    def _changed(self, edit: Callable[[Grants], Grants]) -> Grants:
        try:
            file = self._session.read(GRANTS)
        except FileNotFound:
            edited = edit(NO_GRANTS)
            if edited != NO_GRANTS:
                self._session.create(GRANTS, _encoded(edited))
            return edited
        known = grants_record.decode(file.data, GRANTS)
        edited = edit(known)
        if edited != known:
            self._session.write(GRANTS, _encoded(edited), file.version)
        return edited


@switches
def forget(session: Session, gone: Scope) -> None:
    """A namespace, table or family comes to an end, and so do the rights to it: whatever gets its name later is another
    one. Repeatable. A file of grants that cannot be understood grants nothing, and is in nobody's way."""
    try:
        GrantsFile(session).change(lambda grants: grants.without_below(gone))
    except (Corruption, UnsupportedFormat) as error:
        log.warning("permissions on %s could not be removed: %s", gone, error)


def _encoded(grants: Grants) -> bytes:
    data = grants_record.encode(grants)
    if len(data) > _MOST_BYTES:
        raise LimitExceeded(
            f"the permissions of this cluster would take {len(data)} bytes, and {_MOST_BYTES} is the most: grant to "
            "groups instead of users, to tables instead of columns"
        )
    return data


@final
class WatchedGrants:
    """The grants as this process knows them: `now` is read by every check, and follows the file."""

    def __init__(self, runtime: Runtime, session: Session, changed: Callable[[Grants], None]) -> None:
        """`changed` is called with the grants before start() returns, and with each others that come."""
        self._runtime = runtime
        self._session = session
        self._file = GrantsFile(session)
        self._changed = changed
        self._known: Grants | None = None
        self._failure = ""
        self._look: Event = runtime.event()
        self._task: Task | None = None

    @switches
    def start(self) -> None:
        self.refresh()
        self._session.watch(ACCESS, self._look.set)
        self._task = supervise(self._runtime, self._follow, name="grants")

    @switches
    def stop(self) -> None:
        if self._task is not None:
            self._task.kill()
            self._task = None

    @switches
    def change(self, edit: Callable[[Grants], Grants]) -> None:
        """As GrantsFile.change; in force in this process on return."""
        self._take(self._file.change(edit))

    @switches
    def refresh(self) -> None:
        """Reads the file now."""
        try:
            found = self._file.read()
        except (Corruption, UnsupportedFormat) as error:
            self._fail(f"nobody but superusers has any permission, because they cannot be read: {error}")
            self._take(NO_GRANTS)
        except HbtableError as error:
            self._fail(f"the permissions stay as they are known, because the lock service cannot be asked: {error}")
            if self._known is None:
                self._take(NO_GRANTS)
        else:
            self._failure = ""
            self._take(found)

    def _take(self, found: Grants) -> None:
        if found != self._known:
            self._known = found
            self._changed(found)

    def _fail(self, message: str) -> None:
        if message != self._failure:
            log.error("%s", message)
        self._failure = message

    @switches
    def _follow(self) -> None:
        while True:
            self._look.wait(_LOOK_SECONDS)
            self._look.clear()
            self.refresh()
