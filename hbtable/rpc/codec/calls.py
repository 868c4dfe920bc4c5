"""Every call that services.py declares as a Thrift method: its messages, made by the types of its parameters.

message   80 01 00, type (1), name length (4), name, sequence number (4), struct
CALL      the arguments, field 1 being the incarnation meant (not for the master)
REPLY     field 0 the result, or field 1 an RpcError, or neither
EXCEPTION field 1 a text, field 2 a number: the method is not known or the request could not be decoded
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Final, NamedTuple, final, get_args, get_origin

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.errors import Corruption
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import FamilyTimes, ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import TableSchema
from hbtable.model.status import CacheEviction, Collection, ServedChanges, TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.codec import model, relayed
from hbtable.rpc.codec.call_budget import COST_FIELD, COST_OF_CALL, SPENT_FIELD, WAIT_FIELD, CallBudget, CostOfCall
from hbtable.rpc.codec.cells import CELLS, ROW_MUTATION, ROW_MUTATIONS, ROWS
from hbtable.rpc.codec.errors import RPC_ERROR, RpcError
from hbtable.rpc.declaration import ADDED, CallTimeout, DeclaredCall, calls_of
from hbtable.rpc.services import MasterService, RelayService, TabletAdmin, TabletService
from hbtable.switches import switches
from hbtable.thrift.binary_reader import read_strict, read_value
from hbtable.thrift.binary_writer import write
from hbtable.thrift.failures import APPLICATION_EXCEPTION, encode_failure
from hbtable.thrift.frames import LARGE_CHUNK_BYTES
from hbtable.thrift.gathered import Join
from hbtable.thrift.message import MessageReader, MessageWriter
from hbtable.thrift.shapes import (
    BINARY,
    BOOLEAN,
    INTEGER,
    TEXT,
    TEXT_MAP,
    Field,
    Sequences,
    Struct,
    ValueType,
)
from hbtable.thrift.wire import CALL, EXCEPTION, REPLY, SET, STRICT, WireError


class Role(Enum):
    """The object that has a method."""

    TABLETS = "TabletService"
    RELAYS = "RelayService"
    ADMIN = "TabletAdmin"
    MASTER = "MasterService"
    PEER = "PeerService"
    """Every role's: handshake.py."""


class Failure(NamedTuple):
    """The answer of a server that could not even begin: an EXCEPTION."""

    number: int
    message: str


FOR_USER: Final = "_for_user"
"""Behind the name of a call to tablets: the same for a user, whose name and groups come before its arguments."""
NO_BUDGET: Final = CallBudget()
_LONGEST_HEAD_BYTES: Final = 128
"""A message's head with a longer name is read with care."""
_WRITES_ALONE: Final = ("mutate", "delete_range", "relay_write")
"""Calls that read nothing whose cost could be limited."""


class RpcMethod:
    """One call as messages (declaration.DeclaredCall)."""

    __slots__ = (
        "_head", "_reply_head", "arguments", "for_user", "is_budgeted", "name", "repeatable", "result", "returns",
        "role", "timeout",
    )  # fmt: skip

    def __init__(
        self,
        role: Role,
        name: str,
        fields: Sequence[Field],
        result: ValueType | None,
        timeout: CallTimeout,
        repeatable: bool = False,
    ) -> None:
        self.role = role
        self.name = name
        self.for_user = ""
        """The declared call that this one is for a user; empty: it is the declared one itself."""
        self.timeout = timeout
        self.repeatable = repeatable
        self.is_budgeted = role in (Role.TABLETS, Role.RELAYS) and name.removesuffix(FOR_USER) not in _WRITES_ALONE
        """Whether the budget of a request goes with it, and its cost comes back."""
        wait, spent = Field(WAIT_FIELD, "waitMillis", INTEGER, 0), Field(SPENT_FIELD, "spent", COST_OF_CALL, None)
        self.arguments = Struct([*fields, wait, spent] if self.is_budgeted else fields)
        success = [] if result is None else [Field(0, "success", result, None)]
        cost = [Field(COST_FIELD, "cost", COST_OF_CALL, None)] if self.is_budgeted else []
        self.result = Struct([*success, Field(1, "error", RPC_ERROR, None), *cost])
        self.returns = bool(success)
        self._head = _head(CALL, name.encode())
        self._reply_head = _head(REPLY, name.encode())

    @switches
    def request(
        self,
        sequence: int,
        arguments: Sequence[Any],
        pause: Callable[[], None],
        budget: CallBudget = NO_BUDGET,
        join: Join = b"".join,
    ) -> bytes:
        """The frame of a call, whose parts `join` puts together. struct.error, TypeError, ValueError or OverflowError
        for values that no field holds."""
        values = (*arguments, *budget) if self.is_budgeted else arguments
        return _frame(self._head, sequence, self.arguments, values, pause, join)

    @switches
    def reply(
        self,
        sequence: int,
        value: Any,
        error: RpcError | None,
        pause: Callable[[], None],
        cost: CostOfCall | None = None,
        join: Join = b"".join,
    ) -> bytes:
        """The frame of an answer."""
        values = (value, error) if self.returns else (error,)
        values = (*values, cost) if self.is_budgeted else values
        return _frame(self._reply_head, sequence, self.result, values, pause, join)

    @switches
    def read_arguments(self, source: MessageReader, position: int) -> tuple[Any, ...]:
        """Corruption, UnsupportedFormat."""
        return self.read_call(source, position)[0]

    @switches
    def read_call(self, source: MessageReader, position: int) -> tuple[tuple[Any, ...], CallBudget | None]:
        """The arguments and the budget that came with them. Corruption, UnsupportedFormat."""
        values: tuple[Any, ...] = decode(self.arguments, source, position)[0]
        return (values[:-2], CallBudget(*values[-2:])) if self.is_budgeted else (values, None)

    @switches
    def read_reply(self, data: bytes, sequence: int, pause: Callable[[], None]) -> Any:
        """As read_answer(), without the cost."""
        return self.read_answer(data, sequence, pause)[0]

    @switches
    def read_answer(self, data: bytes, sequence: int, pause: Callable[[], None]) -> tuple[Any, CostOfCall | None]:
        """The result, a RpcError or a Failure, and what the call cost its request. Corruption when it is not the answer
        to this call."""
        kind, name, number, position = read_head(data)
        source = MessageReader(data, pause)
        if kind == EXCEPTION and name == self.name.encode() and number == sequence:
            message, code = decode(APPLICATION_EXCEPTION, source, position)[0]
            return Failure(code or 0, message or ""), None
        if kind != REPLY or name != self.name.encode() or number != sequence:
            raise Corruption("a message", 0, f"the answer to {name!r} number {number} is not that to {self.name}")
        values, _ = decode(self.result, source, position)
        cost = values[-1] if self.is_budgeted else None
        error = values[1 if self.returns else 0]
        if error is not None:
            return error, cost
        if not self.returns:
            return None, cost
        if values[0] is None:
            raise Corruption("a message", position, f"the answer to {self.name} holds neither a result nor an error")
        return values[0], cost


@final
class RelayedMethod(RpcMethod):
    """A call of RelayService: what is usual is read and written in one go (codec/relayed.py)."""

    __slots__ = ()

    @switches
    def request(
        self,
        sequence: int,
        arguments: Sequence[Any],
        pause: Callable[[], None],
        budget: CallBudget = NO_BUDGET,
        join: Join = b"".join,
    ) -> bytes:
        incarnation, tablet_id, message = arguments
        if budget.spent is not None or len(message) > LARGE_CHUNK_BYTES:
            return super().request(sequence, arguments, pause, budget, join)
        to = incarnation.encode("utf-8", "surrogatepass")
        return relayed.call(self._head, sequence, to, tablet_id, message, WAIT_FIELD, budget.wait_millis)

    @switches
    def reply(
        self,
        sequence: int,
        value: Any,
        error: RpcError | None,
        pause: Callable[[], None],
        cost: CostOfCall | None = None,
        join: Join = b"".join,
    ) -> bytes:
        if error is not None or cost is not None or len(value) > LARGE_CHUNK_BYTES:
            return super().reply(sequence, value, error, pause, cost, join)
        return relayed.answer(self._reply_head, sequence, value)

    @switches
    def read_call(self, source: MessageReader, position: int) -> tuple[tuple[Any, ...], CallBudget | None]:
        found = relayed.called(source.data, position, WAIT_FIELD)
        if found is None:
            return super().read_call(source, position)
        to, tablet_id, message, wait = found
        try:
            arguments = (to.decode("utf-8", "surrogatepass"), tablet_id, message)
        except UnicodeDecodeError:
            return super().read_call(source, position)  # which says what is wrong
        return arguments, CallBudget(wait) if self.is_budgeted else None

    @switches
    def read_answer(self, data: bytes, sequence: int, pause: Callable[[], None]) -> tuple[Any, CostOfCall | None]:
        head = self._reply_head
        if data.startswith(head) and data.startswith(sequence.to_bytes(4, "big"), len(head)):
            answer = relayed.answered(data, len(head) + 4)
            if answer is not None:
                return answer, None
        return super().read_answer(data, sequence, pause)


@switches
def _frame(
    head: bytes, sequence: int, shape: Struct, values: Any, pause: Callable[[], None], join: Join = b"".join
) -> bytes:
    out = MessageWriter(pause)
    write(shape, values, out)
    return join(_parts(head, sequence, out.pieces))


def _parts(head: bytes, sequence: int, body: Sequence[bytes]) -> list[bytes]:
    """Of a frame, to be joined: the body, which may have 64 MB, is copied once."""
    size = len(head) + 4 + sum(map(len, body))
    return [size.to_bytes(4, "big"), head, sequence.to_bytes(4, "big"), *body]


def read_head(data: bytes) -> tuple[int, bytes, int, int]:
    """(message type, method's name, sequence number, position of the struct). Corruption."""
    end = 8 + int.from_bytes(data[4:8], "big")
    if data.startswith(STRICT) and end <= min(len(data) - 4, _LONGEST_HEAD_BYTES):
        return data[3], data[8:end], int.from_bytes(data[end : end + 4], "big"), end + 4
    source = MessageReader(data)
    try:
        name, kind, sequence = read_strict(source)
    except WireError as error:
        raise Corruption("a message", 0, f"{data[:16]!r} begins no Thrift message: {error}") from error
    return kind, name, sequence & 0xFFFFFFFF, source.position


def failure(name: bytes, sequence: int, number: int, message: str) -> bytes:
    """The frame of an EXCEPTION."""
    return b"".join(_parts(_head(EXCEPTION, name), sequence, [encode_failure(message, number)]))


def foreign_reply(name: bytes, sequence: int, body: bytes) -> bytes:
    """The frame of a REPLY to a call that is none of ours."""
    return b"".join(_parts(_head(REPLY, name), sequence, [body]))


def _head(kind: int, name: bytes) -> bytes:
    return STRICT + bytes((kind,)) + len(name).to_bytes(4, "big") + name


@switches
def decode(shape: ValueType, source: MessageReader, position: int) -> tuple[Any, int]:
    """(value, position behind it). Corruption when the bytes are not one; UnsupportedFormat for a record of a newer
    hbtable. *Switches* between many elements."""
    source.position = position
    try:
        return read_value(source, shape), source.position
    except (WireError, IndexError, struct.error, ValueError, OverflowError) as error:
        raise Corruption("a message", source.position, f"it cannot be decoded: {error}") from error


# ---------------------------------------------------------------- the calls themselves


_SHAPES: Final[dict[object, ValueType]] = {
    bool: BOOLEAN,
    bytes: BINARY,
    int: INTEGER,
    str: TEXT,
    list[Cell]: CELLS,
    list[Row]: ROWS,
    tuple[bytes, bytes, bytes]: model.APPEND_VALUE,
    Mapping[str, str]: TEXT_MAP,
    CacheEviction: model.CACHE_EVICTION,
    Collection: model.COLLECTION,
    FamilyTimes: model.FAMILY_TIMES,
    ReadSpec: model.READ_SPEC,
    RowMutation: ROW_MUTATION,
    Sequence[RowMutation]: ROW_MUTATIONS,
    ScanPage: model.SCAN_PAGE,
    ScanRequest: model.SCAN_REQUEST,
    ServedChanges: model.SERVED_CHANGES,
    SortedRun: model.RUN,
    TableSchema: model.TABLE_SCHEMA,
    TabletRecord: model.TABLET_RECORD,
    TabletStatus: model.TABLET_STATUS,
}
"""The shape in which a value of each type is sent. Lists and sets of a type named here can be sent, too."""


def _shape(kind: Any) -> ValueType:
    if kind in _SHAPES:
        return _SHAPES[kind]
    container = get_origin(kind)
    if container is Annotated:
        return _shape(get_args(kind)[0])
    if container in (list, Sequence):
        return Sequences(_shape(get_args(kind)[0]))
    if container is set:
        return Sequences(_shape(get_args(kind)[0]), set, SET)
    raise TypeError(f"a call between roles cannot have a value of type {kind}: give it a shape in codec/calls.py")


def _field(number: int, parameter: Parameter) -> Field:
    """The field of a parameter. One that may be None, or is ADDED, is left out while it is None or its default."""
    words = parameter.name.split("_")
    name = words[0] + "".join(word.title() for word in words[1:])
    kind = parameter.annotation
    options = get_args(kind)
    if get_origin(kind) is UnionType:
        return Field(number, name, _shape(options[0]), None)
    if ADDED in options:
        return Field(number, name, _shape(kind), parameter.default)
    return Field(number, name, _shape(kind))


def _method(role: Role, declared: DeclaredCall) -> RpcMethod:
    fields = [] if role is Role.MASTER else [Field(1, "incarnation", TEXT)]
    for parameter in declared.parameters:
        fields.append(_field(len(fields) + 1, parameter))
    result = None if declared.returns is None else _shape(declared.returns)
    kind = RelayedMethod if role is Role.RELAYS else RpcMethod
    return kind(role, declared.name, fields, result, declared.timeout, declared.repeatable)


METHODS: Final[dict[str, RpcMethod]] = {
    name: _method(role, declared)
    for role, service in (
        (Role.TABLETS, TabletService),
        (Role.RELAYS, RelayService),
        (Role.ADMIN, TabletAdmin),
        (Role.MASTER, MasterService),
    )
    for name, declared in calls_of(service).items()
}
"""By name: that of the method is that on the wire, too."""


def _method_for_user(declared: DeclaredCall) -> RpcMethod:
    """A call of its own: a server of an older release, which would ask nobody whether the user may, refuses it by
    name."""
    fields = [Field(1, "incarnation", TEXT), Field(2, "user", TEXT), Field(3, "groups", Sequences(TEXT))]
    for parameter in declared.parameters:
        fields.append(_field(len(fields) + 1, parameter))
    result = None if declared.returns is None else _shape(declared.returns)
    name = declared.name + FOR_USER
    method = RpcMethod(Role.TABLETS, name, fields, result, declared.timeout, declared.repeatable)
    method.for_user = declared.name
    return method


USERS_METHODS: Final[dict[str, RpcMethod]] = {
    declared.name: _method_for_user(declared) for declared in calls_of(TabletService).values()
}
"""By the name of the declared call."""

BY_WIRE_NAME: Final = {**METHODS, **{method.name: method for method in USERS_METHODS.values()}}
"""All calls that a role answers."""
