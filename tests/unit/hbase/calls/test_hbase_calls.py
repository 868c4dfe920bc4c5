"""The meaning of calls: columns, times, order of mutations, errors, administration."""

from typing import Any

import pytest
from thriftpy2.thrift import TApplicationException

from hbtable import errors
from hbtable.hbase.codec.thrift_structs import ColumnDescriptor
from hbtable.hbase.conversion import family_schema
from hbtable.hbase.errors import DO_NOT_RETRY, JavaError, declared
from hbtable.hbase.regions import Region, at_or_before, region_name, table_of_region
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT
from hbtable.model.read import columns_of

ILLEGAL = "java.lang.IllegalArgumentException: "


@pytest.mark.parametrize(
    ("columns", "meaning"),
    [
        (None, None),
        ([], None),
        ([b"f"], {b"f": None}),
        ([b"f:"], {b"f": frozenset({b""})}),
        ([b"f:a:b"], {b"f": frozenset({b"a:b"})}),
        ([b"f:a", b"f"], {b"f": None}),
        ([b"f", b"f:a"], {b"f": None}),
        ([b"f:a", b"g:b", b"f:c"], {b"f": frozenset({b"a", b"c"}), b"g": frozenset({b"b"})}),
    ],
)
def test_columns_of_a_read(columns: Any, meaning: Any) -> None:
    assert columns_of(columns) == meaning


def failure(client: Any, method: str, **arguments: Any) -> Any:
    with pytest.raises(Exception) as caught:
        client.call(method, **arguments)
    return caught.value


def test_mutate_row_orders_deletes_before_puts(client: Any) -> None:
    mutation = client.thrift.Mutation
    client.call(
        "mutateRow",
        tableName=b"t",
        row=b"r",
        mutations=[
            mutation(column=b"f:a", value=b"1"),
            mutation(isDelete=True, column=b"f:a"),
            mutation(isDelete=True, column=b"g"),
        ],
    )
    assert client.gateway.table.mutations[0].operations == [
        (DELETE_COLUMN, b"f", b"a", SERVER_TIME, b""),
        (DELETE_FAMILY, b"g", b"", SERVER_TIME, b""),
        (PUT, b"f", b"a", SERVER_TIME, b"1"),
    ]


def test_the_log_is_skipped_only_when_all_ask_for_it(client: Any) -> None:
    mutation = client.thrift.Mutation
    skipping = mutation(column=b"f:a", value=b"1", writeToWAL=False)
    client.call("mutateRow", tableName=b"t", row=b"r", mutations=[skipping, mutation(column=b"f:b", value=b"1")])
    client.call("mutateRow", tableName=b"t", row=b"r", mutations=[skipping])
    assert [mutation.skip_log for mutation in client.gateway.table.mutations] == [False, True]


def test_the_largest_time_of_a_write_means_now(client: Any) -> None:
    put = [client.thrift.Mutation(column=b"f:a", value=b"1")]
    client.call("mutateRowTs", tableName=b"t", row=b"r", mutations=put, timestamp=MAX_TIMESTAMP)
    client.call("mutateRowTs", tableName=b"t", row=b"r", mutations=put, timestamp=0)
    assert [m.operations[0][3] for m in client.gateway.table.mutations] == [SERVER_TIME, 0]


def test_delete_all_row_deletes_each_family(client: Any) -> None:
    client.call("deleteAllRowTs", tableName=b"t", row=b"r", timestamp=5)
    operations = client.gateway.table.mutations[0].operations
    assert operations == [(DELETE_FAMILY, b"f", b"", 5, b""), (DELETE_FAMILY, b"g", b"", 5, b"")]


def test_reads_have_an_exclusive_upper_bound(client: Any) -> None:
    client.call("getRowTs", tableName=b"t", row=b"r", timestamp=5)
    client.call("getVerTs", tableName=b"t", row=b"r", column=b"f:a", timestamp=6, numVersions=9)
    specs = client.gateway.table.specs
    assert (specs[0].max_timestamp, specs[1].max_timestamp, specs[1].max_versions) == (5, 6, 9)


@pytest.mark.parametrize(
    ("method", "arguments", "text"),
    [
        ("mutateRow", {"row": b"", "mutations": []}, ILLEGAL + "Row length is 0"),
        ("mutateRow", {"row": b"x" * 32768, "mutations": []}, ILLEGAL + "Row length 32768 is > 32767"),
        ("mutateRow", {"row": b"r"}, "no mutations"),
        ("mutateRows", {}, "no list of rows"),
        ("mutateRowTs", {"row": b"r", "mutations": [], "timestamp": -1}, "cannot be negative. ts=-1"),
        ("checkAndPut", {"row": b"r", "column": b"f"}, "names the family f only"),
        ("checkAndPut", {"row": b"r", "column": b"f:a"}, "no mutation to put"),
        ("atomicIncrement", {"row": b"", "column": b"f:a", "value": 1}, "Row length is 0"),
    ],
)
def test_refusals_where_illegal_argument_is_declared(client: Any, method: str, arguments: Any, text: str) -> None:
    error = failure(client, method, tableName=b"t", **arguments)
    assert type(error).__name__ == "IllegalArgument"
    assert error.message.decode().startswith(ILLEGAL)
    assert text in error.message.decode()


@pytest.mark.parametrize(
    ("method", "arguments", "text"),
    [
        ("getRow", {"tableName": b"bad name", "row": b"r"}, "table name 'bad name' has ' ' at position 3"),
        ("getRow", {"row": b"r"}, "no table name"),
        ("getRow", {"tableName": b"t"}, "no row"),
        ("getRowTs", {"tableName": b"t", "row": b"r", "timestamp": -2}, "cannot be negative"),
        ("get", {"tableName": b"t", "row": b"r"}, "no column"),
        ("getRows", {"tableName": b"t"}, "no list of rows"),
        ("getRows", {"tableName": b"t", "rows": [b"a", b""]}, "Row length is 0"),
        ("deleteAll", {"tableName": b"t", "row": b"", "column": b"f"}, "Row length is 0"),
        ("increment", {}, "no increment"),
        ("append", {}, "no append"),
        ("scannerOpenWithScan", {"tableName": b"t"}, "no scan"),
        ("scannerOpenTs", {"tableName": b"t", "timestamp": -1}, "cannot be negative"),
        ("scannerOpen", {"tableName": b"t", "startRow": b"x" * 32768}, "Row length 32768"),
    ],
)
def test_refusals_elsewhere_are_io_errors_that_say_so(client: Any, method: str, arguments: Any, text: str) -> None:
    error = failure(client, method, **arguments)
    assert type(error).__name__ == "IOError"
    assert error.message.decode().startswith(ILLEGAL)
    assert text in error.message.decode()
    assert error.canRetry is False


def test_a_put_needs_a_colon(client: Any) -> None:
    for column in (b"f", b"", None):
        put = [client.thrift.Mutation(column=column, value=b"1")]
        error = failure(client, "mutateRow", tableName=b"t", row=b"r", mutations=put)
        assert type(error).__name__ == "IllegalArgument"
        batches = [client.thrift.BatchMutation(b"r", put)]
        assert type(failure(client, "mutateRows", tableName=b"t", rowBatches=batches)).__name__ == "IllegalArgument"


def test_a_cell_over_the_limit_names_it(client: Any, gateway: Any) -> None:
    gateway.context.message_bytes = 1 << 26
    put = [client.thrift.Mutation(column=b"f:a", value=b"v" * (10 << 20))]
    error = failure(client, "mutateRow", tableName=b"t", row=b"r", mutations=put)
    assert b"KeyValue size too large: column f:a of row r" in error.message


@pytest.mark.parametrize(
    ("error", "java_class", "can_retry"),
    [
        (errors.TableNotFound("t"), "org.apache.hadoop.hbase.TableNotFoundException", False),
        (errors.TableNotEnabled("t"), "org.apache.hadoop.hbase.TableNotEnabledException", False),
        (errors.TableNotDisabled("t"), "org.apache.hadoop.hbase.TableNotDisabledException", False),
        (errors.NamespaceNotFound("n"), "org.apache.hadoop.hbase.NamespaceNotFoundException", False),
        (errors.NoSuchFamily("f"), "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException", False),
        (errors.NotACounter("c"), "org.apache.hadoop.hbase.DoNotRetryIOException", False),
        (errors.BadFilter("b", 3), "java.lang.IllegalArgumentException", False),
        (errors.Unavailable("u"), "java.io.IOException", True),
        (errors.OutOfSpace("o"), "java.io.IOException", True),
        (errors.OutcomeUnknown("o"), "org.apache.hadoop.hbase.DoNotRetryIOException", False),
        (errors.HbtableError("h"), "java.io.IOException", True),
    ],
)
def test_errors_begin_with_their_java_class(error: errors.HbtableError, java_class: str, can_retry: bool) -> None:
    assert declared(error, {"io": 1})[:3] == ("io", f"{java_class}: {error}", can_retry)


def test_an_unforeseen_error_is_declared_and_logged(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    client.gateway.table.fail = ZeroDivisionError("inside")
    error = failure(client, "getRow", tableName=b"t", row=b"r")
    assert b"internal error" in error.message
    assert error.canRetry is False
    assert "ZeroDivisionError" in caplog.text


def test_where_nothing_is_declared_it_is_an_application_exception(client: Any) -> None:
    client.gateway.interface.methods[b"getClusterId"].call = lambda: 1 // 0
    error = failure(client, "getClusterId")
    assert isinstance(error, TApplicationException)
    assert error.type == TApplicationException.INTERNAL_ERROR


def test_nothing_to_do_succeeds_on_a_missing_table(client: Any) -> None:
    client.call("mutateRow", tableName=b"no", row=b"r", mutations=[])
    client.call("mutateRows", tableName=b"no", rowBatches=[])
    assert client.call("getRows", tableName=b"no", rows=[]) == []
    assert b"TableNotFoundException: no" in failure(client, "getRow", tableName=b"no", row=b"r").message


def test_many_rows_are_read_in_parts_and_bounded(small_gateway: Any, connect: Any) -> None:
    client = connect(small_gateway)
    small_gateway.context.message_bytes = 1 << 20
    small_gateway.table.cells = {b"r": {b"f:a": (1, b"v")}}
    assert len(client.call("getRows", tableName=b"t", rows=[b"x"] * 300 + [b"r"])) == 1
    error = failure(client, "getRows", tableName=b"t", rows=[b"r"] * 300)
    assert b"300 bytes of the largest answer" in error.message
    assert error.message.count(b"ask for") == 1
    error = failure(client, "getRows", tableName=b"t", rows=[b"r"] * 30)
    assert b"more than 300 bytes" in error.message
    small_gateway.table.cells = {b"r": {b"f:a": (1, bytes(300))}}
    assert b"more than 300 bytes" in failure(client, "getRow", tableName=b"t", row=b"r").message
    assert b"more than 300 bytes" in failure(client, "get", tableName=b"t", row=b"r", column=b"f:a").message


def test_tables_from_creation_to_deletion(client: Any) -> None:
    family = client.thrift.ColumnDescriptor
    client.call("createTable", tableName=b"default:u", columnFamilies=[family(name=b"f:")])
    error = failure(client, "createTable", tableName=b"u", columnFamilies=[family(name=b"a/b")])
    assert (type(error).__name__, error.message) == ("AlreadyExists", b"table name already in use")
    client.call("createTable", tableName=b"hbase:u", columnFamilies=[family(name=b"f:")])
    client.call("disableTable", tableName=b"hbase:u")
    client.call("deleteTable", tableName=b"hbase:u")
    assert type(failure(client, "createTable", tableName=b"hbase:meta", columnFamilies=[])).__name__ == "AlreadyExists"
    error = failure(client, "createTable", tableName=b"v", columnFamilies=[])
    assert error.message.startswith(b"org.apache.hadoop.hbase.DoNotRetryIOException: Table should have")
    assert client.call("getTableNames") == [b"t", b"u"]
    client.call("disableTable", tableName=b"u")
    assert client.call("isTableEnabled", tableName=b"u") is False
    client.call("deleteTable", tableName=b"u")
    error = failure(client, "deleteTable", tableName=b"u")
    assert (error.message, error.canRetry) == (b"java.io.IOException: table does not exist", True)


@pytest.mark.parametrize("method", ["mutateRow", "mutateRows"])
@pytest.mark.parametrize("deletes", [False, True])
def test_only_puts_whose_outcome_is_unknown_may_be_sent_again(client: Any, method: str, deletes: bool) -> None:
    """A delete would take what others wrote meanwhile along, and a counter would count twice."""
    thrift = client.thrift
    mutations = [thrift.Mutation(column=b"f:a", value=b"1"), thrift.Mutation(column=b"f:b", value=b"2")]
    if deletes:
        mutations.append(thrift.Mutation(isDelete=True, column=b"f:c"))
    client.gateway.table.fail = errors.OutcomeUnknown("s at h:1 gave no answer to mutate")
    batches = [thrift.BatchMutation(row=b"r", mutations=mutations)]
    named = {"row": b"r", "mutations": mutations} if method == "mutateRow" else {"rowBatches": batches}
    error = failure(client, method, tableName=b"t", **named)
    kind = DO_NOT_RETRY if deletes else "java.io.IOException"
    assert error.message.startswith(f"{kind}: s at h:1 gave no answer to mutate".encode())
    assert (b"may be sent again" in error.message, error.canRetry) == (not deletes, not deletes)


def test_a_counter_whose_outcome_is_unknown_is_not_to_be_sent_again(client: Any) -> None:
    client.gateway.table.fail = errors.OutcomeUnknown("no answer")
    error = failure(client, "atomicIncrement", tableName=b"t", row=b"r", column=b"f:a", value=1)
    assert (error.message.startswith(DO_NOT_RETRY.encode()), error.canRetry) == (True, False)


@pytest.mark.parametrize(
    ("descriptor", "text"),
    [
        (ColumnDescriptor(b""), "column name is empty"),
        (ColumnDescriptor(None), "column name is empty"),
        (ColumnDescriptor(b":"), "Column Family name can not be empty"),
        (ColumnDescriptor(b"a/b"), "not"),
        (ColumnDescriptor(b"f", max_versions=0), "Maximum versions must be positive"),
        (ColumnDescriptor(b"f", compression=""), "Unsupported compression"),
        (ColumnDescriptor(b"f", bloom="row"), "No enum constant"),
    ],
)
def test_family_descriptors_that_are_refused(descriptor: ColumnDescriptor, text: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=text):
        family_schema(descriptor)


def test_a_compression_that_is_not_available_is_refused_as_hbase_refuses_it() -> None:
    with pytest.raises(JavaError, match="LZO is not available, family f asks for it; there is NONE, GZ, ") as refused:
        family_schema(ColumnDescriptor(b"f", compression="lzo"))
    assert (refused.value.java_class, refused.value.can_retry) == (DO_NOT_RETRY, False)


def test_family_descriptors_that_are_taken() -> None:
    family = family_schema(ColumnDescriptor(b"f:x", compression="Snappy", ttl_seconds=-1))
    assert (family.name, family.compression, family.ttl_seconds) == (b"f", "SNAPPY", 2**31 - 1)


def test_regions_have_hbase_names(client: Any) -> None:
    first, second = client.call("getTableRegions", tableName=b"t")
    assert (first.startKey, first.endKey, first.version) == (b"", b"m", 1)
    assert (first.serverName, first.port, second.serverName, second.port) == (
        b"server-a", 9090, b"here", 9090
    )  # fmt: skip
    assert table_of_region(second.name) == b"t"
    assert second.name == region_name(b"t", b"m", 1700000000000)
    assert client.call("getTableRegions", tableName=b"no") == []
    found = client.call("getRegionInfo", row=b"t,n,99999999999999")
    assert (found.startKey, found.serverName) == (b"m", None)
    assert client.call("getRegionInfo", row=b"").startKey == b"m"
    error = failure(client, "getRegionInfo", row=b"a")
    assert error.message == b"java.io.IOException: Cannot find row in hbase:meta, row=a"


def test_region_lookup_compares_tables_before_rows() -> None:
    def region(start: bytes) -> Region:
        return Region(start, b"", 5, b"", None, None)

    known = [(b"a", region(b"")), (b"a-b", region(b"z")), (b"b", region(b"m"))]
    found = at_or_before(b"b,a,9", known)
    assert found is not None
    assert found.start_row == b"z"
    assert at_or_before(b"a,", known) is None


def test_compactions_by_table_and_by_region(client: Any) -> None:
    client.call("compact", tableNameOrRegionName=b"t")
    name = region_name(b"t", b"", 1700000000000)
    client.call("majorCompact", tableNameOrRegionName=name)
    assert client.gateway.cluster.compacted == [(20, False), (20, True)]
    error = failure(client, "majorCompact", tableNameOrRegionName=region_name(b"t", b"x", 1))
    assert b"there is no region" in error.message
    assert b"TableNotFound" in failure(client, "compact", tableNameOrRegionName=b"no").message


def test_grant_is_refused_with_a_declared_error(client: Any) -> None:
    entity = client.thrift.TAccessControlEntity(username="u", scope=0, actions="R", tableName=b"t")
    error = failure(client, "grant", info=entity)
    assert error.message == b"org.apache.hadoop.hbase.DoNotRetryIOException: access control is not enabled"


@pytest.mark.parametrize(
    ("identity", "answer"), [("6dfa8a3c00004000800000000000000f", "6dfa8a3c-0000-4000-8000-00000000000f"), ("x", "x")]
)
def test_the_cluster_id_looks_like_hbases(client: Any, identity: str, answer: str) -> None:
    admin = client.gateway.interface.methods[b"getClusterId"].call.__self__
    admin._cluster_id = lambda: identity
    assert client.call("getClusterId") == answer.encode()


def test_append_and_check(client: Any) -> None:
    append = client.thrift.TAppend(b"t", b"r", [b"f:b", b"f:a"], [b"1", b"2"])
    assert [cell.value for cell in client.call("append", append=append)] == [b"1", b"2"]
    short = client.thrift.TAppend(b"t", b"r", [b"f:b", b"f:a"], [b"1"])
    assert b"2 columns and 1 values" in failure(client, "append", append=short).message
    put = client.thrift.Mutation(column=b"f:a")
    assert client.call("checkAndPut", tableName=b"t", row=b"r", column=b"f:a", value=b"yes", mput=put) is True
    assert client.call("checkAndPut", tableName=b"t", row=b"r", column=b"f:a", value=b"no", mput=put) is False
    assert client.gateway.table.mutations[-1].operations == [(PUT, b"f", b"a", SERVER_TIME, b"")]


def test_requests_are_counted_and_slow_ones_remembered(client: Any) -> None:
    gateway = client.gateway
    client.call("getRow", tableName=b"t", row=b"r")
    failure(client, "getRow", tableName=b"no", row=b"r")

    def slowly(*_: object) -> list[Any]:
        gateway.runtime.now += 0.25
        return []

    gateway.interface.methods[b"getRow"].call = slowly
    client.call("getRow", tableName=b"t", row=b"r\xff")
    counted = {labels: value for _, labels, value in gateway.registry.counters() if value}
    assert counted == {
        (("code", "ok"), ("method", "getRow")): 2,
        (("code", "TableNotFound"), ("method", "getRow")): 1,
    }
    (entry,) = gateway.slow.newest_first()
    assert (entry["method"], entry["table"], entry["row"], entry["outcome"]) == ("getRow", "t", "r\\xff", "ok")
    assert entry["handling_seconds"] == 0.25
    assert entry["client"] == "client:1"
    assert entry["request_bytes"] == len(client.encode("getRow", tableName=b"t", row=b"r\xff"))


@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
@pytest.mark.parametrize("framed", [False, True])
def test_a_call_that_is_not_taken_is_to_be_tried_again_and_the_next_one_is_understood(
    gateway: Any, connect: Any, protocol: str, framed: bool
) -> None:
    turns = [True, False, False]

    def turn(now: float) -> float:
        if not turns.pop():
            raise errors.Overloaded("5000 requests wait for their turn; try again")
        return now

    gateway.context.request_gate = lambda host, stream: turn
    client = connect(gateway, protocol, framed)
    put = [client.thrift.Mutation(column=b"f:a", value=b"v")]
    refused = client.encode("mutateRow", tableName=b"t", row=b"r", mutations=put)
    unknown = client.encode("getRow", tableName=b"t", row=b"r").replace(b"getRow", b"getWor")
    fine = client.encode("getThriftServerType")
    sent = gateway.talk(refused + unknown + fine).sent
    assert sent.count(b"org.apache.hadoop.hbase.CallQueueTooBigException: 5000 requests wait") == 1
    assert b"Invalid method name: 'getWor'" in sent
    assert gateway.table.cells == {}
    answer = sent[sent.index(b"getThriftServerType") :]
    assert answer, "who waits for the third answer gets it"
    client = connect(gateway, "binary")
    turns[:] = [False]
    with pytest.raises(client.thrift.IOError) as caught:
        client.call("mutateRow", tableName=b"t", row=b"r", mutations=put)
    assert caught.value.canRetry is True
