"""Every call, answer and error comes back as it was; the bytes are those of the interface files; garbage is refused."""

from collections.abc import Sequence
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Annotated, get_args, get_origin

import pytest
import thriftpy2
from hypothesis import given, settings
from hypothesis import strategies as st
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.thrift import TType
from thriftpy2.transport import TCyMemoryBuffer

from hbtable import errors
from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.errors import (
    BadFilter,
    Conflict,
    Corruption,
    DataDamaged,
    HbtableError,
    TabletWithheld,
    Unavailable,
    UnsupportedFormat,
)
from hbtable.model.aggregation import Aggregate, AggregatedGroup, AggregatedPage, Aggregation
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanPosition, ScanRequest
from hbtable.model.schema import BLOOM_TYPES, COMPRESSIONS, FamilySchema, TableSchema
from hbtable.model.status import CacheEviction, Collection, LeftTablet, ServedChanges, ServedTablet, TabletStatus
from hbtable.model.tablet import LogRef, SSTableRef, TabletRecord
from hbtable.rpc.codec import calls
from hbtable.rpc.codec.call_budget import CallBudget, CostOfCall
from hbtable.rpc.codec.calls import METHODS, Failure, Role, decode, read_head
from hbtable.rpc.codec.cells import CELLS, OPERATIONS
from hbtable.rpc.codec.errors import RPC_ERROR, RpcError, described
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.services import MasterService, RelayService, TabletAdmin, TabletService
from hbtable.thrift import wire
from hbtable.thrift.binary_writer import write
from hbtable.thrift.message import MessageReader, MessageWriter
from hbtable.thrift.shapes import REQUIRED, Struct
from tests.harness.tiers import generated

IDL = Path(__file__).resolve().parents[4] / "thrift"
TABLETSERVER = thriftpy2.load(str(IDL / "tabletserver.thrift"), module_name="rpc_tabletserver_thrift")
MASTER = thriftpy2.load(str(IDL / "master.thrift"), module_name="rpc_master_thrift")
SERVICES = {
    Role.TABLETS: TABLETSERVER.TabletService,
    Role.RELAYS: TABLETSERVER.RelayService,
    Role.ADMIN: TABLETSERVER.TabletAdmin,
    Role.MASTER: MASTER.MasterService,
}

# ---------------------------------------------------------------- values

i64 = st.integers(-(2**63), 2**63 - 1)
count = st.integers(0, 2**62)
load = st.just(-1) | count
raw = st.binary(max_size=20)
text = st.text(max_size=10)
nothing = st.none()
cell = st.tuples(raw, i64, raw)
row = st.tuples(raw, st.lists(cell, max_size=4))
operation = st.tuples(st.sampled_from([1, 2, 3, 4, 8]), raw, raw, i64, raw)
mutation = st.builds(RowMutation, raw, st.lists(operation, max_size=4), st.booleans(), count, count)
spec = st.builds(
    ReadSpec,
    st.none() | st.dictionaries(raw, st.none() | st.frozensets(raw, max_size=3), max_size=3),
    i64,
    i64,
    st.integers(1, 2**31 - 1),
    st.none() | raw,
    st.booleans(),
    st.booleans(),
)
position = st.builds(ScanPosition, raw, count, raw, raw, count, count)
row_range = st.builds(RowRange, raw, raw)
aggregate = st.builds(Aggregate, text, raw, st.none() | raw, text)
aggregation = st.builds(Aggregation, st.lists(aggregate, max_size=3).map(tuple), count, raw, st.booleans())
scan_request = st.builds(
    ScanRequest, row_range, spec, st.booleans(), count, count, count, st.none() | position,
    aggregation=st.none() | aggregation,
)  # fmt: skip
aggregated = st.builds(AggregatedPage, st.lists(st.builds(AggregatedGroup, raw, raw), max_size=3), st.just(0))
scan_page = st.builds(
    ScanPage, st.lists(row, max_size=4), st.none() | position, st.booleans(), raw, count, count, nothing, nothing,
    nothing | aggregated, st.just(False),
)  # fmt: skip
# Groups are named after families, whose bytes need not be UTF-8.
names = st.binary(max_size=8).map(lambda value: value.decode("utf-8", "surrogateescape"))
sstable = st.builds(SSTableRef, names, count, count, count, count, count)
groups = st.lists(st.tuples(names, st.lists(sstable, max_size=2).map(tuple)), max_size=2).map(tuple)
logs = st.lists(st.builds(LogRef, names, count), max_size=2).map(tuple)


def record_with(left):
    return st.builds(TabletRecord, count, count, row_range, count, names, count, groups, logs, left)


record = record_with(st.none() | record_with(st.none()))
attributes = st.lists(st.tuples(names, names), max_size=2).map(tuple)
family = st.builds(
    FamilySchema, raw, count, count, count,
    st.sampled_from(COMPRESSIONS), st.sampled_from(BLOOM_TYPES), st.booleans(), st.booleans(), count, names,
    st.booleans(), attributes,
)  # fmt: skip
schema = st.builds(
    TableSchema, raw, st.lists(family, max_size=3).map(lambda found: {one.name: one for one in found}), count, count,
    attributes,
)  # fmt: skip
flags = st.booleans()
status = st.builds(TabletStatus, record, count, count, count, count, count, count, flags, flags, count)
run = st.builds(SortedRun, count, count, count, count)


ARGUMENTS = {
    "mutate": (text, i64, st.lists(mutation, max_size=3)),
    "read_rows": (text, i64, st.lists(raw, max_size=4), spec),
    "scan": (text, i64, scan_request),
    "scan_with_times": (text, i64, scan_request, st.dictionaries(raw, st.tuples(i64, i64), max_size=3)),
    "increment": (text, i64, raw, raw, raw, i64, i64),
    "append": (text, i64, raw, st.lists(st.tuples(raw, raw, raw), max_size=3), count, i64),
    "check_and_mutate": (text, i64, raw, raw, raw, st.none() | raw, mutation, i64),
    "mutate_if": (text, i64, raw, spec, text, st.none() | raw, mutation, i64),
    "add_to_columns": (text, i64, mutation),
    "delete_range": (text, i64, raw, raw, i64),
    "load_tablet": (text, count, record, schema),
    "unload_tablet": (text, count, count),
    "update_schema": (text, count, count, schema),
    "sort_log_part": (text, count, text, raw),
    "flush": (text, count),
    "compact": (text, count, st.booleans(), raw),
    "roll_log": (text,),
    "switch_compactions": (text, st.booleans()),
    "split": (text, count, st.none() | raw),
    "tablets": (text, count),
    "served_changes": (text, count),
    "served_record": (text, count),
    "family_usage": (text, raw),
    "files_in_flight": (text,),
    "clear_block_cache": (text, count),
    "task_deaths": (text,),
    "create_table": (schema, st.lists(raw, max_size=3), text),
    "delete_table": (raw,),
    "enable_table": (raw,),
    "disable_table": (raw,),
    "alter_table": (schema,),
    "truncate_table": (raw, st.booleans()),
    "move_tablet": (raw, count, text),
    "merge_tablets": (raw, st.lists(count, max_size=4)),
    "balance": (),
    "balance_switch": (st.booleans(),),
    "balancer_enabled": (),
    "normalize": (st.lists(raw, max_size=3),),
    "normalizer_switch": (st.booleans(),),
    "normalizer_enabled": (),
    "decommission": (st.lists(text, max_size=3), st.booleans()),
    "recommission": (text,),
    "collect_garbage": (),
    "look_at_everything": (),
    "create_namespace": (raw, st.dictionaries(text, text, max_size=3)),
    "alter_namespace": (raw, st.dictionaries(text, text, max_size=3)),
    "delete_namespace": (raw,),
    "set_throttle": (text, raw, raw, st.booleans(), text, count, count, st.booleans()),
    "set_space_limit": (raw, raw, count, text),
    "space_usage": (),
    "set_quota_exemption": (text, st.booleans()),
    "set_throttling": (st.booleans(),),
    "throttling_enabled": (),
    "quotas": (),
    "balancer_rests": (),
    "master_task_deaths": (),
}
RESULTS = {
    "read_rows": st.lists(row, max_size=4),
    "scan": scan_page,
    "scan_with_times": scan_page,
    "increment": i64,
    "append": st.lists(cell, max_size=4),
    "check_and_mutate": st.booleans(),
    "mutate_if": st.booleans(),
    "add_to_columns": st.lists(cell, max_size=4),
    "sort_log_part": run,
    "switch_compactions": st.booleans(),
    "split": st.booleans(),
    "balance": st.booleans(),
    "balance_switch": st.booleans(),
    "balancer_enabled": st.booleans(),
    "normalize": st.booleans(),
    "normalizer_switch": st.booleans(),
    "normalizer_enabled": st.booleans(),
    "set_throttling": st.booleans(),
    "throttling_enabled": st.booleans(),
    "space_usage": st.lists(st.dictionaries(text, text, max_size=3), max_size=3),
    "quotas": st.lists(st.dictionaries(text, text, max_size=3), max_size=3),
    "tablets": st.lists(status, max_size=2),
    "served_changes": st.builds(
        ServedChanges,
        count,
        flags,
        st.lists(st.builds(ServedTablet, count, count, count, count, load, load), max_size=3),
        st.lists(count, max_size=3),
        st.just(()) | st.lists(st.builds(LeftTablet, count, count, raw, raw), min_size=1, max_size=3),
    ),
    "served_record": record,
    "family_usage": st.lists(st.dictionaries(text, text, max_size=3), max_size=3),
    "files_in_flight": st.frozensets(text, max_size=3),
    "clear_block_cache": st.builds(CacheEviction, count, count),
    "task_deaths": st.lists(text, max_size=3),
    "collect_garbage": st.builds(Collection, count, count),
    "balancer_rests": text,
    "master_task_deaths": st.lists(text, max_size=3),
}
PLAIN = {bool: st.booleans(), bytes: raw, int: i64, str: text, None: nothing}


def of_type(kind):
    """For calls of plain types, which need no line above."""
    if get_origin(kind) is Annotated:
        return of_type(get_args(kind)[0])
    if get_origin(kind) in (list, Sequence):
        return st.lists(of_type(get_args(kind)[0]), max_size=3)
    return PLAIN[kind]


for service in (TabletService, RelayService, TabletAdmin, MasterService):
    for name, declared in calls_of(service).items():
        if name not in ARGUMENTS:
            first = () if service is MasterService else (text,)
            ARGUMENTS[name] = (*first, *(of_type(one.annotation) for one in declared.parameters))
            RESULTS[name] = of_type(declared.returns)
EVERY = [pytest.param(method, id=method.name) for method in METHODS.values()]


def plain(value):
    """RowMutation compares by identity."""
    if isinstance(value, RowMutation):
        return (value.row, value.operations, value.skip_log, value.ttl_millis, value.checksum)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return tuple(plain(one) for one in value) if type(value) is tuple else value


def no_pause():
    return


def test_every_call_of_the_port_is_carried():
    offered = {
        name
        for port in (TabletService, RelayService, TabletAdmin, MasterService)
        for name in vars(port)
        if not name.startswith("_")
    }
    assert offered == {method.name for method in METHODS.values()} == set(ARGUMENTS)


@pytest.mark.parametrize("method", EVERY)
@settings(max_examples=20, deadline=None)
@given(given=st.data())
def test_a_call_and_its_answer_come_back_as_they_were(method, given):
    arguments = given.draw(st.tuples(*ARGUMENTS[method.name]))
    frame = method.request(77, arguments, no_pause)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    kind, name, sequence, at = read_head(frame[4:])
    assert (kind, name, sequence) == (wire.CALL, method.name.encode(), 77)
    assert plain(method.read_arguments(MessageReader(frame[4:]), at)) == plain(arguments)
    value = given.draw(RESULTS.get(method.name, nothing))
    answer = method.read_reply(method.reply(77, value, None, no_pause)[4:], 77, no_pause)
    assert answer == value
    assert type(answer) is (set if isinstance(value, frozenset) else type(value))


ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.HbtableError)
}


@pytest.mark.parametrize("kind", [pytest.param(kind, id=name) for name, kind in ERRORS.items()])
def test_an_error_comes_back_by_class_with_its_fields(kind):
    error = {
        "Corruption": lambda: Corruption("some/file", 77, "it is cut short"),
        "DataDamaged": lambda: DataDamaged("some/file", 77, "of tablet 3 rows are gone", b"a\x00", b"\xff"),
        "TabletWithheld": lambda: TabletWithheld("tablet 3", 0, "tablet 3 is withheld", b"a\x00", b"\xff"),
        "BadFilter": lambda: BadFilter("no such filter", 12),
    }.get(kind.__name__, lambda: kind("a sentence \udcff"))()
    for method in METHODS.values():
        answer = method.read_reply(method.reply(3, None, described(error), no_pause)[4:], 3, no_pause)
        again = answer.raised()
        assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))


def test_an_unknown_error_becomes_its_nearest_known_ancestor():
    class Novelty(Conflict):
        """A newer peer's."""

    class WorseDamage(Corruption):
        """A newer peer's."""

    assert type(described(Novelty("new")).raised()) is Conflict
    damage = described(WorseDamage("path", 3, "bad")).raised()
    assert (type(damage), damage.path, damage.offset, damage.reason) == (Corruption, "path", 3, "bad")
    assert type(RpcError(["Unheard", "AlsoUnheard"], "x").raised()) is HbtableError
    assert described(Unavailable("x")).classes == ["Unavailable", "HbtableError"]
    assert {name: errors.nearest_class([name]) for name in ERRORS} == ERRORS


# ---------------------------------------------------------------- the interface files

KINDS = {TType.BOOL: 2, TType.BYTE: 3, TType.I64: 10, TType.STRING: 11, TType.BINARY: 11, TType.STRUCT: 12,
         TType.MAP: 13, TType.SET: 14, TType.LIST: 15}  # fmt: skip


def same_fields(spec, fields, where):
    found = [(number, entry[1], KINDS[entry[0]]) for number, entry in sorted(spec.items())]
    assert found == [(field.id, field.name, field.shape.kind) for field in fields], where


def structs():
    from hbtable.rpc.codec import call_budget
    from hbtable.rpc.codec import cells as codec_cells
    from hbtable.rpc.codec import model as codec_model

    found = {"RPC_ERROR": RPC_ERROR}
    for module in (call_budget, codec_cells, codec_model):
        found.update({name: value for name, value in vars(module).items() if isinstance(value, Struct)})
    return {"RpcError" if name == "RPC_ERROR" else name.title().replace("_", ""): it for name, it in found.items()}


def test_the_interface_file_names_the_same_fields_and_defaults():
    ours = structs()
    theirs = {name for name, value in vars(TABLETSERVER).items() if hasattr(value, "thrift_spec")}
    assert theirs == set(ours)
    for name, struct in ours.items():
        declared = getattr(TABLETSERVER, name)
        same_fields(declared.thrift_spec, struct.fields, name)
        for field, entry in zip(struct.fields, (declared.thrift_spec[f.id] for f in struct.fields), strict=True):
            assert entry[-1] is (field.default is REQUIRED), f"{name}.{field.name} required"
        for (field_name, default), field in zip(declared.default_spec, struct.fields, strict=True):
            if field.default is not REQUIRED and default is not None:
                same = default.encode() if isinstance(default, str) else default
                assert same == field.default, f"{name}.{field_name}"


@pytest.mark.parametrize("method", EVERY)
def test_the_interface_file_has_the_same_methods(method):
    service = SERVICES[method.role]
    same_fields(getattr(service, method.name + "_args").thrift_spec, method.arguments.fields, method.name)
    same_fields(getattr(service, method.name + "_result").thrift_spec, method.result.fields, method.name)


@pytest.mark.parametrize("method", EVERY)
@settings(max_examples=15, deadline=None)
@given(given=st.data())
def test_another_thrift_library_reads_and_writes_the_same(method, given):
    """Decoded by thriftpy2 and written again by it, a call is what it was."""
    arguments = given.draw(st.tuples(*ARGUMENTS[method.name]))
    out = MessageWriter()
    budget = CallBudget(10_000, CostOfCall(5, 1 << 40, 7))
    write(method.arguments, (*arguments, *budget) if method.is_budgeted else arguments, out)
    theirs = getattr(SERVICES[method.role], method.name + "_args")()
    TCyBinaryProtocol(TCyMemoryBuffer(b"".join(out.pieces)), decode_response=False).read_struct(theirs)
    buffer = TCyMemoryBuffer(b"")
    TCyBinaryProtocol(buffer).write_struct(theirs)
    read, sent = method.read_call(MessageReader(buffer.getvalue()), 0)
    assert plain(read) == plain(arguments)
    assert sent == (budget if method.is_budgeted else None)


# ---------------------------------------------------------------- what peers may send


@pytest.mark.parametrize("method", EVERY)
@settings(max_examples=20, deadline=None)
@given(given=st.data())
def test_damaged_messages_are_refused_and_nothing_else_is_raised(method, given):
    frame = bytearray(method.request(1, given.draw(st.tuples(*ARGUMENTS[method.name])), no_pause)[4:])
    at = read_head(bytes(frame))[3]
    for _ in range(given.draw(st.integers(1, 4))):
        frame[given.draw(st.integers(at, len(frame) - 1))] = given.draw(st.integers(0, 255))
    data = bytes(frame[: given.draw(st.integers(at, len(frame)))])
    try:
        method.read_arguments(MessageReader(data), at)
    except (Corruption, UnsupportedFormat):
        pass


@settings(max_examples=generated(200), deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_as_an_answer_are_an_answer_or_corruption(data):
    try:
        METHODS["scan"].read_reply(data, 1, no_pause)
        METHODS["scan"].read_reply(b"\x80\x01\0\2\0\0\0\4scan\0\0\0\1" + data, 1, no_pause)
    except (Corruption, UnsupportedFormat):
        pass


def test_a_count_is_refused_before_anything_is_made_of_it():
    huge = b"\x0c\x7f\xff\xff\xff"
    for shape in (CELLS, OPERATIONS, METHODS["read_rows"].result.fields[0].shape):
        with pytest.raises(Corruption, match="2147483647 elements in 0 bytes"):
            decode(shape, MessageReader(huge), 0)


def test_fields_of_a_newer_peer_are_skipped_and_the_order_is_free():
    extra = b"\x0c\0\x63\x0f\0\1\x0b\0\0\0\1\0\0\0\2hi\x0d\0\2\x0b\x08\0\0\0\1\0\0\0\1k\0\0\0\1\0"
    plain_cell = (b"\x0b\0\1\0\0\0\3f:q", b"\x0a\0\2" + (5).to_bytes(8, "big"), b"\x0b\0\3\0\0\0\1v")
    for fields in (plain_cell, plain_cell[::-1]):
        data = b"\x0c\0\0\0\1" + extra + b"".join(fields) + extra + b"\0"
        assert decode(CELLS, MessageReader(data), 0) == ([(b"f:q", 5, b"v")], len(data))
    deep = b"\x0c\0\x63" * 100_000
    with pytest.raises(Corruption, match="nested deeper than 16"):
        decode(CELLS, MessageReader(b"\x0c\0\0\0\1" + deep), 0)
    with pytest.raises(Corruption, match="a required field is missing"):
        decode(CELLS, MessageReader(b"\x0c\0\0\0\1" + plain_cell[0] + b"\0"), 0)


def test_long_lists_give_others_a_turn_both_ways():
    turns = []
    rows = [(b"row%d" % number, [(b"f:q", 1, b"v")] * 10) for number in range(2000)]
    frame = METHODS["read_rows"].reply(1, rows, None, lambda: turns.append(1))
    assert len(turns) >= 8
    turns.clear()
    assert METHODS["read_rows"].read_reply(frame[4:], 1, lambda: turns.append(1)) == rows
    assert len(turns) >= 8


def test_an_answer_to_another_call_is_refused():
    frame = METHODS["split"].reply(5, True, None, no_pause)
    assert METHODS["split"].read_reply(frame[4:], 5, no_pause) is True
    with pytest.raises(Corruption):
        METHODS["split"].read_reply(frame[4:], 6, no_pause)
    with pytest.raises(Corruption):
        METHODS["check_and_mutate"].read_reply(frame[4:], 5, no_pause)
    with pytest.raises(Corruption, match="neither"):
        METHODS["split"].read_reply(
            METHODS["flush"].reply(5, None, None, no_pause)[4:].replace(b"flush", b"split"), 5, no_pause
        )
    frame = calls.failure(b"split", 5, wire.UNKNOWN_METHOD, "what?")
    assert METHODS["split"].read_reply(frame[4:], 5, no_pause) == Failure(wire.UNKNOWN_METHOD, "what?")


def test_the_specs_defaults_are_the_models():
    """A field that equals its default is not sent: a default that changed here would change what older peers mean."""
    defaults = [field.default for field in dataclass_fields(ReadSpec)]
    read_spec = METHODS["read_rows"].arguments.fields[3].shape
    assert [field.default for field in read_spec.fields] == defaults


def test_a_message_is_put_together_once_by_who_is_told_to() -> None:
    """It may have 64 MB: copied here, and again with its head before it, it keeps everybody waiting."""
    joined: list[int] = []

    def join(pieces: list[bytes]) -> bytes:
        joined.append(sum(map(len, pieces)))
        return b"".join(pieces)

    def no_pause() -> None: ...

    rows = [(b"r%d" % number, [(b"f:q", 5, bytes(1 << 20))]) for number in range(3)]
    answer = METHODS["read_rows"].reply(1, rows, None, no_pause, None, join)
    assert answer == METHODS["read_rows"].reply(1, rows, None, no_pause)
    relayed = METHODS["relay_read"].reply(1, bytes(3 << 20), None, no_pause, None, join)
    assert relayed == METHODS["relay_read"].reply(1, bytes(3 << 20), None, no_pause)
    message = ("server", 5, bytes(3 << 20))
    call = METHODS["relay_read"].request(1, message, no_pause, calls.NO_BUDGET, join)
    assert call == METHODS["relay_read"].request(1, message, no_pause)
    assert joined == [len(answer), len(relayed), len(call)]
