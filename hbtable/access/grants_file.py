"""The grants in the lock service, as Chubby keeps its lists: one file, changed by compare-and-set, watched by whoever
checks calls.

A watch is a hint that may be late or lost, so the file is read every half second as well: a revoked right is gone
everywhere within a second of the revoke's answer. While the lock service cannot be reached the last grants known stay
in force; its server may answer nobody then in any case (tabletserver.suspension). A file that cannot be understood
grants nothing: superusers alone may do something.

The file and METADATA are two: a grant to a table that is being dropped must not come through to the next table of its
name. So whoever grants reads the file, then looks whether the table exists, then writes by compare-and-set. Whoever
drops or creates the table says so in METADATA first, and then writes the file, changed or not: a grant that has looked
before that finds another version of the file, and begins anew.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.access import grants_record
from hbtable.access.actions import EVERY_ACTION
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.scopes import Scope, of_table
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
        """The grants from now on; durable on return. `edit` may *switch*, and what it looks up holds for the change;
        it is called again when somebody else was quicker. LimitExceeded when they would be too many for one file;
        Corruption, UnsupportedFormat."""
        return self._change(edit, always=False)

    @switches
    def overtake(self, edit: Callable[[Grants], Grants]) -> Grants:
        """As change(); and each other change that has read the file before, and has not written it yet, reads it again,
        even if this one changes nothing."""
        return self._change(edit, always=True)

    @switches
    def _change(self, edit: Callable[[Grants], Grants], always: bool) -> Grants:
        while True:
            try:
                return self._changed(edit, always)
            except AlreadyExists:  # a Conflict is one, too
                continue

    @switches
    def _changed(self, edit: Callable[[Grants], Grants], always: bool) -> Grants:
        try:
            file = self._session.read(GRANTS)
        except FileNotFound:
            if edit(NO_GRANTS) == NO_GRANTS:
                return NO_GRANTS
            # Empty at first: a file that is made at once with its grants could not be overtaken.
            self._session.create(GRANTS, _encoded(NO_GRANTS))
            file = self._session.read(GRANTS)
        known = grants_record.decode(file.data, GRANTS)
        edited = edit(known)
        if always or edited != known:
            self._session.write(GRANTS, _encoded(edited), file.version)
        return edited


@switches
def forget(session: Session, *gone: Scope) -> None:
    """Namespaces, tables or families of one end, and so do the rights to them; or they begin, and nobody has any right
    to them. Repeatable. METADATA says so first, or before anybody can have rights to them. A file of grants that cannot
    be understood grants nothing, and is in nobody's way."""

    def edit(grants: Grants) -> Grants:
        for scope in gone:
            grants = grants.without_below(scope)
        return grants

    _overtake(session, edit, ", ".join(map(str, gone)))


@switches
def begin_table(session: Session, name: bytes, creator: str) -> None:
    """The table begins: its creator has every right to it, if there is one, and nobody else has a right of its own to
    it. METADATA says first that it is being created. LimitExceeded."""
    scope = of_table(name)

    def edit(grants: Grants) -> Grants:
        grants = grants.without_below(scope)
        return grants.with_grant(creator, scope, EVERY_ACTION) if creator else grants

    _overtake(session, edit, str(scope))


@switches
def _overtake(session: Session, edit: Callable[[Grants], Grants], what: str) -> None:
    try:
        GrantsFile(session).overtake(edit)
    except (Corruption, UnsupportedFormat) as error:
        log.warning("permissions on %s could not be changed: %s", what, error)


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
