"""Writes down who was denied what, and who changed what others depend on: a line of JSON for each.

A call that reads or writes cells, or only asks something, leaves a line when it is denied; every other one always.
Of a connection that is let in by nobody there is one line, however often it calls. What was carried out is always
written down; of what was refused there are so many lines a minute for each user.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, final

from hbtable.access.user import acting_user
from hbtable.errors import AccessDenied
from hbtable.hbase import errors
from hbtable.hbase.admin.declared import DECLARED
from hbtable.hbase.audit_words import About, Words, about, shown
from hbtable.hbase.cell_methods import THRIFT1, THRIFT2
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.switches import switches

_CLIENT: Final[ContextVar[str]] = ContextVar("client", default="")
come_from: Final = _CLIENT.set
"""The calling task works for the client at this address from now on."""
calling_client: Final = _CLIENT.get
"""The address, with its port. Empty: this process works for nobody outside."""
_CLAIMED: Final[ContextVar[str]] = ContextVar("claimed", default="")
claim: Final = _CLAIMED.set
"""The client says that it is this user, and has not proved it yet. A refused login names him."""
DENIED: Final = errors.HBASE + "security.AccessDeniedException"

_OWN: Final = (
    "adminGet adminScan adminScanArrow adminAggregate adminMutate adminMutateRows adminCheckAndMutate adminMutateIf"
)
"""Of hbtable's service, on cells."""
_QUESTIONS: Final = (
    "getTableNames getTableNamesWithIsTableEnabled isTableEnabled getTableRegions getRegionInfo getColumnDescriptors "
    "getThriftServerType getClusterId "
    "tableExists isTableDisabled isTableAvailable getRegionLocation getAllRegionLocations listNamespaces "
    "getTableDescriptor getTableDescriptors getTableDescriptorsByPattern getTableDescriptorsByNamespace "
    "getTableNamesByPattern getTableNamesByNamespace getNamespaceDescriptor listNamespaceDescriptors "
    "adminTablets adminServers adminStatus adminNamespaces adminNamespace adminCompactionState adminIsOn "
    "adminTransitions adminDeadServers adminUnknownServers adminTables adminTable adminDecommissioned "
    "adminSlowRequests adminTabletHistory adminGrants adminWhoAmI"
)
"""Those that rpc/services.py declares, with `changes_nothing`, are not among them."""
UNHEARD: Final = frozenset(
    (*THRIFT1, *THRIFT2, *_OWN.split(), *_QUESTIONS.split(), *(n for n, one in DECLARED.items() if one.changes_nothing))
)
"""Methods that leave no line when they are carried out. One that is not among them does, also a new one."""
REFUSED_A_MINUTE: Final = 600
"""Lines about what was denied to one user or failed for him; of refused logins of those who said that they are one
user; of all together who said that they are somebody whom the server has not; and of those who said nothing."""


def lost_line(wall_millis: int, lost: int, why: str) -> str:
    """The line in the place of those that could not be written."""
    return json.dumps({"at": _at(wall_millis), "user": None, "call": "audit", "outcome": "failed", "lost": lost,
                       "why": why})  # fmt: skip


def _at(wall_millis: int) -> str:
    return datetime.fromtimestamp(wall_millis / 1000, UTC).isoformat(timespec="milliseconds")


@final
class AuditTrail:
    """Gives each line to `write`, which must not switch."""

    def __init__(
        self,
        write: Callable[[str], object],
        wall_millis: Callable[[], int],
        problem: Callable[[], str] = lambda: "",
        lost: Callable[[], int] = lambda: 0,
    ) -> None:
        """`problem`: the reason why lines cannot be written now, or ""; `lost`: how many never were."""
        self.problem = problem
        self.lost = lost
        self.knows: Callable[[str], bool] = lambda claimed: False
        """Whether somebody of this name is a user of this server."""
        self._write = write
        self._wall_millis = wall_millis
        self._minute = 0
        self._refused = Counter[str | None]()
        """By user in this minute, those apart who only say so; "": made-up users; None: those who name nobody."""
        self._left_out = Counter[str | None]()

    def denied(self, client: str, call: str, why: str) -> None:
        """`call`: a method, or `login`."""
        self._line(client, call, "denied", why=why)

    def users_changed(self, name: str, change: str) -> None:
        """The list of users was changed, where it is kept: nobody knows by whom."""
        self._line("", "users", "ok", {"holder": name, "change": change})

    def foreign_scanner(self, number: int, table: bytes, owner: str) -> None:
        """The acting user wanted to fetch from a scanner, or to close it, that is `owner`'s."""
        self._line(
            calling_client(),
            "scanner",
            "denied",
            {"scanner": number, "table": shown(table), "owner": owner},
            "only who opened a scanner may use it",
        )

    def _has_room(self, user: str | None) -> bool:
        """Nobody can fill the disk with what is refused to him: there are so many lines of it a minute, and the next
        line, whosever, counts those that were left out."""
        minute = self._wall_millis() // 60_000
        if minute != self._minute:
            self._minute = minute
            self._refused.clear()
        self._refused[user] += 1
        if self._refused[user] <= REFUSED_A_MINUTE:
            return True
        self._left_out[user] += 1
        return False

    def _share(self) -> str | None:
        """The share of somebody who has proved nothing: one for each user whom the server has, so that nobody hides a
        guess at his password behind names that he makes up."""
        claimed = _CLAIMED.get()
        if not claimed:
            return None
        return f"{claimed} (claimed)" if self.knows(claimed) else ""

    def watch(self, methods: Iterable[ThriftMethod], words: Words) -> None:
        """From now on each call of these methods leaves a line, but those of UNHEARD."""
        for method in methods:
            if method.name not in UNHEARD:
                method.call = self._watched(method.name, method.call, words)

    def _watched(self, name: str, call: Callable[..., object], words: Words) -> Callable[..., object]:
        @switches
        def watched(*arguments: Any) -> object:
            try:
                answer = call(*arguments)
            except Exception as error:
                why = getattr(error, "java_class", "") or type(error).__name__
                if isinstance(error, AccessDenied) or why == DENIED:
                    self._line(calling_client(), name, "denied", about(words, name, arguments), str(error))
                else:
                    self._line(calling_client(), name, "failed", about(words, name, arguments), f"{why}: {error}")
                raise
            self._line(calling_client(), name, "ok", about(words, name, arguments))
            return answer

        return watched

    def _line(self, client: str, call: str, outcome: str, on: About | None = None, why: str = "") -> None:
        user = acting_user()
        if outcome != "ok" and not self._has_room(user.name if user else self._share()):
            return
        line: dict[str, object] = {
            "at": _at(self._wall_millis()),
            "user": user.name if user else None,
            "from": client,
            "call": call,
        }
        if user is None and _CLAIMED.get():
            line["claimed"] = shown(_CLAIMED.get())
        if user is not None and user.through:
            line["through"] = user.through
        if on:
            line["on"] = on
        line["outcome"] = outcome
        if self._left_out:
            line["left_out"] = self._left_out.total()
            if users := {name: count for name, count in self._left_out.items() if name}:
                line["left_out_of"] = users
            self._left_out.clear()
        if why:
            line["why"] = shown(why)
        self._write(json.dumps(line))
