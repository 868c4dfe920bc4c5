"""One role in another process, as its callers see it: a call, its retry, and what a failure means to them.

    not begun                      StaleLocation (tablet servers), Unavailable (master)
    no answer, call repeatable     ServerLost, a StaleLocation: ask METADATA again, and then again whoever serves it
    no answer, any other call      OutcomeUnknown, marked no_answer
    the peer lost its lock, or its log failed     as no answer: those errors are for the process they happen in

A connection that had served before and then broke may have been closed by the peer long ago: a call that is provably
not begun, or repeatable, is sent once more on a fresh one.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hbtable.access.user import acting_user
from hbtable.errors import (
    Corruption,
    HbtableError,
    InvalidRequest,
    LimitExceeded,
    LockLost,
    OutcomeUnknown,
    ServerLost,
    StaleLocation,
    StorageFailed,
    Unavailable,
    UnknownCall,
    UnsupportedFormat,
    no_answer,
)
from hbtable.rpc.codec.call_budget import CallBudget, budget_to_send
from hbtable.rpc.codec.calls import METHODS, NO_BUDGET, USERS_METHODS, Failure, Role, RpcMethod
from hbtable.rpc.codec.errors import RpcError
from hbtable.rpc.connections import Lost, RpcConnection, RpcConnectionPool, RpcOptions, Unsent, still_lives
from hbtable.rpc.declaration import DeclaredCall
from hbtable.rpc.handshake import OURS
from hbtable.runtime.interface import Runtime
from hbtable.runtime.joining import Joiner
from hbtable.runtime.request_budget import HELD_AT_ONCE, current_budget, hold
from hbtable.switches import switches
from hbtable.thrift.wire import INTERNAL_ERROR, UNKNOWN_METHOD

_DECODED: Final = 2
"""An answer of small cells takes so many times the memory, once it is decoded."""


@final
class Peer:
    """Calls one role in another process. `name`: the incarnation, or "the master". `lives`: does the peer still count
    as alive? `unreachable`: the class for calls that were not begun. `forget`: the address turned out to be
    another's."""

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        pool: RpcConnectionPool,
        options: RpcOptions,
        lives: Callable[[], bool],
        unreachable: type[StaleLocation] | type[Unavailable],
        forget: Callable[[], None],
    ) -> None:
        self.name = name
        self.pool = pool
        self._runtime = runtime
        self._join = Joiner(runtime)
        self._options = options
        self._lives = still_lives(lives)
        self._unreachable = unreachable
        self._forget = forget

    @switches
    def carry(self, declared: DeclaredCall, arguments: tuple[Any, ...]) -> Any:
        """*Switches.* Is a declaration.Carry: the result, or the error that the callee raised."""
        method = METHODS[declared.name]
        if method.role is Role.TABLETS:
            user = acting_user()
            if user is not None:
                given = (self.name, user.name, sorted(user.groups), *arguments)
                return self.call(USERS_METHODS[declared.name], given)
        return self.call(method, arguments if method.role is Role.MASTER else (self.name, *arguments))

    @switches
    def call(self, method: RpcMethod, arguments: Sequence[Any]) -> Any:
        """*Switches.* The result, or the error that the callee raised."""
        try:
            answer = self._attempt(method, arguments)
        except Unsent as error:
            self._forget()
            raise self._unreachable(f"{self._where()} did not begin {method.name}: {error}") from error
        except Lost as error:
            self._forget()
            raise self._lost(method, str(error), no_answer) from error
        if isinstance(answer, RpcError):
            raise self._error(method, answer)
        if isinstance(answer, Failure):
            raise self._failure(method, answer)
        return answer

    @switches
    def _attempt(self, method: RpcMethod, arguments: Sequence[Any]) -> Any:
        deadline = self._runtime.clock_seconds() + self._options.seconds(method.timeout)
        connection, used = self.pool.take(deadline, self._lives)
        try:
            return self._exchange(connection, method, arguments, deadline)
        except Unsent:
            if not used:
                raise
        except Lost:
            # Not where time ran out: a fresh connection would not make a frozen peer answer.
            if not (used and method.repeatable) or self._runtime.clock_seconds() >= deadline:
                raise
        connection, _ = self.pool.take(deadline, self._lives, fresh=True)
        return self._exchange(connection, method, arguments, deadline)

    @switches
    def _exchange(self, connection: RpcConnection, method: RpcMethod, arguments: Sequence[Any], deadline: float) -> Any:
        try:
            connection.sequence = (connection.sequence + 1) & 0x7FFFFFFF
            budget = current_budget() if method.is_budgeted else None
            left_seconds = deadline - self._runtime.clock_seconds()
            sent = budget_to_send(budget, left_seconds) if method.is_budgeted else NO_BUDGET
            frame = self._frame(method, connection.sequence, arguments, sent)
            message = connection.exchange(frame, deadline, self._lives)
            try:
                answer, cost = method.read_answer(message, connection.sequence, self._pause)
            except Corruption as error:
                raise Lost(f"its answer is damaged: {error.reason}") from error
        except BaseException:  # a killed caller, too, leaves an answer under way that nobody will read
            self.pool.drop(connection)
            raise
        self.pool.give(connection)
        if cost is not None and budget is not None:
            budget.spend(cost.cost())
        if len(message) > HELD_AT_ONCE and method.repeatable:
            hold(_DECODED * len(message))
        if isinstance(answer, Failure) and answer.number == UNKNOWN_METHOD:
            raise UnknownCall(
                f"{self._where()} speaks {connection.theirs} and does not know {method.name}, which this one, {OURS}, "
                "asks for; nothing was done: upgrade the older one"
            )
        return answer

    @switches
    def _frame(self, method: RpcMethod, sequence: int, arguments: Sequence[Any], budget: CallBudget) -> bytes:
        try:
            frame = method.request(sequence, arguments, self._pause, budget, self._join)
        except (struct.error, TypeError, ValueError, OverflowError) as error:
            raise InvalidRequest(f"{method.name} was given a value that cannot be sent: {error}") from error
        if len(frame) - 4 > self._options.frame_bytes:
            raise LimitExceeded(
                f"a call of {len(frame) - 4} bytes is over the limit of {self._options.frame_bytes}; send it in parts"
            )
        return frame

    def _error(self, method: RpcMethod, answer: RpcError) -> HbtableError:
        error = answer.raised()
        if answer.wrong_incarnation:
            self._forget()
        if isinstance(error, LockLost | StorageFailed):
            # Passed on, its LockLost would stop this process, and its failed log would look like ours.
            return self._lost(method, str(error))
        if isinstance(error, UnknownCall):
            return UnsupportedFormat(str(error))  # of a role that it asked in turn: it may have done something before
        return error

    def _lost(
        self, method: RpcMethod, reason: str, unknown: Callable[[str], OutcomeUnknown] = OutcomeUnknown
    ) -> HbtableError:
        if method.repeatable:
            return ServerLost(f"{self._where()} gave no answer to {method.name}: {reason}")
        return unknown(f"{self._where()} gave no answer to {method.name}, which may have been carried out: {reason}")

    def _failure(self, method: RpcMethod, answer: Failure) -> HbtableError:
        """The peer could not even begin, unless something in it failed that nobody foresaw."""
        if answer.number == INTERNAL_ERROR:
            kind = HbtableError if method.repeatable else OutcomeUnknown
            return kind(f"{method.name} failed in {self._where()}; its log says why: {answer.message}")
        return UnsupportedFormat(f"{self._where()} does not understand {method.name}: {answer.message}")

    def _where(self) -> str:
        return f"{self.name} at {self.pool.address}"

    @switches
    def _pause(self) -> None:
        self._runtime.sleep(0)
