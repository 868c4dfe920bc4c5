"""Asking the NameNodes, of which one is active: a standby answers 403 StandbyException, a dead one nothing.

The rule for repeating: a request that no server can have acted on (NotSent, standby, starting, safe mode) goes to the
next address, whatever it asks. One whose answer was lost is repeated only if the caller says that doing it twice does
no harm, and the caller then hears that it was (`repeated`): a rename's "source not found" may be its own doing.

The rule for believing, where there are several, is that of fs/active_namenode.py.
"""

from typing import Final, NamedTuple, final

from hbtable.errors import Stalled, Unavailable
from hbtable.fs.active_namenode import Belief, folders_to_edit, two_say_so
from hbtable.fs.blocking_calls import BlockingCalls
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.requests import (
    OK,
    HadoopError,
    Http,
    NoAnswer,
    NotSent,
    WebHdfsRequest,
    WebHdfsResponse,
    boolean_of,
    remote_error,
    target_of,
)
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

GRACE_SECONDS: Final = 1.0
"""So much later than `Http` gives up itself does Calls give up its thread."""

_NAMES: Final = "webhdfs-names"
_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 1.0
_ASK_ANOTHER: Final = frozenset(("StandbyException",))
_ASK_LATER: Final = frozenset(("RetriableException", "SafeModeException", "NotReplicatedYetException"))
_BUSY: Final = (502, 503, 504)
_NOT_FOUND: Final = 404
_LISTS: Final = "?op=LISTSTATUS"


class NameNodeAnswer(NamedTuple):
    """An answer of a NameNode. `error` is None when it was done. `repeated`: an earlier try may have been done."""

    response: WebHdfsResponse
    error: HadoopError | None
    repeated: bool


def not_now(error: HadoopError) -> bool:
    """The server did nothing, and another or the same one will later."""
    return error.java_class in _ASK_ANOTHER or error.java_class in _ASK_LATER


@final
class NameNodes:
    """Asks the active NameNode. Remembers which address answered last. `identity` are the parameters that say
    who asks. `root`: the folder whose time one of several has to change; "": any that answers is believed.
    `looks_only`: no time is changed."""

    def __init__(
        self,
        runtime: Runtime,
        calls: BlockingCalls,
        http: Http,
        hosts: tuple[str, ...],
        options: WebHdfsOptions,
        identity: dict[str, str],
        root: str = "",
        looks_only: bool = False,
    ) -> None:
        self._runtime = runtime
        self._calls = calls
        self._http = http
        self._hosts = hosts
        self._options = options
        self._identity = identity
        self._root = root if len(hosts) > 1 else ""
        self._looks_only = looks_only
        self._belief = Belief[str]()
        self._current = 0

    @switches
    def ask(
        self, method: str, path: str, operation: str, repeat: bool = True, parameters: dict[str, str] | None = None
    ) -> NameNodeAnswer:
        """*Switches.* `path` is absolute. Unavailable: nothing was done. Stalled: unknown whether it was."""
        return self.ask_target(method, target_of(path, operation, self._identity | (parameters or {})), repeat)

    @switches
    def ask_target(self, method: str, target: str, repeat: bool) -> NameNodeAnswer:
        """*Switches.* The same for any path and query."""
        ends = self._runtime.clock_seconds() + self._options.failover_seconds
        lost = False
        pause = _PAUSE_SECONDS
        asked = 0
        while True:
            host = self._hosts[self._current % len(self._hosts)]
            answered, why = self._believed(method, host, target)
            if isinstance(answered, WebHdfsResponse):
                error = remote_error(answered)
                if error is None or not (not_now(error) or error.status in _BUSY):
                    return NameNodeAnswer(answered, error, lost)
                why = f"{host} says {error.java_class or error.message}"
                # A gateway's "no answer from behind" says nothing about what happened behind.
                answered = not_now(error)
            if not answered:
                lost = True
                if not repeat:
                    raise Stalled(f"{why}; whether it took effect is unknown")
            if host == self._hosts[self._current % len(self._hosts)]:  # or another task has moved on already
                self._current += 1
            asked += 1
            if self._runtime.clock_seconds() >= ends:
                raise (Stalled if lost else Unavailable)(f"no NameNode of {', '.join(self._hosts)} answers: {why}")
            if asked % len(self._hosts) == 0:
                self._runtime.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @switches
    def _believed(self, method: str, host: str, target: str) -> tuple[WebHdfsResponse | bool, str]:
        """As _once. An answer of one of several NameNodes only if it is active."""
        if self._root and self._belief.active != host:
            last = self._belief.active
            refusal, why = self._proof(host)
            if refusal is not None:
                return refusal, why
            if not self._belief.proved(host, last):
                return True, f"another NameNode than {host} was found active while it made its edit"
        answered, why = self._once(method, host, target)
        if self._root and method == "GET" and self._belief.active != host:
            return True, f"another NameNode than {host} is active since it was asked"
        if self._root and isinstance(answered, WebHdfsResponse) and _denies(target, answered):
            refusal, reason = self._proof(host)
            if refusal is not None:
                self._belief.forget(host)
                return True, f"{host} was active before, and is not now: {reason}"
        return answered, why

    @switches
    def _proof(self, host: str) -> tuple[WebHdfsResponse | bool | None, str]:
        """None when this NameNode made an edit, which only the active one can. Else as _once, and no answer is as good
        as a refusal: nothing was asked yet."""
        if self._looks_only:
            return self._look_at_others(host)
        edit = {"modificationtime": str(self._runtime.wall_millis()), "accesstime": "-1"}
        answered: WebHdfsResponse | bool = True
        why = ""
        for folder in folders_to_edit(self._root):
            answered, why = self._once("PUT", host, target_of(folder, "SETTIMES", self._identity | edit))
            if not isinstance(answered, WebHdfsResponse):
                return True, why
            if answered.status in OK:
                return None, ""
            if answered.status != _NOT_FOUND:
                break
        return answered, why

    @switches
    def _look_at_others(self, host: str) -> tuple[WebHdfsResponse | bool | None, str]:
        """The same without an edit: it says that it is active, and none of the others does."""
        for asked in (host, *(one for one in self._hosts if one != host)):
            answered, why = self._once("GET", asked, target_of(self._root, "GETFILESTATUS", self._identity))
            says_so = isinstance(answered, WebHdfsResponse) and answered.status in (*OK, _NOT_FOUND)
            if asked == host and not says_so:
                return answered or True, why
            if asked != host and says_so:
                return True, two_say_so(host, asked)
        return None, ""

    @switches
    def _once(self, method: str, host: str, target: str) -> tuple[WebHdfsResponse | bool, str]:
        """The response, or: True when nothing was done, False when that is unknown; and why."""
        seconds = self._options.names_seconds
        request = WebHdfsRequest(method, host, target, seconds=seconds, keep_open=True)
        try:
            response = self._calls.call(_NAMES, seconds + GRACE_SECONDS, self._http, request)
        except (NotSent, Unavailable) as error:
            return True, str(error)
        except (NoAnswer, Stalled) as error:
            return False, str(error)
        if not response.complete:
            return False, f"{host}: the answer was cut off"
        return response, ""


def _denies(target: str, response: WebHdfsResponse) -> bool:
    """An answer that says that something is not there; a listing says so of all that it lacks."""
    return response.status == _NOT_FOUND or _LISTS in target or boolean_of(response) is False
