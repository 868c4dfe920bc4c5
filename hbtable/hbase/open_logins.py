"""Connections that were let in once, by a password, a token or a certificate, and stay open: whether they would still
be let in.

Each call asks, and twice a second somebody looks at those that make none. A connection whose user was removed, whose
password was changed, or whose token or certificate has ended gets a sentence for an answer, and is closed some seconds
later: a client that finds a closed socket knows no reason. Over HTTP each request says for itself whose it is.
"""

from collections.abc import Callable, Iterable
from typing import Final, Protocol, final

from hbtable.access.accounts import Accounts
from hbtable.access.login import CertificateLogin, Login
from hbtable.access.user import User, acting_as
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.runtime.interface import Runtime
from hbtable.runtime.slices import with_pauses
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_LOOK_SECONDS: Final = 0.5
_STAYS_SECONDS: Final = 10.0
"""For the sentence."""
_AT_ONCE: Final = 1000
_NOBODY: Final = Accounts()


@final
class OpenLogin:
    """That of one connection. `user`: for whom it works, who may be another one."""

    __slots__ = ("_client", "_context", "_login", "_passed", "_user", "_verifier", "_why", "ended_at")

    def __init__(self, login: Login | CertificateLogin, user: User, client: str, context: ConnectionContext) -> None:
        self._login = login
        self._user = user
        self._client = client
        assert context.security.verifier is not None
        self._verifier = context.security.verifier
        self._context = context
        self._passed: Accounts | None = None
        """The list that had nothing against it."""
        self._why = ""
        self.ended_at: float | None = None
        """The time at which it was found out that the user would not be let in any more."""

    @switches
    def check(self) -> None:
        """NotAuthenticated; Unavailable while it cannot be known."""
        if self.is_over(self._verifier.accounts() if self._login.by_list else _NOBODY):
            raise NotAuthenticated(self._why)

    def is_over(self, accounts: Accounts) -> bool:
        """Whether this list, or an earlier one, would not let the user in. Leaves a line, once. Does not switch."""
        if self.ended_at is None and (accounts is not self._passed or self._login.may_expire):
            try:
                self._login.check(accounts, self._context.wall_millis())
                self._passed = accounts
            except NotAuthenticated as error:
                self._end(str(error))
        return self.ended_at is not None

    def _end(self, why: str) -> None:
        context = self._context
        self.ended_at = context.clock()
        self._why = f"this connection was let in as {self._login.user.name}, and is so no more: {why}"
        context.log_limiter.warning("the login of %s ended: %s", self._client, why)
        with acting_as(self._user):
            context.security.denied(self._client, "login", self._why)


def gate(context: ConnectionContext, host: str, login: OpenLogin | None, stream: Stream) -> Callable[[float], float]:
    """The gate that each call of a connection passes: it waits for its turn, and has the login checked. Overloaded;
    NotAuthenticated, Unavailable."""
    wait_for_turn = context.request_gate(host, stream)
    if login is None:
        return wait_for_turn
    check = login.check

    @switches
    def wait_and_check(now: float) -> float:
        began = wait_for_turn(now)
        check()
        return began

    return wait_and_check


class LoggedIn(Protocol):
    """A connection."""

    login: OpenLogin | None
    busy: bool

    def close(self) -> None: ...


@final
class LoginWatch:
    """Looks after the connections of one gateway, until stop()."""

    def __init__(
        self,
        runtime: Runtime,
        verifier: Verifier,
        connections: Iterable[LoggedIn],
        pause: Callable[[], None],
        changed: Callable[[str, str], None],
    ) -> None:
        """`changed`: hears of each change of the list: a user, and what became of him. It must not switch."""
        self._runtime = runtime
        self._verifier = verifier
        self._connections = connections
        self._pause = pause
        self._changed = changed
        self.stop: Callable[[], None] = supervise(runtime, self._watch, name="open logins").kill
        """Idempotent."""

    @switches
    def _watch(self) -> None:
        known: Accounts | None = None
        while True:
            accounts = self._verifier.look()
            if accounts is not None:
                if known is not None and accounts is not known:
                    for name, change in accounts.changed_since(known):
                        self._changed(name, change)
                known = accounts
                self._close_ended(accounts)
            self._runtime.sleep(_LOOK_SECONDS)

    @switches
    def _close_ended(self, accounts: Accounts) -> None:
        latest = self._runtime.clock_seconds() - _STAYS_SECONDS
        made = [(one, one.login) for one in self._connections if one.login is not None]  # later ones know a newer list
        for connection, login in with_pauses(made, self._pause, _AT_ONCE):
            if not login.is_over(accounts) or connection.busy:
                continue
            if login.ended_at is not None and login.ended_at <= latest:
                connection.close()
