"""Records of files: what is no row is a bad record with a message, never another row and never a trace."""

import datetime
import decimal
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from hbtable.hbase.admin.structs import AdminMutation, AdminOperation
from hbtable.model.mutation import PUT
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.places import Places
from hbtable.shell.transfer.reading import records
from hbtable.shell.transfer.records import BadRecord, Fields, from_json


def of(timestamp: object) -> bytes:
    return json.dumps({"row": "r", "cells": [{"column": "f:q", "value": "v", "timestamp": timestamp}]}).encode()


@pytest.mark.parametrize("timestamp", [0, 5, 2**63 - 1])
def test_a_timestamp_comes_through(timestamp: int) -> None:
    assert from_json(of(timestamp)).operations[0].timestamp == timestamp


@pytest.mark.parametrize("timestamp", [-1, -(2**63), 2**63, 10**100, True, False, 1.5, "5", None, [], {}])
def test_what_is_no_timestamp_is_refused(timestamp: object) -> None:
    with pytest.raises(BadRecord, match=r"cells\[0\]\.timestamp"):
        from_json(of(timestamp))


@pytest.mark.parametrize(
    "line",
    [
        b'{"row": "", "cells": [{"column": "f:q", "value": "v"}]}',
        b'{"row": "' + b"x" * 32768 + b'", "cells": [{"column": "f:q", "value": "v"}]}',
        b"[" * 200_000,
        b"{" * 200_000,
        b'{"row": 5, "cells": []}',
        b"\xff",
        b"null",
    ],
)
def test_what_is_no_row_is_refused(line: bytes) -> None:
    with pytest.raises(BadRecord):
        from_json(line)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b'{"row": "r", "row": "s", "cells": []}', "row"),
        (b'{"row": "r", "cells": [], "cells": [{"column": "f:q", "value": "v"}]}', "cells"),
        (b'{"row": "r", "cells": [{"column": "f:q", "value": "v", "value": "v"}]}', "value"),
        (b'{"row": "r", "cells": [{"column": "f:q", "timestamp": 1, "value": "v", "timestamp": 2}]}', "timestamp"),
        (b'{"row": {"b64": "cg==", "b64": "cw=="}, "cells": []}', "b64"),
        (b'{"row": "r", "cells": [], "note": 1, "note": 2}', "note"),
    ],
)
def test_a_key_that_an_object_has_twice_is_refused(line: bytes, name: str) -> None:
    with pytest.raises(BadRecord, match=f"an object has '{name}' twice"):
        from_json(line)


def test_a_key_twice_is_found_among_many() -> None:
    """Each key was looked for among all before it, which takes minutes for these."""
    names = ", ".join(f'"k{number}": 1' for number in range(300_000))
    with pytest.raises(BadRecord, match="an object has 'row' twice"):
        from_json(f'{{{names}, "row": "r", "row": "s", "cells": []}}'.encode())


@pytest.mark.parametrize("text", ["-1", "", "x", "1.5", "9" * 30, "9" * 6000, " 5", "\u0665", "9223372036854775808"])
def test_a_field_that_is_no_timestamp_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        Fields(["HBASE_ROW_KEY", "HBASE_TS_KEY", "f:q"]).mutation(["r", text, "v"])


@pytest.mark.parametrize("name", ["f:q", "HBASE_ROW_KEY", "HBASE_TS_KEY"])
def test_two_fields_of_one_name_are_refused(tmp_path: Path, name: str) -> None:
    names = ["HBASE_ROW_KEY", "HBASE_TS_KEY", "f:q", "", "", name]
    (tmp_path / "file").write_bytes(b"r,1,v,,,w\n")
    with pytest.raises(ArgumentError, match=f"two fields are named '{name}', and one of them would be lost"):
        list(records(tmp_path / "file", "csv", names, 0))


@pytest.mark.parametrize("columns", [(), ("HBASE_ROW_KEY", "f:q")])
def test_a_byte_order_mark_is_no_part_of_a_row(tmp_path: Path, columns: tuple[str, ...]) -> None:
    (tmp_path / "file").write_bytes("\ufeffHBASE_ROW_KEY,f:q\nr,v\n".encode())
    with pytest.raises(ArgumentError, match="begins with a byte order mark"):
        list(records(tmp_path / "file", "csv", columns, 0))


CELL = '{"column": "f:q", "value": "v"}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "it is no JSON from character 1 on, its end: a record is "),
        ("a,b", "it is no JSON from character 1 on, 'a,b': a record is "),
        ('{"row": "r", "cells": [', "it is no JSON from character 24 on, its end"),
        ("[]", "the record is a list, and has to be {"),
        ('{"cells": []}', "the record has no 'row': it is to be {"),
        ('{"row": "r", "cels": []}', "the record has no 'cells': it is to be {.*and has 'row', 'cels'"),
        ('{"row": 5, "cells": []}', "row is a number, and has to be a string, or "),
        ('{"row": "r", "cells": {}}', "cells is an object, and has to be a list of {"),
        ('{"row": "r", "cells": ["f:q"]}', r"cells\[0\] is a string, and has to be {"),
        (f'{{"row": "r", "cells": [{CELL}, {{"column": "f:q"}}]}}', r"cells\[1\] has no 'value'"),
        ('{"row": "r", "cells": [{"column": null, "value": "v"}]}', r"cells\[0\]\.column is null, and has to be"),
        ('{"row": {"b64": "%"}, "cells": []}', "row is .* of something that is no base64: '%'"),
        ('{"row": {"hex": "00"}, "cells": []}', "row is an object, and not {"),
        ('{"row": "\\ud800", "cells": []}', "row has half of a surrogate pair"),
        ('{"row": ' + "9" * 5000 + ', "cells": []}', "it has a number that is too long"),
    ],
)
def test_a_bad_record_names_the_field_and_what_it_may_be(line: str, said: str) -> None:
    with pytest.raises(BadRecord, match=said) as refused:
        from_json(line.encode())
    raw = ("Error", "object is not", "has no attribute", "NoneType", "Expecting", "codec")
    assert not [word for word in raw if word in str(refused.value)]


def refused(line: bytes) -> str | None:
    """What is wrong with it; None: nothing."""
    try:
        from_json(line)
    except BadRecord as error:
        return str(error)
    return None


def test_a_record_of_any_shape_is_a_row_or_a_message_of_ours() -> None:
    """Each part of a good record is replaced by each other kind of value."""
    values = [None, True, 5, -1, 1.5, "", "x", [], ["x"], {}, {"b64": "AA=="}, {"b64": 5}, {"row": "r"}]
    good = {"row": "r", "cells": [{"column": "f:q", "timestamp": 5, "value": "v"}]}
    tried = 0
    inside = [("cells", 0, name) for name in ("column", "value", "timestamp")]
    for path in (("row",), ("cells",), ("cells", 0), *inside):
        for value in values:
            record: object = json.loads(json.dumps(good))
            holder: object = record
            for step in path[:-1]:
                holder = holder[step]  # type: ignore[index]
            holder[path[-1]] = value  # type: ignore[index]
            said = refused(json.dumps(record).encode())
            assert said is None or path[0] in said or "record" in said
            tried += 1
    assert tried == 6 * len(values)


WRONG_CELLS = [(None, b"f:b", 2, b"2"), (b"r", None, 2, b"2"), (b"r", b"f:b", 2, None)]


@pytest.mark.parametrize("wrong", WRONG_CELLS)
@pytest.mark.parametrize("place", range(4))
def test_an_import_of_parquet_that_stops_behind_a_bad_record_left_nothing_out_before_it(
    tmp_path: Path, place: int, wrong: tuple[object, ...]
) -> None:
    """Whoever has taken a record may go on behind it: all that stands before its end was given."""
    cells: list[tuple[object, ...]] = [(b"r", b"f:%d" % number, number, b"v") for number in range(3)]
    cells.insert(place, wrong)
    file = tmp_path / "cells.parquet"
    names = ("row", "column", "timestamp", "value")
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, zip(*cells, strict=True), strict=True))), file)
    given: list[bytes] = []
    bad_ones = 0
    for record, end in records(file, "parquet", (), 0):
        if isinstance(record, BadRecord):
            bad_ones += 1
        else:
            given += [operation.qualifier for operation in record.operations or ()]
        assert len(given) + bad_ones == end
    assert (given, bad_ones) == ([b"0", b"1", b"2"], 1)


@pytest.mark.parametrize("given", [pyarrow.timestamp("ms"), pyarrow.float64(), pyarrow.bool_(), pyarrow.string()])
def test_a_time_of_another_type_is_a_bad_record_of_parquet(tmp_path: Path, given: pyarrow.DataType) -> None:
    """It was taken for none, and the cells got the time of the import."""
    file = tmp_path / "cells.parquet"
    times = pyarrow.array([1 if not pyarrow.types.is_string(given) else "1", None]).cast(given)
    cells = {"row": [b"r", b"s"], "column": [b"f:a"] * 2, "timestamp": times, "value": [b"v"] * 2}
    pyarrow.parquet.write_table(pyarrow.table(cells), file)
    (wrong, _), (right, _) = records(file, "parquet", (), 0)
    assert isinstance(wrong, BadRecord)
    assert "has to be milliseconds since 1970" in str(wrong)
    assert right == AdminMutation(b"s", [AdminOperation(PUT, b"f", b"a", -1, b"v")])


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("column", ["", "f", "of", "\u00e9"])
def test_a_family_without_a_colon_is_a_bad_record(tmp_path: Path, form: str, column: str) -> None:
    """It was taken for the column with the empty qualifier, which the library refuses to do."""
    file = tmp_path / "cells"
    for written in (column, f"{column}:", f"{column}:a:b"):
        if form == "jsonl":
            file.write_text(json.dumps({"row": "r", "cells": [{"column": written, "timestamp": 1, "value": "v"}]}))
        else:
            cells = {"row": [b"r"], "column": [written.encode()], "timestamp": [1], "value": [b"v"]}
            pyarrow.parquet.write_table(pyarrow.table(cells), file)
        ((found, _),) = records(file, form, (), 0)
        if ":" in written:
            family, _, qualifier = written.encode().partition(b":")
            assert found == AdminMutation(b"r", [AdminOperation(PUT, family, qualifier, 1, b"v")])
        else:
            assert isinstance(found, BadRecord)
            assert f"column is {written!r}, and has to be family:qualifier" in str(found)


@pytest.mark.parametrize("time", [-1, -2, -(2**63)])
def test_a_time_below_0_is_a_bad_record_of_parquet(tmp_path: Path, time: int) -> None:
    """-1 stands for now in calls."""
    file = tmp_path / "cells.parquet"
    times = pyarrow.array([time, 0], pyarrow.int64())
    cells = {"row": [b"r", b"s"], "column": [b"f:a"] * 2, "timestamp": times, "value": [b"v"] * 2}
    pyarrow.parquet.write_table(pyarrow.table(cells), file)
    (wrong, _), (right, _) = records(file, "parquet", (), 0)
    assert isinstance(wrong, BadRecord)
    assert "a time is a number of milliseconds since 1970" in str(wrong)
    assert right == AdminMutation(b"s", [AdminOperation(PUT, b"f", b"a", 0, b"v")])


MOMENT = datetime.datetime.fromisoformat("2026-02-03T04:05:06")
AS_TEXT = [
    (pyarrow.binary(), b"", b""),
    (pyarrow.binary(), b"\xff\0", b"\xff\0"),
    (pyarrow.large_binary(), b"x", b"x"),
    (pyarrow.binary(2), b"\0\1", b"\0\1"),
    (pyarrow.string(), "", b""),
    (pyarrow.string(), "ä", "ä".encode()),
    (pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), "de", b"de"),
    *((type, 7, b"7") for type in (pyarrow.int8(), pyarrow.uint64(), pyarrow.int64())),
    (pyarrow.float64(), 0.1, b"0.1"),
    (pyarrow.decimal128(5, 2), decimal.Decimal("1.50"), b"1.50"),
    (pyarrow.bool_(), True, b"true"),
    (pyarrow.bool_(), False, b"false"),
    (pyarrow.date32(), MOMENT.date(), b"2026-02-03"),
    (pyarrow.timestamp("ms"), MOMENT, b"2026-02-03 04:05:06"),
    (pyarrow.timestamp("ns"), MOMENT, b"2026-02-03 04:05:06"),
    (pyarrow.timestamp("ns"), 1, b"1970-01-01 00:00:00.000000001"),
    (pyarrow.list_(pyarrow.string()), ["x", None], b'["x", null]'),
    (pyarrow.list_(pyarrow.int64()), [], b"[]"),
    (pyarrow.struct([("a", pyarrow.int64())]), {"a": 1}, b'{"a": 1}'),
    (pyarrow.map_(pyarrow.string(), pyarrow.int64()), [("k", 1)], b'{"k": 1}'),
]


@pytest.mark.parametrize(("type", "given", "expected"), AS_TEXT, ids=str)
def test_each_value_of_a_wide_parquet_file_but_null_is_a_cell(
    tmp_path: Path, type: pyarrow.DataType, given: object, expected: bytes
) -> None:
    file = tmp_path / "rows.parquet"
    of_type = {"HBASE_ROW_KEY": ["a", "b"], "f:v": pyarrow.array([given, None], type), "f:x": ["1", "1"]}
    pyarrow.parquet.write_table(pyarrow.table(of_type), file)
    found = [record for record, _ in records(file, "parquet", (), 0)]
    one = AdminOperation(PUT, b"f", b"x", -1, b"1")
    assert found == [
        AdminMutation(b"a", [AdminOperation(PUT, b"f", b"v", -1, expected), one]),
        AdminMutation(b"b", [one]),
    ]


def test_a_value_of_parquet_that_has_no_bytes_is_a_bad_record_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    values = pyarrow.array([[b"\xff"], None, []], pyarrow.list_(pyarrow.binary()))
    pyarrow.parquet.write_table(pyarrow.table({"HBASE_ROW_KEY": ["a", "b", "c"], "f:v": values}), file)
    (first, _), _, (last, _) = records(file, "parquet", (), 0)
    assert isinstance(first, BadRecord)
    assert "field 'f:v' has a value that cannot be written: it is no JSON" in str(first)
    assert json.loads(first.raw) == {"record": 1, "values": ["a", "[b'\\xff']"]}
    assert last == AdminMutation(b"c", [AdminOperation(PUT, b"f", b"v", -1, b"[]")])


def test_a_type_of_parquet_without_a_text_is_refused_unless_it_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    values = pyarrow.array([1], pyarrow.duration("s"))
    pyarrow.parquet.write_table(pyarrow.table({"k": ["a"], "f:v": values, "f:x": ["1"]}), file)
    with pytest.raises(ArgumentError, match=r"field 'f:v' is duration\[s\], of which no text is made"):
        records(file, "parquet", ["HBASE_ROW_KEY", "f:v", "f:x"], 0).__next__()
    ((found, _),) = records(file, "parquet", ["HBASE_ROW_KEY", "", "f:x"], 0)
    assert found == AdminMutation(b"a", [AdminOperation(PUT, b"f", b"x", -1, b"1")])


def bad(raw: bytes) -> BadRecord:
    error = BadRecord("bad")
    error.raw = raw
    return error


def test_places_are_lines_also_behind_records_of_several_lines(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b'k,f:q\n"a\nb",1\nbad\n\n"c\nd",1,2\nlast')
    places = Places(file, "csv")
    assert places.of(19, bad(b"bad\n")) == f"{file}, line 4"
    assert places.of(31, bad(b'"c\nd",1,2\n')) == f"{file}, line 6"
    assert places.of(35, bad(b"last")) == f"{file}, line 8"
    assert Places(file, "parquet").of(7, bad(b"")) == f"{file}, record 7"


@pytest.mark.parametrize(("form", "separator"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("names", [[], ["HBASE_ROW_KEY", "f:a"]])
def test_the_line_of_names_is_no_row_whether_columns_are_given_or_not(
    tmp_path: Path, form: str, separator: str, names: list[str]
) -> None:
    """An export begins with it: the same --columns brought a row named HBASE_ROW_KEY back."""
    file = tmp_path / "rows"
    lines_of_file = [["HBASE_ROW_KEY", "f:a"], ["k", "1"], ["HBASE_ROW_KEY", "2"], ["HBASE_ROW_KEY", "f:a"]]
    file.write_text("".join(f"{separator.join(line)}\n" for line in lines_of_file))
    read = list(records(file, form, names, 0))
    assert [record.row for record, _ in read if not isinstance(record, BadRecord)] == [
        b"k",
        b"HBASE_ROW_KEY",
        b"HBASE_ROW_KEY",
    ]
    assert len(list(records(file, form, names, read[0][1]))) == 2


def test_without_a_line_of_names_the_first_one_is_a_row(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_text("k,1\n")
    ((record, _),) = records(file, "csv", ["HBASE_ROW_KEY", "f:a"], 0)
    assert not isinstance(record, BadRecord)
    assert record.row == b"k"
