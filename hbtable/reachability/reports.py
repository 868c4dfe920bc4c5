"""Reports of observers about those that they do not reach: locks of the lock service, which vanish with their
observers.

/unreachable/<server>_<observer>    the observer, a tablet server or `master`, does not reach this server
/unreachable/<server>_isolated      this server reaches nobody, by its own word
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from hbtable.errors import Conflict
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import UNREACHABLE
from hbtable.reachability.evidence import Reports
from hbtable.switches import switches

_ISOLATED: Final = "isolated"


def report_of(server: str, observer: str) -> str:
    return f"{UNREACHABLE}/{server}_{observer}"


def isolation_of(server: str) -> str:
    return f"{UNREACHABLE}/{server}_{_ISOLATED}"


@switches
def read_reports(session: Session) -> Reports:
    """Reads what the roles say now of each other. Unavailable, LockLost."""
    unreached: defaultdict[str, set[str]] = defaultdict(set)
    isolated: set[str] = set()
    for name in session.list(UNREACHABLE):
        server, _, observer = name.partition("_")
        if observer == _ISOLATED:
            isolated.add(server)
        elif observer:
            unreached[server].add(observer)
    return Reports({server: frozenset(observers) for server, observers in unreached.items()}, frozenset(isolated))


class OwnReports:
    """The reports of one observer."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: dict[str, bool] = {}
        """Whether it is certain that it stands."""

    @switches
    def say(self, wanted: Iterable[str]) -> None:
        """These and no others stand on return. Any error: some of the difference is left; to be called again."""
        wanted = set(wanted)
        for path in [path for path in self._held if path not in wanted]:
            self._session.unlock(path)
            self._held.pop(path, None)
        for path in sorted(wanted):
            if not self._held.get(path, False):
                self._hold(path)

    @switches
    def _hold(self, path: str) -> None:
        self._held[path] = False  # from here on it may stand, whatever the answer
        try:
            self._session.lock(path)
        except Conflict:  # of the process before this one, whose session has not ended yet
            self._held.pop(path, None)
        else:
            self._held[path] = True
