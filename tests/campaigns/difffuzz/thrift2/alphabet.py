"""The programs: Thrift2's structs with each of their fields set or not, and the calls that take them.

Hypothesis draws them, and makes one that differs small. What HBase is known to answer otherwise is not drawn:
docs/deviations.md and compat-tests/thrift2/better.json say what and why.
"""

from typing import Any, NamedTuple

import hypothesis.strategies as st

Strategy = st.SearchStrategy[Any]


class Made(NamedTuple):
    """A struct by its name, and the fields that are set. Rows have no prefix yet."""

    struct: str
    fields: dict[str, Any]


class Call(NamedTuple):
    """`scanAll` is no method: openScanner, getScannerRows until there are none, closeScanner."""

    method: str
    arguments: dict[str, Any]


def struct(name: str, **fields: Strategy) -> Strategy:
    """A field that is drawn as None is not set."""
    return st.fixed_dictionaries(fields).map(
        lambda drawn: Made(name, {field: value for field, value in drawn.items() if value is not None})
    )


def call(method: str, **arguments: Strategy) -> Strategy:
    return st.fixed_dictionaries(arguments).map(lambda drawn: Call(method, drawn))


def seldom(values: Strategy, nones: int = 3) -> Strategy:
    """Of `values` once in `nones` + 1 times."""
    return st.one_of(*[st.none()] * nones, values)


ROWS = st.sampled_from([b"a", b"a", b"b", b"b\x00", b"c\xff"])
FAMILIES = {b"f": {"maxVersions": 3}, b"g": {"maxVersions": 1}, b"k": {"maxVersions": 2, "keepDeletedCells": 1}}
"""Of the table of both sides."""
FAMILY = st.sampled_from([b"f"] * 5 + [b"g"] * 5 + [b"k"] * 4 + [b"no"])
QUALIFIER = st.sampled_from([b"", b"a", b"a", b"b:c", b"\x00", b"n"])
VALUE = st.sampled_from([b"", b"1", b"2", bytes(8), bytes(7) + b"\x05", b"x" * 20])
FUTURE = 2**62
TIMES = st.sampled_from([0, 1, 2, 3, 2**40, FUTURE])
RANGE = st.sampled_from([(0, 1), (1, 3), (2, 2), (0, 2**63 - 1), (3, 2**50)]).map(
    lambda ends: Made("TTimeRange", {"minStamp": ends[0], "maxStamp": ends[1]})
)
COLUMN = struct("TColumn", family=FAMILY, qualifier=st.none() | QUALIFIER, timestamp=seldom(TIMES))
FILTER = st.sampled_from(
    [
        b"KeyOnlyFilter()",
        b"ValueFilter(>, 'binary:1')",
        b"ColumnPaginationFilter(2, 1)",
        b"FirstKeyOnlyFilter()",
        b"SingleColumnValueFilter('f', 'a', =, 'binary:1')",
        b"SingleColumnValueExcludeFilter('f', 'a', =, 'binary:1', false, false)",
        b"TimestampsFilter(1, 3)",
        b"QualifierFilter(=, 'substring:a')",
        b"FamilyFilter(=, 'binary:g')",
        b"ColumnPrefixFilter('a') OR ValueFilter(=, 'binary:2')",
        b"ColumnCountGetFilter(1)",
        b"DependentColumnFilter('f', 'a')",
        b"SKIP ValueFilter(!=, 'binary:1')",
        b"WHILE ValueFilter(!=, 'binary:2')",
        b"PageFilter(1)",
        b"MultipleColumnPrefixFilter('a', 'n')",
        b"ColumnRangeFilter('a', true, 'b', false)",
        b"InclusiveStopFilter('zz')",
        b"NoFilter()",
        b"",
    ]
)


def without_unions(read: Made) -> Made:
    """HBase's answer to a family beside one of its columns depends on their order."""
    columns = read.fields.get("columns", [])
    whole = {column.fields["family"] for column in columns if "qualifier" not in column.fields}
    kept = [c for c in columns if "qualifier" not in c.fields or c.fields["family"] not in whole]
    return read._replace(fields={**read.fields, "columns": kept} if columns else read.fields)


def without_limits_of_filtered_stores(get: Made) -> Made:
    """HBase counts cells that ColumnPaginationFilter passes over now and then."""
    if "filterString" not in get.fields:
        return get
    return get._replace(fields={name: value for name, value in get.fields.items() if not name.startswith("store")})


def that_hbase_can(scan: Made) -> Made:
    """It tries scans in pieces with filters of rows for minutes, and refuses some filters in reversed scans."""
    text, fields = scan.fields.get("filterString", b""), dict(scan.fields)
    if text:
        fields.pop("batchSize", None)
    if b"SingleColumn" in text:
        fields.pop("reversed", None)
    return scan._replace(fields=fields)


GET = struct(
    "TGet", row=ROWS, columns=seldom(st.lists(COLUMN, max_size=3)), timestamp=seldom(TIMES, 6), timeRange=seldom(RANGE),
    maxVersions=seldom(st.sampled_from([1, 2, 5, 2**31 - 1])), filterString=seldom(FILTER),
    cacheBlocks=seldom(st.booleans(), 6), storeLimit=seldom(st.sampled_from([0, 1, 2]), 6),
    storeOffset=seldom(st.sampled_from([0, 1, 2]), 6),
).map(without_unions).map(without_limits_of_filtered_stores)  # fmt: skip
SCAN = struct(
    "TScan", startRow=seldom(ROWS, 1), stopRow=seldom(ROWS, 1), columns=seldom(st.lists(COLUMN, max_size=3)),
    caching=seldom(st.sampled_from([1, 2, 100])), maxVersions=seldom(st.sampled_from([1, 2, 5])),
    timeRange=seldom(RANGE), filterString=seldom(FILTER, 4), batchSize=seldom(st.sampled_from([1, 2]), 5),
    reversed=seldom(st.booleans(), 2), readType=seldom(st.sampled_from([1, 2, 3]), 6),
    colFamTimeRangeMap=seldom(st.dictionaries(st.sampled_from([b"f", b"g"]), RANGE, max_size=2), 6),
    limit=seldom(st.sampled_from([1, 2]), 5), cacheBlocks=seldom(st.booleans(), 6),
).map(without_unions).map(that_hbase_can)  # fmt: skip

DURABILITY = seldom(st.sampled_from([0, 1, 2, 3, 4]), 6)
CELL = struct("TColumnValue", family=FAMILY, qualifier=QUALIFIER, value=VALUE, timestamp=seldom(TIMES, 1))
CELLS = st.lists(CELL, max_size=3, unique_by=lambda cell: (cell.fields["family"], cell.fields["qualifier"]))
"""Of a cell that is put twice in one call HBase's filters see the first one, too, now and then."""
PUT = struct("TPut", row=ROWS, columnValues=CELLS, timestamp=seldom(TIMES, 1), durability=DURABILITY)
DELETE = struct(
    "TDelete", row=ROWS, columns=seldom(st.lists(COLUMN, max_size=2), 1), timestamp=seldom(TIMES, 1),
    deleteType=st.sampled_from([0, 1, 2, 3]), durability=DURABILITY,
)  # fmt: skip
AMOUNT = struct(
    "TColumnIncrement", family=FAMILY, qualifier=QUALIFIER, amount=seldom(st.sampled_from([0, 1, -5, 2**62]), 1)
)
INCREMENT = struct(
    "TIncrement", row=ROWS, columns=st.lists(AMOUNT, max_size=3), durability=DURABILITY,
    returnResults=seldom(st.booleans()),
)  # fmt: skip
APPEND = struct(
    "TAppend", row=ROWS, columns=st.lists(CELL, max_size=2), durability=DURABILITY, returnResults=seldom(st.booleans())
)
MUTATION = struct("TMutation", put=PUT) | struct("TMutation", deleteSingle=DELETE)
CHANGES = struct("TRowMutations", row=ROWS, mutations=st.lists(MUTATION, max_size=4))
SOME_CHANGES = struct("TRowMutations", row=ROWS, mutations=st.lists(MUTATION, min_size=1, max_size=4))
"""To no change at all on a condition HBase answers by a null pointer."""
ONE_COLUMN = {"row": ROWS, "family": FAMILY, "qualifier": QUALIFIER}
AT_ONCE = st.sampled_from([1, 2, 100])


def named(drawn: Any) -> Any:
    """With a name for each empty qualifier."""
    if isinstance(drawn, Made):
        return drawn._replace(fields=named(drawn.fields))
    if isinstance(drawn, Call):
        return drawn._replace(arguments=named(drawn.arguments))
    if isinstance(drawn, dict):
        return {key: b"e" if key == "qualifier" and value == b"" else named(value) for key, value in drawn.items()}
    return [named(one) for one in drawn] if isinstance(drawn, list) else drawn


def with_filters_or_empty_qualifiers(program: list[Call]) -> list[Call]:
    """HBase's filters see older versions of the empty qualifier where they go on to the next column."""
    return named(program) if "filterString" in repr(program) else program


def without_deletes_after_checks_of_the_future(program: list[Call]) -> list[Call]:
    """HBase's do not mask the cell that was checked (docs/deviations.md)."""
    checks = [one for one in program if one.method in ("checkAndDelete", "checkAndMutate")]
    return past(program) if "TDelete" in repr(checks) else program


def past(drawn: Any) -> Any:
    """Without the time that lies ahead of the servers' clocks."""
    if isinstance(drawn, (Made, Call)):
        return type(drawn)(drawn[0], past(drawn[1]))
    if isinstance(drawn, dict):
        return {key: 4 if key == "timestamp" and value == FUTURE else past(value) for key, value in drawn.items()}
    return [past(one) for one in drawn] if isinstance(drawn, list) else drawn


PROGRAMS = st.lists(
    st.one_of(
        call("put", tput=PUT),
        call("put", tput=PUT),
        call("putMultiple", tputs=st.lists(PUT, max_size=3)),
        call("deleteSingle", tdelete=DELETE),
        call("deleteMultiple", tdeletes=st.lists(DELETE, max_size=3)),
        call("mutateRow", trowMutations=CHANGES),
        call("checkAndPut", **ONE_COLUMN, value=st.none() | VALUE, tput=PUT),
        call("checkAndDelete", **ONE_COLUMN, value=st.none() | VALUE, tdelete=DELETE),
        call(
            "checkAndMutate", **ONE_COLUMN, compareOperator=st.sampled_from(range(6)), value=VALUE,
            rowMutations=SOME_CHANGES,
        ),
        call("increment", tincrement=INCREMENT),
        call("append", tappend=APPEND),
        call("get", tget=GET),
        call("exists", tget=GET),
        call("getMultiple", tgets=st.lists(GET, max_size=3)),
        call("existsAll", tgets=st.lists(GET, max_size=3)),
        call("getScannerResults", tscan=SCAN, numRows=AT_ONCE),
        call("scanAll", tscan=SCAN, numRows=AT_ONCE),
    ),
    min_size=2,
    max_size=12,
).map(with_filters_or_empty_qualifiers).map(without_deletes_after_checks_of_the_future)  # fmt: skip
WHOLE = Call("getScannerResults", {"tscan": Made("TScan", {"maxVersions": 5}), "numRows": 100})
"""Comes last: the table as it is then."""
