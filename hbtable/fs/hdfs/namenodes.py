"""Several NameNodes, of which one is active: finds it, and believes none that was active before and does not know yet
(fs/active_namenode.py).

A file being written keeps the NameNode that made it. When that is away its writer fails, as it does when a DataNode is.

A frozen NameNode keeps calls waiting, and the library has no deadline. Its callers have (blocking_calls.py). Whoever
asks after the first of them has waited for `_SILENT_SECONDS` looks for another NameNode first.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar, final

from hbtable.errors import Stalled, Unavailable
from hbtable.fs.active_namenode import Belief, folders_to_edit, two_say_so
from hbtable.fs.hdfs.client import NativeClient, NativeReader, NativeStatus, NativeWriter, connect
from hbtable.fs.hdfs.errors import is_away, message
from hbtable.switches import switches

T = TypeVar("T")

_SILENT_SECONDS: Final = 2.0
_TRIES_OF_ONE: Final = "dfs.client.failover.max.attempts"
"""Beyond the first. Else one that is dead or standby is asked for seconds before the other is."""
_AS_IT_IS: Final = (1 << 64) - 1
"""The time of access: -1 in Java. A NameNode of Hadoop 2.7 that keeps none (dfs.namenode.accesstime.precision = 0)
refuses every other one."""
_CHANGES_OF_MIND: Final = 4
"""So many times one call finds that its NameNode is not active any more."""


@final
class _NameNode:
    """One address, and since when the calls wait that it has not answered."""

    __slots__ = ("address", "answered_seconds", "client", "waiting")

    def __init__(self, address: str, client: NativeClient) -> None:
        self.address = address
        self.client = client
        self.waiting: dict[object, float] = {}
        self.answered_seconds = float("-inf")

    def is_silent(self, now_seconds: float) -> bool:
        oldest = min(list(self.waiting.values()), default=now_seconds)
        return oldest < now_seconds - _SILENT_SECONDS and self.answered_seconds < oldest


@final
class ActiveNameNode:
    """Implements NativeClient by one client for each NameNode, which tries no other. Calls block, and are safe in many
    threads. `root`: the folder whose time is changed; `looks_only`: no time is changed."""

    def __init__(
        self,
        clients: Mapping[str, NativeClient],
        root: str,
        clock_seconds: Callable[[], float],
        wall_millis: Callable[[], int],
        looks_only: bool = False,
    ) -> None:
        self._namenodes = [_NameNode(address, client) for address, client in clients.items()]
        self._root = root
        self._clock_seconds = clock_seconds
        self._wall_millis = wall_millis
        self._looks_only = looks_only
        self._belief = Belief[_NameNode](threading.Lock())

    # ------------------------------------------------------------ the calls

    @switches
    def get_file_info(self, path: str) -> NativeStatus:
        return self._call(lambda client: client.get_file_info(path))

    @switches
    def list_status(self, path: str, recursive: bool) -> Iterable[NativeStatus]:
        """Whole: what is not listed is not there."""
        return self._call(lambda client: list(client.list_status(path, recursive)), denies=lambda found: True)

    @switches
    def read(self, path: str) -> NativeReader:
        return self._call(lambda client: client.read(path))

    @switches
    def create(self, path: str, replication: int) -> NativeWriter:
        tries: list[NativeClient] = []

        def create(client: NativeClient) -> NativeWriter:
            tries.append(client)
            return client.create(path, replication)

        try:
            return self._call(create, edits=True)
        except FileExistsError as error:
            if len(tries) == 1:
                raise
            raise Stalled(f"creating {path}: an earlier try may have been applied, its answer lost") from error

    @switches
    def recover_lease(self, path: str) -> bool:
        return self._call(lambda client: client.recover_lease(path))

    @switches
    def mkdirs(self, path: str) -> None:
        self._call(lambda client: client.mkdirs(path))

    @switches
    def rename(self, source: str, target: str, overwrite: bool) -> None:
        self._call(lambda client: client.rename(source, target, overwrite), edits=True)

    @switches
    def delete(self, path: str, recursive: bool) -> bool:
        return self._call(lambda client: client.delete(path, recursive), lambda deleted: not deleted, edits=True)

    @switches
    def set_times(self, path: str, modified_millis: int, accessed_millis: int) -> None:
        self._call(lambda client: client.set_times(path, modified_millis, accessed_millis))

    # ------------------------------------------------------------ which one

    @switches
    def _call(
        self, ask: Callable[[NativeClient], T], denies: Callable[[T], bool] = lambda answer: False, edits: bool = False
    ) -> T:
        """`denies`: whether an answer says that something is not there. An error may say so as well. `edits`: another
        answer shows that it was the active one, and it must not be asked again."""
        why = ""
        for _ in range(_CHANGES_OF_MIND):
            namenode = self._believed()
            try:
                answer = self._ask(namenode, ask)
                if denies(answer):
                    self._prove(namenode)
                elif edits:
                    return answer
            except FileNotFoundError:
                if self._is_active(namenode):
                    raise
                continue
            except Exception as error:
                if not is_away(error):
                    raise
                why = f"{namenode.address}: {message(error)}"
                self._belief.forget(namenode)
                continue
            if self._belief.active is namenode:
                return answer
            # Another one was found active while this one thought about it.
        raise self._none_is_active([why])

    @switches
    def _believed(self) -> _NameNode:
        """The NameNode to be asked: the last one that was active, or another if that is silent or gone."""
        last = self._belief.active
        if last is not None and not last.is_silent(self._clock_seconds()):
            return last
        reasons = []
        for namenode in self._in_turn(last):
            try:
                self._prove(namenode)
            except Exception as error:
                if not is_away(error):
                    raise
                reasons.append(f"{namenode.address}: {message(error)}")
                continue
            self._belief.proved(namenode, last)
            return self._belief.active or namenode
        if last is not None:
            return last  # nobody took its place: it may yet answer
        raise self._none_is_active(reasons)

    def _in_turn(self, last: _NameNode | None) -> list[_NameNode]:
        """All but the last one; those that were silent come last."""
        now = self._clock_seconds()
        return sorted((one for one in self._namenodes if one is not last), key=lambda one: one.is_silent(now))

    @switches
    def _is_active(self, namenode: _NameNode) -> bool:
        """Whether it is still active; else it is forgotten."""
        try:
            self._prove(namenode)
        except Exception as error:
            if not is_away(error):
                raise
            self._belief.forget(namenode)
            return False
        return True

    @switches
    def _prove(self, namenode: _NameNode) -> None:
        """An edit, which only the active one can make. hdfs-native's errors."""
        if self._looks_only:
            self._look_at_others(namenode)
            return
        millis = self._wall_millis()
        for folder in folders_to_edit(self._root):
            try:
                self._ask(namenode, lambda client, folder=folder: client.set_times(folder, millis, _AS_IT_IS))  # type: ignore[misc]
                return
            except FileNotFoundError:
                continue

    @switches
    def _look_at_others(self, namenode: _NameNode) -> None:
        """An error of one that is away when it is not active, or another one says that it is, too."""
        self._ask(namenode, self._look)
        for other in self._in_turn(namenode):
            if other.is_silent(self._clock_seconds()):
                continue
            if self._says_so(other):
                raise ConnectionError(two_say_so(namenode.address, other.address))

    @switches
    def _says_so(self, namenode: _NameNode) -> bool:
        """Whether it says that it is active."""
        try:
            self._ask(namenode, self._look)
        except Exception as error:  # noqa: BLE001  the active one may refuse this user, say
            return not is_away(error)
        return True

    @switches
    def _look(self, client: NativeClient) -> None:
        """The errors of a NameNode that is not active."""
        try:
            client.get_file_info(self._root)
        except FileNotFoundError:
            pass

    @switches
    def _ask(self, namenode: _NameNode, ask: Callable[[NativeClient], T]) -> T:
        call = object()
        namenode.waiting[call] = self._clock_seconds()
        try:
            return ask(namenode.client)
        finally:
            namenode.waiting.pop(call, None)
            namenode.answered_seconds = self._clock_seconds()

    def _none_is_active(self, reasons: list[str]) -> Unavailable:
        addresses = ", ".join(one.address for one in self._namenodes)
        return Unavailable(f"none of the NameNodes {addresses} is active now: {'; '.join(filter(None, reasons))}")


def open_client(
    namenodes: str,
    settings: Mapping[str, str],
    root: str,
    clock_seconds: Callable[[], float],
    wall_millis: Callable[[], int],
    looks_only: bool = False,
) -> NativeClient:
    """As connect(); `namenodes`: one address or several, joined by commas. The rest as ActiveNameNode's."""
    addresses = namenodes.split(",")
    if len(addresses) == 1:
        return connect(namenodes, settings)
    clients = {address: connect(address, {**settings, _TRIES_OF_ONE: "0"}) for address in addresses}
    return ActiveNameNode(clients, root, clock_seconds, wall_millis, looks_only)
