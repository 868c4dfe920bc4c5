"""adminScanArrow of a gateway with users, through Thrift's own client: rights, limits, and what it refuses."""

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from hbtable.access.user import User
from tests.harness.guarded_gateway import GuardedGateway, interface

ROOT, ANN = User("root"), User("ann")
ADMIN = interface("admin")


def column(name: bytes, read_as: str = "binary") -> Any:
    family, _, qualifier = name.partition(b":")
    return ADMIN.AdminArrowColumn(family, qualifier, read_as)


def read(*names: bytes, **fields: Any) -> Any:
    columns = [ADMIN.AdminColumn(*name.split(b":")) for name in names] if names else None
    return ADMIN.AdminRead(columns=columns, **fields)


def records(page: Any) -> list[tuple[Any, ...]]:
    if not page.batches:
        return []
    table = pa.ipc.open_stream(page.batches).read_all()
    return list(zip(*(one.to_pylist() for one in table.columns), strict=True))


def in_gateway(check: Callable[[Any, Any], None]) -> None:
    """With root's and ann's clients: t has f:a, f:b and g:a, and ann may read f:a and g of it."""
    gateway = GuardedGateway()

    def main() -> None:
        gateway.start()
        root, ann = (gateway.client(user, "admin") for user in (ROOT, ANN))
        families = [ADMIN.AdminFamily(name=name) for name in (b"f", b"g")]
        root.adminCreateTable(ADMIN.AdminTable(name=b"t", families=families), [b"m"])
        for row in (b"a", b"\x00z", b"z"):
            put = [ADMIN.AdminOperation(8, b"f", b"b", 1, b"secret")]
            if row != b"z":
                put += [ADMIN.AdminOperation(8, b"f", b"a", 1, struct.pack(">q", len(row)))]
                put += [ADMIN.AdminOperation(8, b"g", b"a", 1, b"")]
            root.adminMutate(b"t", row, put, 0)
        root.adminFlush(b"t", 0)
        for family, qualifier in ((b"f", b"a"), (b"g", None)):
            root.adminGrant(ADMIN.AdminGrant("ann", "R", b"", b"t", family, qualifier), False)
        check(root, ann)
        gateway.stop()

    gateway.runtime.run(main)


def test_a_record_a_row_and_a_record_a_cell() -> None:
    def check(root: Any, _: Any) -> None:
        page = root.adminScanArrow(
            b"t", ADMIN.AdminScan(maxRows=2), [column(b"f:a", "int64"), column(b"g:a", "string")]
        )
        assert records(page) == [(b"\x00z", 2, ""), (b"a", 1, "")]
        assert page.position.row == b"a\x00"
        rest = ADMIN.AdminScan(position=page.position)
        page = root.adminScanArrow(b"t", rest, [column(b"f:a", "int64"), column(b"f:b")])
        assert records(page) == [(b"z", None, b"secret")]
        assert page.position is None
        page = root.adminScanArrow(b"t", ADMIN.AdminScan(read=read(b"f:b"), startRow=b"b"), None)
        assert records(page) == [(b"z", b"f:b", 1, b"secret")]

    in_gateway(check)


def test_rows_may_be_there_by_columns_that_are_not_sent() -> None:
    def check(root: Any, _: Any) -> None:
        page = root.adminScanArrow(b"t", ADMIN.AdminScan(read=read(b"f:b"), startRow=b"m"), [column(b"f:a", "int64")])
        assert records(page) == [(b"z", None)]
        page = root.adminScanArrow(b"t", ADMIN.AdminScan(read=read(b"g:a", b"f:b"), startRow=b"m"), [])
        assert records(page) == [(b"z",)]
        whole = ADMIN.AdminRead(columns=[ADMIN.AdminColumn(b"f")])
        page = root.adminScanArrow(b"t", ADMIN.AdminScan(read=whole, startRow=b"m"), [column(b"f:a", "int64")])
        assert records(page) == [(b"z", None)]

    in_gateway(check)


def test_nobody_gets_a_column_that_he_may_not_read() -> None:
    """Also not by column, where the server cuts what the call names out of blocks."""

    def check(_: Any, ann: Any) -> None:
        asked = [column(b"f:b"), column(b"f:a", "int64")]
        assert records(ann.adminScanArrow(b"t", ADMIN.AdminScan(), asked)) == [(b"\x00z", None, 2), (b"a", None, 1)]
        assert records(ann.adminScanArrow(b"t", ADMIN.AdminScan(read=read(b"f:b"), startRow=b"b"), asked[1:])) == []
        cells = records(ann.adminScanArrow(b"t", ADMIN.AdminScan(), None))
        assert {cell[1] for cell in cells} == {b"f:a", b"g:a"}
        with pytest.raises(ADMIN.IOError, match="AccessDenied"):
            ann.adminScanArrow(b"t", ADMIN.AdminScan(), [column(b"f:b")])

    in_gateway(check)


REFUSED = [
    (ADMIN.AdminScan(), [column(b"f:a", "int65")], "as one of int8, int16"),
    (ADMIN.AdminScan(), [column(b"f:a"), column(b"f:a")], "asked for twice"),
    (ADMIN.AdminScan(), [], "names no columns"),
    (ADMIN.AdminScan(), [column(b"f:%d" % number) for number in range(4097)], "4097 columns, at most 4096"),
    (ADMIN.AdminScan(read=ADMIN.AdminRead(maxVersions=2)), [column(b"f:a")], "one value of each column"),
    (ADMIN.AdminScan(cellsPerRow=2), [column(b"f:a")], "one value of each column"),
    (ADMIN.AdminScan(read=ADMIN.AdminRead(raw=True)), None, "markers, for which"),
    (ADMIN.AdminScan(), [column(b"f:a", "int32")], r"x00z' has the value b'.*x02' in column b'f:a': it has 8 bytes"),
]


def test_what_is_refused_is_named() -> None:
    def check(root: Any, _: Any) -> None:
        for scan, columns, message in REFUSED:
            with pytest.raises((ADMIN.IllegalArgument, ADMIN.IOError), match=message):
                root.adminScanArrow(b"t", scan, columns)

    in_gateway(check)


def test_nulls_of_many_columns_take_bounded_memory() -> None:
    """4000 columns of which no row has one are nulls in each record, and no byte of a cell stands for them."""

    def check(root: Any, _: Any) -> None:
        put = [ADMIN.AdminOperation(8, b"f", b"b", 1, b"")]
        root.adminMutateRows(b"t", [ADMIN.AdminMutation(b"n%03d" % number, put) for number in range(300)])
        columns = [column(b"f:b"), *(column(b"f:c%d" % number, "double") for number in range(3999))]
        page = root.adminScanArrow(b"t", ADMIN.AdminScan(startRow=b"n", maxRows=10_000), columns)
        assert len(records(page)) == 250
        assert page.position is not None

    in_gateway(check)
