"""Every call of services.py as a Thrift method: its messages, how long a caller waits, and whether it may be repeated.

message   80 01 00, type (1), name length (4), name, sequence number (4), struct
CALL      the arguments, field 1 being the incarnation meant (not for the master)
REPLY     field 0 the result, or field 1 an RpcError, or neither
EXCEPTION field 1 a text, field 2 a number: the method is not known or the request could not be decoded
"""

import struct
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, final

from hbtable.errors import Corruption
from hbtable.rpc.codec import model
from hbtable.rpc.codec.cells import CELLS, ROW_MUTATION, ROW_MUTATIONS, ROWS
from hbtable.rpc.codec.errors import RPC_ERROR, RpcError
from hbtable.switches import switches
from hbtable.thrift.binary_reader import read_strict, read_value
from hbtable.thrift.binary_writer import write
from hbtable.thrift.failures import APPLICATION_EXCEPTION, encode_failure
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
from hbtable.thrift.wire import (
    CALL,
    EXCEPTION,
    REPLY,
    SET,
    STRICT,
    WireError,
)


class Role(Enum):
    """Which object a method belongs to."""

    TABLETS = "TabletService"
    ADMIN = "TabletAdmin"
    MASTER = "MasterService"
    PEER = "PeerService"
    """Every role's: handshake.py."""


class CallTimeout(Enum):
    """How long a caller waits for the answer (connections.RpcOptions has the seconds)."""

    READ = "read"
    WRITE = "write"
    REPORTS = "reports"
    LOAD = "load"
    ORDER = "order"
    COMPACT = "compact"


class Failure(NamedTuple):
    """What a server answered where it could not even begin: an EXCEPTION."""

    number: int
    message: str


@final
class RpcMethod:
    """One call. `repeatable`: it changes nothing, or doing it twice is as good as once, so that it may be sent again
    when its answer was lost."""

    __slots__ = ("_head", "_reply_head", "arguments", "name", "repeatable", "result", "role", "timeout")

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
        self.timeout = timeout
        self.repeatable = repeatable
        self.arguments = Struct(fields)
        success = [] if result is None else [Field(0, "success", result, None)]
        self.result = Struct([*success, Field(1, "error", RPC_ERROR, None)])
        title = len(name).to_bytes(4, "big") + name.encode()
        self._head = STRICT + bytes((CALL,)) + title
        self._reply_head = STRICT + bytes((REPLY,)) + title

    @property
    def returns(self) -> bool:
        return len(self.result.fields) > 1

    def request(self, sequence: int, arguments: Sequence[Any], pause: Callable[[], None]) -> bytes:
        """The frame of a call. struct.error, TypeError, ValueError or OverflowError for values that no field holds."""
        return _frame(self._head, sequence, self.arguments, arguments, pause)

    def reply(self, sequence: int, value: Any, error: RpcError | None, pause: Callable[[], None]) -> bytes:
        """The frame of an answer."""
        return _frame(self._reply_head, sequence, self.result, (value, error) if self.returns else (error,), pause)

    @switches
    def read_arguments(self, source: MessageReader, position: int) -> tuple[Any, ...]:
        """Corruption, UnsupportedFormat."""
        values: tuple[Any, ...] = decode(self.arguments, source, position)[0]
        return values

    @switches
    def read_reply(self, data: bytes, sequence: int, pause: Callable[[], None]) -> Any:
        """The result, a RpcError or a Failure. Corruption when it is not the answer to this call."""
        kind, name, number, position = read_head(data)
        source = MessageReader(data, pause)
        if kind == EXCEPTION and number == sequence:
            message, code = decode(APPLICATION_EXCEPTION, source, position)[0]
            return Failure(code or 0, message or "")
        if kind != REPLY or name != self.name.encode() or number != sequence:
            raise Corruption("a message", 0, f"the answer to {name!r} number {number} is not that to {self.name}")
        values, _ = decode(self.result, source, position)
        if values[-1] is not None:
            return values[-1]
        if not self.returns:
            return None
        if values[0] is None:
            raise Corruption("a message", position, f"the answer to {self.name} holds neither a result nor an error")
        return values[0]


def _frame(head: bytes, sequence: int, shape: Struct, values: Any, pause: Callable[[], None]) -> bytes:
    out = MessageWriter(pause)
    write(shape, values, out)
    return _framed(head, sequence, b"".join(out.pieces))


def _framed(head: bytes, sequence: int, body: bytes) -> bytes:
    return b"".join(((len(head) + 4 + len(body)).to_bytes(4, "big"), head, sequence.to_bytes(4, "big"), body))


def read_head(data: bytes) -> tuple[int, bytes, int, int]:
    """(message type, method's name, sequence number, position of the struct). Corruption."""
    source = MessageReader(data)
    try:
        name, kind, sequence = read_strict(source)
    except WireError as error:
        raise Corruption("a message", 0, f"{data[:16]!r} begins no Thrift message: {error}") from error
    return kind, name, sequence & 0xFFFFFFFF, source.position


def failure(name: bytes, sequence: int, number: int, message: str) -> bytes:
    """The frame of an EXCEPTION."""
    head = STRICT + bytes((EXCEPTION,)) + len(name).to_bytes(4, "big") + name
    return _framed(head, sequence, encode_failure(message, number))


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


Arguments = dict[str, ValueType | tuple[ValueType, object]]
"""By name, in order; a tuple has the default of one that may be left out."""


def _fields(shapes: Arguments, first: int) -> list[Field]:
    return [
        Field(number, name, *(shape if isinstance(shape, tuple) else (shape,)))
        for number, (name, shape) in enumerate(shapes.items(), first)
    ]


def _server(
    role: Role,
    name: str,
    shapes: Arguments,
    result: ValueType | None,
    timeout: CallTimeout,
    repeatable: bool = False,
) -> RpcMethod:
    fields = [Field(1, "incarnation", TEXT), *_fields(shapes, 2)]
    return RpcMethod(role, name, fields, result, timeout, repeatable)


def _master(
    name: str,
    shapes: Arguments,
    result: ValueType | None = None,
    timeout: CallTimeout = CallTimeout.ORDER,
    repeatable: bool = False,
) -> RpcMethod:
    return RpcMethod(Role.MASTER, name, _fields(shapes, 1), result, timeout, repeatable)


_CELL_NAME: Final[Arguments] = {
    "tablet": INTEGER,
    "row": BINARY,
    "family": BINARY,
    "qualifier": BINARY,
}
_TABLET: Final[Arguments] = {"tablet": INTEGER}
_EPOCH: Final[Arguments] = {"epoch": INTEGER}

MUTATE: Final = _server(Role.TABLETS, "mutate", {**_TABLET, "mutations": ROW_MUTATIONS}, None, CallTimeout.WRITE)
READ_ROWS: Final = _server(
    Role.TABLETS,
    "read_rows",
    {**_TABLET, "rows": model.ROW_KEYS, "spec": model.READ_SPEC},
    ROWS,
    CallTimeout.READ,
    repeatable=True,
)
SCAN: Final = _server(
    Role.TABLETS,
    "scan",
    {**_TABLET, "request": model.SCAN_REQUEST},
    model.SCAN_PAGE,
    CallTimeout.READ,
    repeatable=True,
)
INCREMENT: Final = _server(Role.TABLETS, "increment", {**_CELL_NAME, "amount": INTEGER}, INTEGER, CallTimeout.WRITE)
APPEND: Final = _server(
    Role.TABLETS,
    "append",
    {**_TABLET, "row": BINARY, "values": Sequences(model.APPEND_VALUE), "ttlMillis": INTEGER},
    CELLS,
    CallTimeout.WRITE,
)
CHECK_AND_MUTATE: Final = _server(
    Role.TABLETS,
    "check_and_mutate",
    {**_CELL_NAME, "expected": (BINARY, None), "mutation": ROW_MUTATION},
    BOOLEAN,
    CallTimeout.WRITE,
)

LOAD_TABLET: Final = _server(
    Role.ADMIN,
    "load_tablet",
    {**_EPOCH, "record": model.TABLET_RECORD, "schema": model.TABLE_SCHEMA},
    None,
    CallTimeout.LOAD,
)
UNLOAD_TABLET: Final = _server(Role.ADMIN, "unload_tablet", {**_EPOCH, **_TABLET}, None, CallTimeout.ORDER)
UPDATE_SCHEMA: Final = _server(
    Role.ADMIN, "update_schema", {**_EPOCH, "table": INTEGER, "schema": model.TABLE_SCHEMA}, None, CallTimeout.WRITE
)
SORT_LOG_RANGE: Final = _server(
    Role.ADMIN,
    "sort_log_part",
    {**_EPOCH, "deadIncarnation": TEXT, "part": BINARY},
    model.RUN,
    CallTimeout.ORDER,
    repeatable=True,
)
FLUSH: Final = _server(Role.ADMIN, "flush", _TABLET, None, CallTimeout.COMPACT, repeatable=True)
COMPACT: Final = _server(
    Role.ADMIN,
    "compact",
    {**_TABLET, "major": BOOLEAN, "family": (BINARY, b"")},
    None,
    CallTimeout.COMPACT,
    repeatable=True,
)
ROLL_LOG: Final = _server(Role.ADMIN, "roll_log", {}, None, CallTimeout.WRITE, repeatable=True)
SWITCH_COMPACTIONS: Final = _server(Role.ADMIN, "switch_compactions", {"on": BOOLEAN}, BOOLEAN, CallTimeout.READ)
SPLIT: Final = _server(Role.ADMIN, "split", {**_TABLET, "row": (BINARY, None)}, BOOLEAN, CallTimeout.COMPACT)
TABLETS: Final = _server(
    Role.ADMIN, "tablets", {}, Sequences(model.TABLET_STATUS), CallTimeout.REPORTS, repeatable=True
)
FILES_IN_FLIGHT: Final = _server(
    Role.ADMIN, "files_in_flight", {}, Sequences(TEXT, set, SET), CallTimeout.REPORTS, repeatable=True
)
CLEAR_BLOCK_CACHE: Final = _server(
    Role.ADMIN, "clear_block_cache", {"table": INTEGER}, model.CACHE_EVICTION, CallTimeout.READ, repeatable=True
)

PING: Final = _server(Role.ADMIN, "ping", {}, None, CallTimeout.REPORTS, repeatable=True)
CREATE_TABLE: Final = _master("create_table", {"schema": model.TABLE_SCHEMA, "splitRows": model.ROW_KEYS})
DELETE_TABLE: Final = _master("delete_table", {"name": BINARY})
ENABLE_TABLE: Final = _master("enable_table", {"name": BINARY})
DISABLE_TABLE: Final = _master("disable_table", {"name": BINARY})
ALTER_TABLE: Final = _master("alter_table", {"schema": model.TABLE_SCHEMA})
TRUNCATE_TABLE: Final = _master("truncate_table", {"name": BINARY, "keepSplits": BOOLEAN})
MOVE_TABLET: Final = _master("move_tablet", {"name": BINARY, "tablet": INTEGER, "server": TEXT})
MERGE_TABLETS: Final = _master(
    "merge_tablets", {"name": BINARY, "tablets": Sequences(INTEGER)}, timeout=CallTimeout.COMPACT
)
BALANCE: Final = _master("balance", {}, BOOLEAN, CallTimeout.COMPACT, repeatable=True)
BALANCE_SWITCH: Final = _master("balance_switch", {"on": BOOLEAN}, BOOLEAN)
BALANCER_ENABLED: Final = _master("balancer_enabled", {}, BOOLEAN, CallTimeout.READ, repeatable=True)
DECOMMISSION: Final = _master("decommission", {"servers": Sequences(TEXT), "offload": BOOLEAN}, repeatable=True)
RECOMMISSION: Final = _master("recommission", {"server": TEXT}, repeatable=True)
COLLECT_GARBAGE: Final = _master("collect_garbage", {}, model.COLLECTION, CallTimeout.COMPACT, repeatable=True)
LOOK_AT_EVERYTHING: Final = _master("look_at_everything", {}, repeatable=True)
CREATE_NAMESPACE: Final = _master("create_namespace", {"name": BINARY, "properties": TEXT_MAP})
ALTER_NAMESPACE: Final = _master("alter_namespace", {"name": BINARY, "properties": TEXT_MAP})
DELETE_NAMESPACE: Final = _master("delete_namespace", {"name": BINARY})
PING_MASTER: Final = _master("ping_master", {}, None, CallTimeout.REPORTS, repeatable=True)

METHODS: Final[dict[bytes, RpcMethod]] = {
    method.name.encode(): method for method in list(globals().values()) if isinstance(method, RpcMethod)
}
"""By the name on the wire."""
