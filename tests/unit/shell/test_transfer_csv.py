"""Records of CSV and TSV: quotes, the lines that they take in, and what is left of a file where one is missing."""

import io
import itertools
import re
from pathlib import Path

import pytest

from hbtable.hbase.admin.structs import AdminCell, AdminRow
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer import records as module
from hbtable.shell.transfer.exporting import ExportOptions, text_of
from hbtable.shell.transfer.reading import records
from hbtable.shell.transfer.records import BadRecord, Fields, lines


def test_a_field_may_be_as_large_as_a_cell() -> None:
    value = "x" * (10 << 20)
    [(fields, _, _)] = list(lines(io.BytesIO(f"r,{value}\n".encode()), ","))
    assert fields == ["r", value]


def test_a_carriage_return_without_quotes_is_a_bad_record() -> None:
    found = list(lines(io.BytesIO(b"a\rb,1\nc,2\n"), ","))
    assert isinstance(found[0][0], BadRecord)
    assert found[1] == (["c", "2"], b"c,2\n", 10)


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("quotes", [1, 2, 3])
def test_a_quote_anywhere_takes_nothing_with_it(separator: str, quotes: int) -> None:
    """A record is read as it stands; what is none is a bad record of one line, and the next line begins another."""
    field = rf'"(?:[^"]|"")*"|[^"\n{separator}][^\n{separator}]*|'
    whole_record = re.compile(f"(?:{field})(?:{separator}(?:{field}))*\n")
    for places in itertools.combinations_with_replacement(range(len("r2,b c,d") + 1), quotes):
        line = f"r2{separator}b c{separator}d"
        for place in reversed(places):
            line = f'{line[:place]}"{line[place:]}'
        text = f"r1{separator}a\n{line}\nr3{separator}e\nr4{separator}f\n"
        read = list(lines(io.BytesIO(text.encode()), separator))
        assert b"".join(raw for _, raw, _ in read).decode() == text
        assert list(itertools.accumulate(len(raw) for _, raw, _ in read)) == [behind for _, _, behind in read]
        for fields, raw, _ in read:
            assert isinstance(fields, BadRecord) == (not whole_record.fullmatch(raw.decode())), raw
            if isinstance(fields, BadRecord):
                assert raw.count(b"\n") == 1
            else:
                found = re.findall(f"(?:^|{separator})({field})(?=[{separator}\n])", raw.decode())
                assert fields == [one[1:-1].replace('""', '"') if one[:1] == '"' else one for one in found]
        assert [fields for fields, _, _ in read[-2:]] == [["r3", "e"], ["r4", "f"]]


ROWS = [f"r{number},v" for number in range(50)]


@pytest.mark.parametrize("quoted", [[], [30], [10, 30, 49]])
@pytest.mark.parametrize("at", [0, 9, 48])
def test_a_quote_that_nothing_closes_takes_no_other_row_with_it(at: int, quoted: list[int]) -> None:
    """Whether no quote follows in the file, or one that begins another value."""
    given = [f'r{number},"v"' if number in quoted else row for number, row in enumerate(ROWS)]
    given[at] = 'r,"open'
    found = list(lines(io.BytesIO("".join(f"{line}\n" for line in given).encode()), ","))
    bad = [(number, raw) for number, (fields, raw, _) in enumerate(found) if isinstance(fields, BadRecord)]
    assert bad == [(at, b'r,"open\n')]
    assert [fields for fields, _, _ in found if not isinstance(fields, BadRecord)] == [
        row.split(",") for row in ROWS[:at] + ROWS[at + 1 :]
    ]


def test_behind_an_open_quote_no_more_is_held_than_a_record_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(io.BytesIO):
        furthest = 0

        def readline(self, size: int | None = -1) -> bytes:
            line = super().readline(size)
            self.furthest = max(self.furthest, self.tell())
            return line

    monkeypatch.setattr(module, "_LARGEST_RECORD", 1000)
    file = Counting(b'a,"open\n' + b"b,1\n" * 10_000)
    found = lines(file, ",")
    fields, raw, behind = next(found)
    assert isinstance(fields, BadRecord)
    assert (raw, behind) == (b'a,"open\n', 8)
    assert file.furthest <= 1000 + len("b,1\n")
    assert [fields for fields, _, _ in found] == [["b", "1"]] * 10_000
    largest = 'c,"' + "x\n" * 497 + '"\n'
    assert len(largest) == 999
    assert [one for one, _, _ in lines(io.BytesIO(f"{largest}{largest}".encode()), ",")] == [["c", "x\n" * 497]] * 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'r,"a\ns,b\n', "a quote that nothing closes"),
        (b'r,"a" b\ns,b\n', "behind the quote that closes it"),
        (b'r,"a\ns,b\nt,"c"\n', "a quote, and the next one, 2 lines further, does not end it"),
    ],
)
def test_a_bad_quote_is_named(tmp_path: Path, line: bytes, said: str) -> None:
    """Also in the line that names the fields."""
    file = tmp_path / "rows.csv"
    file.write_bytes(b"HBASE_ROW_KEY,f:a\n" + line)
    record = next(records(file, "csv", (), 0))[0]
    assert isinstance(record, BadRecord)
    assert said in str(record)
    file.write_bytes(line)
    with pytest.raises(ArgumentError, match=f"line 1, which is to name the fields: .*{said}"):
        list(records(file, "csv", (), 0))


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_column_that_is_no_utf8_comes_back_from_an_export(tmp_path: Path, form: str) -> None:
    r"""It is no column of the letters \xff either."""
    names = ["f:\udcff", r"f:\xff"]
    cells = [AdminCell(b"f:\xff", 1, b"byte"), AdminCell(rb"f:\xff", 1, b"letters")]
    text = text_of(ExportOptions(b"t", Path("rows"), form, names), [AdminRow(b"r", cells)])
    separator = "," if form == "csv" else "\t"
    first = separator.join(["HBASE_ROW_KEY", *names]).encode("utf-8", "surrogateescape") + b"\n"
    for columns in ([], ["HBASE_ROW_KEY", *names]):
        (tmp_path / "rows").write_bytes(text if columns else first + text)
        ((record, _),) = records(tmp_path / "rows", form, columns, 0)
        assert not isinstance(record, BadRecord)
        assert [(one.qualifier, one.value) for one in record.operations or ()] == [
            (b"\xff", b"byte"),
            (rb"\xff", b"letters"),
        ]


@pytest.mark.parametrize(("form", "separator"), [("csv", ","), ("tsv", "\t")])
def test_every_byte_comes_back_from_an_export_wherever_it_stands(form: str, separator: str) -> None:
    options = ExportOptions(b"t", Path("rows"), form, ["f:a", "f:b"])
    values = [made % byte for byte in (bytes([number]) for number in range(256)) for made in PLACES]
    rows = [AdminRow(value, [AdminCell(b"f:a", 1, value), AdminCell(b"f:b", 1, value)]) for value in values]
    fields = Fields(["HBASE_ROW_KEY", "f:a", "f:b"])
    found = []
    for line, _, _ in lines(io.BytesIO(text_of(options, rows)), separator):
        assert not isinstance(line, BadRecord)
        found.append(fields.mutation(line))
    assert [(one.row, *(operation.value for operation in one.operations or ())) for one in found] == [
        (value, value, value) for value in values
    ]


PLACES = (b"%b", b"x%b", b"%bx", b"x%by", b"x%b\n", b"\n%bx")
