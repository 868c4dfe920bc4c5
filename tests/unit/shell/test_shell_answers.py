"""Formats of answers, and the texts of values, times and sizes."""

import ast
import base64
import csv
import io
import json

import pytest

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.model.visible import has_unseen, visible
from hbtable.shell import filter_errors
from hbtable.shell.address import parse_address
from hbtable.shell.answers import text
from hbtable.shell.answers.description import family_line, table_line
from hbtable.shell.answers.formats import FORMATS, make_output
from hbtable.shell.answers.output import HBaseOutput
from hbtable.shell.arguments import columns
from hbtable.shell.context import show_name
from hbtable.shell.errors import ServerError
from tests.architecture.product_trees import PRODUCT, product_tree


def answer(name: str) -> str:
    stream = io.StringIO()
    out = make_output(name, stream)
    out.begin(("ROW", "COLUMN+CELL"))
    for value in (b"plain", b"\xff\x00", b"b64:no"):
        record = {"row": b"r", "column": b"f:q", "timestamp": 5, "value": value}
        out.row(("r", f"column=f:q, timestamp=5, value={text.binary(value)}"), record if out.wants_records else None)
    out.end(3)
    out.value(None)
    out.took(0.5)
    out.flush()
    return stream.getvalue()


def test_hbase_lines() -> None:
    assert answer("hbase").splitlines() == [
        "ROW  COLUMN+CELL",
        " r column=f:q, timestamp=5, value=plain",
        " r column=f:q, timestamp=5, value=\\xFF\\x00",
        " r column=f:q, timestamp=5, value=b64:no",
        "3 row(s)",
        "Took 0.5000 seconds",
    ]


def test_json_is_lossless() -> None:
    rows = json.loads(answer("json"))
    assert [row["value"] for row in rows] == ["plain", {"b64": "/wA="}, "b64:no"]
    assert [json.loads(line) for line in answer("jsonl").splitlines()] == rows


def test_csv_is_lossless() -> None:
    rows = list(csv.DictReader(io.StringIO(answer("csv"))))
    assert [row["value"] for row in rows] == ["plain", "b64:/wA=", "b64:YjY0Om5v"]


def test_drawn_tables_have_a_header_and_a_count() -> None:
    lines = answer("table").splitlines()
    assert lines[0].split(" │ ")[0].strip() == "row"
    assert lines[-2] == "3 row(s)"


def test_a_terminal_gets_padded_and_wrapped_columns() -> None:
    stream = io.StringIO()
    HBaseOutput(stream, 40).row(("r", "x" * 40))
    first, second = stream.getvalue().splitlines()
    assert first.startswith(" r ")
    assert second.strip() == "x" * (40 - first.count("x"))
    assert all(len(line) <= 40 for line in (first, second))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(b"a b~", "a b~"), (b"\\", "\\x5C"), (b"\x00\x7f\x80", "\\x00\\x7F\\x80"), ("é".encode(), "\\xC3\\xA9")],
)
def test_binary(value: bytes, shown: str) -> None:
    assert text.binary(value) == shown


def test_times_to_live_and_sizes() -> None:
    assert text.ttl(90061) == "90061 SECONDS (1 DAY 1 HOUR 1 MINUTE 1 SECOND)"
    assert text.ttl(1) == "1 SECOND"
    assert text.ttl(2**31 - 1) == "FOREVER"
    assert text.size(134217728) == "134217728 B (128MB)"
    assert text.size(100) == "100 B"


def test_times_beyond_the_year_9999_have_javas_sign() -> None:
    assert text.timestamp(2**63 - 1)[:14] == "+292278994-08-"
    assert text.timestamp(253402300799999 - 86_400_000).startswith("9999-12-30T")
    assert text.timestamp(253402300800000 + 86_400_000).startswith("+10000-01-02T")
    assert text.timestamp(-62167219200000 - 86_400_000 * 2).startswith("-0001-12-30T")


def test_the_last_plural_of_a_ttl_follows_the_minutes() -> None:
    """HBase's own slip: its users compare these lines."""
    assert text.ttl(100) == "100 SECONDS (1 MINUTE 40 SECOND)"
    assert text.ttl(121) == "121 SECONDS (2 MINUTES 1 SECONDS)"
    assert text.ttl(3605) == "3605 SECONDS (1 HOUR 5 SECONDS)"


@pytest.mark.parametrize(
    ("message", "first", "reason"),
    [
        ("Incorrect filter string A(): 1 arguments are expected", "Incorrect filter string A()", "1 arguments are exp"),
        ("Incorrect Filter String: AND is expected", "Incorrect Filter String", "AND is expected"),
        ("Incorrect argument list: this quote is never closed", "Incorrect Filter String", "this quote is never"),
        (
            "Incorrect comparatorType: 'x' is none of binary in ValueFilter(=, 'x:a')",
            "Incorrect filter string ValueFilter(=, 'x:a')",
            "Incorrect comparatorType: 'x' is none of binary",
        ),
        ("Filter Name X not supported", "Filter Name X not supported", ""),
    ],
)
def test_a_refused_filter_in_two_lines(message: str, first: str, reason: str) -> None:
    head, why = filter_errors.in_two(message)
    assert head == first
    assert why.startswith(reason)
    assert bool(why) == bool(reason)


def test_a_big_decimal_has_its_scale_in_front() -> None:
    show = columns.named(b"toBigDecimal")
    assert show(b"\x00\x00\x00\x02" + (-12345).to_bytes(2, "big", signed=True)) == "-123.45"
    with pytest.raises(ServerError):
        show(b"abc")


def test_bytes_written_out_are_bytes() -> None:
    assert text.from_binary(rb"a\x01\xfF\x0") == b"a\x01\xff\\x0"


def test_json_of_a_command_that_fails_is_no_array() -> None:
    for rows, expected in ((0, ""), (1, '[{"row": "r"}\n')):
        stream = io.StringIO()
        out = make_output("json", stream)
        out.begin(("ROW", "COLUMN+CELL"))
        for _ in range(rows):
            out.row(("r", ""), {"row": b"r"})
        out.failed()
        out.took(0.5)
        out.flush()
        assert stream.getvalue() == expected


def test_json_of_no_rows_is_an_empty_array() -> None:
    stream = io.StringIO()
    out = make_output("json", stream)
    out.begin(("ROW", "COLUMN+CELL"))
    out.end(0)
    out.flush()
    assert stream.getvalue() == "[]\n"


@pytest.mark.parametrize("address", ["foo", "", ":5", "h:", "h:x", "h:0", "h:65536", "h:-1", "h:9090:"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:9090"):
        parse_address(address)


def test_addresses() -> None:
    assert parse_address("thrift://h:9090/")[:3] == ("h", 9090, False)
    assert parse_address("[::1]:5")[:3] == ("::1", 5, False)
    with_files = parse_address("thrift+tls://[::1]:5?ca=%2Fa+b.pem&certificate=c.pem")
    assert with_files == ("::1", 5, True, "/a b.pem", "c.pem", "", "", False)
    assert parse_address(str(with_files)) == with_files
    for given in (
        "thrift+tls://a%40b%2Fc@[::1]:5?secret=%2Fa+b",
        "thrift://ann@h:5?secret=s&plain_text=true",
        "thrift://ann@h:5",
        "ann@h:5",
    ):
        with_user = parse_address(given)
        assert parse_address(str(with_user)) == with_user
    assert with_user.user == "ann"
    assert parse_address("thrift+tls://a%40b%2Fc@[::1]:5?secret=%2Fa+b")[5:] == ("a@b/c", "/a b", False)
    assert parse_address("ann@h:5?plain_text=true").plain_text


@pytest.mark.parametrize(
    "address",
    ["h:5?plain_text=true", "ann@h:5?plain_text=yes", "ann@h:5?plain_text=", "thrift+tls://ann@h:5?plain_text=true"],
)
def test_where_nothing_is_sent_in_plain_text(address: str) -> None:
    with pytest.raises(ValueError, match="plain_text=true of USER@ without TLS"):
        parse_address(address)


@pytest.mark.parametrize("rest", ["h:5", "h:99999", "h", "h:5?ca=x"])
def test_a_password_in_an_address_is_refused_and_not_repeated(rest: str) -> None:
    with pytest.raises(ValueError, match="no password: give the password with --secret FILE") as refused:
        parse_address(f"thrift://ann:hunter22@{rest}")
    assert "hunter22" not in str(refused.value)


@pytest.mark.parametrize("query", ["secret=f", "ca=f"])
def test_what_an_address_without_user_or_without_tls_does_not_have(query: str) -> None:
    with pytest.raises(ValueError, match="secret=FILE of USER@"):
        parse_address(f"thrift://h:5?{query}")


# ---------------------------------------------------------------- whatever a terminal would obey

OBEYED = [chr(code) for code in (*range(9), *range(10, 32), *range(127, 160), 0x200E, 0x2028, 0x202E, 0x2066)]
HOSTILE = "a\x1b]0;root\x07\x1b[2J\r\nfake 9 row(s)\x9b31mb\u202e"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_that_a_terminal_obeys_comes_out_of_any_format(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for hostile in (HOSTILE, *OBEYED):
        for width in (0, 80):
            stream = Terminal()
            out = make_output(name, stream, width)
            out.begin(("ROW", "COLUMN+CELL"))
            for texts in ((hostile, "x"), ("x", hostile)):
                out.row(texts, {"row": hostile.encode(), "name": hostile, "deep": {"k": [hostile]}})
            out.end(2)
            out.row((hostile,))
            out.say(f"about {visible(hostile)}")
            out.note(hostile)
            out.value(hostile.encode())
            out.flush()
            told = capsys.readouterr()
            seen = stream.getvalue() + told.err
            if "\n" not in hostile:
                assert hostile not in seen, (hostile, seen)
            assert not has_unseen(seen), seen
            if name == "hbase":
                assert not any(line.startswith("fake") for line in stream.getvalue().splitlines())


def test_texts_that_no_terminal_obeys_stay_as_they_are() -> None:
    for plain in ("", "a\tb", "é\u3000\u00a0€", "\ue000", "\\x1B"):
        assert visible(plain) == plain
    assert visible("a\x1b[1mb\u202e\n") == "a\\x1B[1mb\\xE2\\x80\\xAE\\x0A"
    assert visible("a\n\x1bb\n", lines=True) == "a\n\\x1Bb\n"


def test_formats_for_programs_lose_nothing_by_it() -> None:
    rows = [{"row": HOSTILE.encode(), "value": "\x7f\x9b\r"}]
    for stream, cut in ((io.StringIO(), 0), (Terminal(), 4)):
        out = make_output("csv", stream)
        out.row((), rows[0])
        (row,) = csv.DictReader(io.StringIO(stream.getvalue(), newline=""))
        assert (base64.b64decode(row["row"][4:]).decode() if cut else row["row"]) == HOSTILE
        assert cut or row["value"] == "\x7f\x9b\r"
        out = make_output("jsonl", stream := io.StringIO())
        out.row((), rows[0])
        assert json.loads(stream.getvalue()) == {"row": HOSTILE, "value": "\x7f\x9b\r"}


def test_a_schema_and_regions_of_a_stranger() -> None:
    family = AdminFamily(
        name=b"f", max_versions=1, min_versions=0, ttl_seconds=2**31 - 1, bloom=HOSTILE, in_memory=False,
        compression="NONE", block_cache=True, block_bytes=65536, attributes={HOSTILE: HOSTILE, "METADATA/x": HOSTILE},
    )  # fmt: skip
    table = AdminTable(name=b"t", attributes={HOSTILE: HOSTILE, "PRIORITY": HOSTILE}, split_bytes=0)
    assert table_line(table).isprintable()
    assert family_line(family).isprintable()
    assert show_name(f"t,{HOSTILE},1.abc.".encode()).isprintable()


def test_names_and_keys_are_shown_through_one_door() -> None:
    """Bytes that become text for people: visible(...) around it, or one of those that are not shown so."""
    found = set()
    for path in sorted((PRODUCT / "shell").rglob("*.py")):
        shown = [
            id(argument)
            for node in ast.walk(product_tree(path))
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "visible"
            for argument in node.args
        ]
        found |= {
            str(path.relative_to(PRODUCT / "shell"))
            for node in ast.walk(product_tree(path))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "decode" and id(node) not in shown
            and [getattr(one, "value", "") for one in node.args[1:]] == ["backslashreplace"]
        }  # fmt: skip
    assert found == NOT_THROUGH_IT.keys()


NOT_THROUGH_IT = {
    "copying/target_tables.py": "a table's name",
    "copying/copy_parts.py": "a table's name",
    "language/literals.py": "Ruby's to_s of what was typed",
    "shadow/repeating.py": "a table's name",
    "shadow/tally.py": "a table's name, in JSON",
    "transfer/origin.py": "a table's name",
}
