"""The grants in the lock service: one file (lockservice.record_file), followed by whoever checks calls.

It is read every half second, and what was read is good for one second from when it was asked for, as what Chubby's
clients keep is good for a lease. A check that finds it older reads the file first, and lets nobody but superusers in
while it cannot be read. So a revoked right is gone everywhere within a second of the revoke's answer, whatever a
process or the lock service is kept busy or cut off by. A file that cannot be understood grants nothing: superusers
alone may do something.

The file and METADATA are two: a grant to a table that is being dropped must not come through to the next table of its
name. So whoever grants reads the file, then looks whether the table exists, then writes by compare-and-set. Whoever
drops or creates the table says so in METADATA first, and then writes the file, changed or not: a grant that has looked
before that finds another version of the file, and begins anew.

The file has room for so many grants, and whoever administers one table may make as many as he likes. So the grants of
one table have a part of the room, as have those of a namespace itself, and the last part is kept for the creators of
tables.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.access import grants_record
from hbtable.access.actions import EVERY_ACTION
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.errors import Corruption, LimitExceeded, Unavailable, UnsupportedFormat
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import GRANTS
from hbtable.lockservice.record_file import MOST_BYTES, RecordFile, RecordFollower, RecordKind
from hbtable.runtime.fresh_copy import FreshCopy
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_GOOD_SECONDS: Final = 1.0
"""Promised: a change is in force everywhere so soon."""
_UNKNOWN: Final = (
    "nobody but superusers may do anything now, because the permissions are kept in the lock service, and it cannot be "
    "asked: {}"
)
_MOST_OF_ONE_BYTES: Final = 60_000
"""Of a table with its families and columns, and of a namespace without its tables."""
_KEPT_BYTES: Final = 200_000
"""For the rights that creators of tables get: some thousand tables."""
_FEWER: Final = "grant to groups instead of users, to tables instead of columns"
_KIND: Final = RecordKind(
    GRANTS,
    NO_GRANTS,
    grants_record.encode,
    grants_record.decode,
    "permissions",
    _FEWER,
)


def grants_file(session: Session) -> RecordFile[Grants]:
    """The grants, to be read and changed."""
    return RecordFile(session, _KIND)


def with_grant(grants: Grants, holder: str, scope: Scope, actions: int, merge: bool = True) -> Grants:
    """As Grants.with_grant, of a user's own will. LimitExceeded where it would take the room of others. What there is
    already may always be changed and taken away."""
    after = grants.with_grant(holder, scope, actions, merge)
    if holder in grants.at(scope):
        return after
    whole = of_table(scope.table) if scope.table else Scope(scope.namespace)
    size = grants_record.size_bytes(after, after.of_table[scope.table] if scope.table else (whole,))
    if whole != GLOBAL and size > _MOST_OF_ONE_BYTES:
        raise LimitExceeded(
            f"the permissions on {whole} would take {size} bytes, and {_MOST_OF_ONE_BYTES} is the most: {_FEWER}"
        )
    size = len(grants_record.encode(after))
    if size > MOST_BYTES - _KEPT_BYTES:
        raise LimitExceeded(
            f"the permissions of this cluster would take {size} bytes, and {MOST_BYTES - _KEPT_BYTES} is the most "
            f"beside those of creators of tables: {_FEWER}"
        )
    return after


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
        grants_file(session).overtake(edit)
    except (Corruption, UnsupportedFormat) as error:
        log.warning("permissions on %s could not be changed: %s", what, error)


@final
class WatchedGrants(RecordFollower):
    """The grants as this process knows them: `now` is read by every check, and follows the file."""

    def __init__(self, runtime: Runtime, session: Session, changed: Callable[[Grants], None]) -> None:
        """`changed` is called with the grants before start() returns, if they can be read, and with each others that
        come."""
        super().__init__(runtime, session, _LOOK_SECONDS, "grants")
        self._file = grants_file(session)
        self.copy = FreshCopy(runtime, self._read, _GOOD_SECONDS, changed)
        """Whether a call may be checked by the grants that are known, it says."""
        self._said = ""
        """The fault that the log has already."""

    @switches
    def catch_up(self) -> None:
        """On return the grants that are known may decide a call that came before. Unavailable. Calls that wait at the
        same time share one read."""
        try:
            self.copy.catch_up()
        except Unavailable as error:
            raise Unavailable(_UNKNOWN.format(error)) from error

    @switches
    def change(self, edit: Callable[[Grants], Grants]) -> None:
        """As RecordFile.change; in force in this process on return."""
        self._file.change(edit)
        self.copy.outdate()
        self.refresh()

    @switches
    def refresh(self) -> None:
        self.copy.refresh()
        if self.copy.failure:
            self._say(_UNKNOWN.format(self.copy.failure))

    @switches
    def _read(self) -> Grants:
        try:
            found = self._file.read(latest=True)
        except (Corruption, UnsupportedFormat) as error:
            self._say(f"nobody but superusers has any permission, because they cannot be read: {error}")
            return NO_GRANTS
        self._say("")
        return found

    def _say(self, failure: str) -> None:
        if failure and failure != self._said:
            log.error("%s", failure)
        self._said = failure
