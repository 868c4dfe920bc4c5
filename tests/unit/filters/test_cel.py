"""Expressions in CEL as filters: what passes, by a model in Python; what is refused, and where."""

import random
import struct
from collections.abc import Callable, Sequence

import pytest

from hbtable.errors import BadFilter, InvalidRequest, LimitExceeded
from hbtable.filters.arguments import FILTER_NAMES
from hbtable.filters.cel import language, program
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import MAX_EXPRESSIONS, parse

LONG = struct.Struct(">q").pack
LARGEST = 2**63 - 1


class Worker:
    """An Ask that remembers its questions."""

    def __init__(self, error: LimitExceeded | None = None) -> None:
        self.questions: list[Sequence[bytes]] = []
        self.error = error

    def __call__(self, parts: Sequence[bytes], seconds: float) -> Sequence[bytes]:
        self.questions.append(parts)
        if self.error is not None:
            raise self.error
        return program.answer(parts)


def quoted(text):
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def cel(source, *variables, name="CelFilter"):
    return f"{name}({', '.join(map(quoted, (source, *variables)))})".encode()


def projection(column, source, *variables):
    return cel(column, source, *variables, name="CelProjectionFilter")


def kept(text, rows, ahead=0, worker=None):
    """The rows as a scan answers them; looking `ahead` at so many at a time."""
    running = start(parse(text), ask=worker or Worker())
    running.searches.check()
    found = []
    for number, (row, cells) in enumerate(rows):
        if ahead and not number % ahead:
            running.searches.ahead(rows[number : number + ahead])
        if running.skips_row(row):
            continue
        cells = running.apply(row, cells, 1)
        if cells:
            found.append((row, cells))
    return found


class Failed(Exception):
    """An expression of the model without a value: `kinds` are "missing" and "failed", the reasons that it may have."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = frozenset(kinds)


Model = Callable[[dict[str, object]], object]


def named(name: str) -> tuple[str, Model]:
    def value(row: dict[str, object]) -> object:
        if name not in row:
            raise Failed("missing")
        return row[name]

    return name, value


def both(left: Model, right: Model, row: dict[str, object]) -> tuple[object, object]:
    """CEL may look at either first."""
    kinds: set[str] = set()
    values: list[object] = []
    for side in (left, right):
        try:
            values.append(side(row))
        except Failed as failed:
            kinds |= failed.kinds
    if kinds:
        raise Failed(*kinds)
    return values[0], values[1]


def logical(is_and: bool, left: Model, right: Model, row: dict[str, object]) -> bool:
    """False and anything is false, even where the other side has no value."""
    failed = Failed()
    for side in (left, right):
        try:
            if side(row) is not is_and:
                return not is_and
        except Failed as error:
            failed = Failed(*failed.kinds, *error.kinds)
    if failed.kinds:
        raise failed
    return is_and


def arithmetic(operator: str, left: int, right: int) -> int:
    if operator in "/%" and right == 0:
        raise Failed("failed")
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1) if operator in "/%" else 0
    result = {"+": left + right, "-": left - right, "*": left * right, "/": quotient}.get(operator)
    result = left - right * quotient if result is None else result
    if not -LARGEST - 1 <= result <= LARGEST or (operator == "%" and quotient > LARGEST):
        raise Failed("failed")
    return result


def number(rng: random.Random, depth: int) -> tuple[str, Model]:
    if depth == 0 or rng.random() < 0.4:
        if rng.random() < 0.7:
            return named(rng.choice("nm"))
        literal = rng.choice((0, 1, -1, 2, 7, LARGEST))
        return str(literal), lambda row: literal
    operator = rng.choice("+-*/%")
    (a, left), (b, right) = number(rng, depth - 1), number(rng, depth - 1)

    def value(row: dict[str, object]) -> object:
        one, other = both(left, right, row)
        return arithmetic(operator, one, other)

    return f"({a} {operator} {b})", value


def condition(rng: random.Random, depth: int) -> tuple[str, Model]:
    kind = rng.random()
    if depth == 0 or kind < 0.4:
        operator = rng.choice(("<", "<=", "==", "!=", ">", ">="))
        compare = {
            "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b,
            "!=": lambda a, b: a != b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
        }[operator]  # fmt: skip
        if rng.random() < 0.3:
            text = rng.choice(("", "a", "é", "zz"))
            return f"s {operator} '{text}'", lambda row: compare(named("s")[1](row).encode(), text.encode())
        (a, left), (b, right) = number(rng, depth), number(rng, depth)
        return f"({a} {operator} {b})", lambda row: compare(*both(left, right, row))
    if kind < 0.5:
        name = rng.choice("nms")
        return f"('{name}' in present)", lambda row: name in row
    if kind < 0.6:
        a, inner = condition(rng, depth - 1)
        return f"!{a}" if a.startswith("(") else f"!({a})", lambda row: not inner(row)
    is_and = rng.random() < 0.5
    (a, left), (b, right) = condition(rng, depth - 1), condition(rng, depth - 1)
    return f"({a} {'&&' if is_and else '||'} {b})", lambda row: logical(is_and, left, right, row)


VARIABLES = ("n int64 f:n", "m int32 f:m", "s string f:s")


def random_row(
    rng: random.Random, place: int
) -> tuple[tuple[bytes, list[tuple[bytes, int, bytes]]], dict[str, object]]:
    known: dict[str, object] = {}
    cells = [(b"f:a", 9, b"always")]
    if rng.random() < 0.7:
        known["m"] = rng.choice((0, 1, -1, 5))
        cells.append((b"f:m", 5, struct.pack(">i", known["m"])))
    if rng.random() < 0.7:
        known["n"] = rng.choice((0, 1, -3, 7, LARGEST, -LARGEST - 1))
        cells.append((b"f:n", 7, LONG(known["n"])))
    if rng.random() < 0.7:
        known["s"] = rng.choice(("", "a", "é", "zz"))
        cells.append((b"f:s", 3, known["s"].encode()))
    return (b"r%03d" % place, cells), known


@pytest.mark.parametrize("seed", range(200))
def test_random_expressions_pass_what_a_model_passes(seed: int) -> None:
    rng = random.Random(seed)
    rows = [random_row(rng, place) for place in range(20)]
    source, model = condition(rng, 3)
    for row, known in rows:
        try:
            wanted: object = model(known)
        except Failed as failed:
            wanted = failed.kinds
        try:
            found: object = bool(kept(cel(source, *VARIABLES), [row]))
        except BadFilter:
            raise
        except InvalidRequest:
            found = "failed"
        else:
            found = True if found else "missing" if isinstance(wanted, frozenset) else False
        assert found == wanted or (isinstance(wanted, frozenset) and found in wanted), (source, known)


@pytest.mark.parametrize("seed", range(20))
def test_looking_ahead_changes_no_answer(seed: int) -> None:
    rng = random.Random(seed)
    rows = [random_row(rng, place)[0] for place in range(50)]
    text = cel("n > 0 || s == 'a'", *VARIABLES) + b" AND " + projection("f:x", "n - n + 1", *VARIABLES)
    alone, ahead = Worker(), Worker()
    assert kept(text, rows, worker=alone) == kept(text, rows, ahead=16, worker=ahead)
    assert len(ahead.questions) < len(alone.questions) / 4


ROWS = [
    (b"r1", [(b"f:n", 5, LONG(6)), (b"f:n", 4, LONG(100)), (b"f:v", 7, LONG(3))]),
    (b"r2", [(b"f:n", 5, LONG(6)), (b"f:v", 5, LONG(0))]),
    (b"r3", [(b"f:v", 5, LONG(2))]),
]
N_AND_V = ("n int64 f:n", "v int64 f:v")


def test_a_projection_gives_each_row_one_cell_of_the_newest_values_and_leaves_out_rows_without_them() -> None:
    text = cel("v != 0", *N_AND_V) + b" AND " + projection("f:ratio", "double(n) / double(v)", *N_AND_V)
    assert kept(text, ROWS) == [(b"r1", [(b"f:ratio", 7, struct.pack(">d", 2.0))])]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("true", b"\1"), ("false", b"\0"), ("1", LONG(1)), ("-9223372036854775808", LONG(-(2**63))),
        ("1.5", struct.pack(">d", 1.5)), ("18446744073709551615u", b"\xff" * 8), ("'é'", "é".encode()),
        (r"b'\xff'", b"\xff"), ("row", b"r1"), ("string(row) + '!'", b"r1!"), ("size(present)", LONG(2)),
        ("v > 5 ? 'much' : 'little'", b"little"),
    ],
)  # fmt: skip
def test_a_projected_value_is_stored_as_its_type_is(source: str, value: bytes) -> None:
    assert [cell[2] for cell in kept(projection("f:x", source, *N_AND_V), ROWS)[0][1]] == [value]


@pytest.mark.parametrize(
    ("read_as", "stored", "source"),
    [
        ("bytes", b"\xff", r"x == b'\xff'"), ("string", "é".encode(), "x == 'é'"), ("int8", b"\xff", "x == -1"),
        ("int16", b"\xff\xfe", "x == -2"), ("int32", b"\xff" * 4, "x == -1"), ("int64", b"\xff" * 8, "x == -1"),
        ("uint8", b"\xff", "x == 255"), ("uint16", b"\xff\xfe", "x == 65534"),
        ("uint32", b"\xff" * 4, "x == 4294967295"),
        ("uint64", b"\xff" * 8, "x == 18446744073709551615u"), ("float", struct.pack(">f", 1.5), "x == 1.5"),
        ("double", struct.pack(">d", -0.0), "x == 0.0"),
        ("bytes", b"\0a\0b\0", r"x == b'\x00a\x00b\x00' && size(x) == 5 && row == b'\x00r\x00'"),
        ("json", b'{"ok": 1, "big": 99999999999999999999}', "x.ok == 1 && x.big > 1e18"),
        ("json", b'{"a": [1, {"b": "c"}]}', "x.a[1].b == 'c' && x.a[0] == 1 && !has(x.q)"),
    ],
)  # fmt: skip
def test_each_type_is_read(read_as: str, stored: bytes, source: str) -> None:
    assert read_as in language.TYPES
    assert kept(cel(source, f"x {read_as} f:x"), [(b"\0r\0", [(b"f:x", 1, stored)])])


@pytest.mark.parametrize(
    ("read_as", "stored"),
    [
        ("string", b"\xff"), ("string", b"allow\0deny"), ("json", b"{"), ("json", br'{"a": "\u0000"}'),
        ("json", br'{"a\u0000": 1}'), ("json", br'["\ud800"]'), ("int64", b"\0"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_read_matters_only_where_it_decides(read_as: str, stored: bytes) -> None:
    row = (b"r", [(b"f:n", 1, LONG(1)), (b"f:x", 1, stored)])
    variables = ("n int64 f:n", f"x {read_as} f:x")
    assert kept(cel("n == 1 || x == x", *variables), [row])
    assert not kept(cel("n == 2 && x == x", *variables), [row])
    assert kept(cel("'x' in present", *variables), [row])
    with pytest.raises(InvalidRequest, match=f"fails at row b'r': x holds .*, which cannot be read as {read_as}"):
        kept(cel("n == 1 && x == x", *variables), [row])


def test_a_column_goes_to_the_worker_once_and_only_up_to_a_limit() -> None:
    names = [f"v{place}" for place in range(64)]
    worker = Worker()
    row = (b"r", [(b"f:s", 1, b"a" * 1_000_000)])
    source = " && ".join(f"size({name}) == 1000000" for name in names)
    assert kept(cel(source, *(f"{name} bytes f:s" for name in names)), [row], ahead=1, worker=worker)
    assert max(sum(map(len, question)) for question in worker.questions) < 1_010_000
    with pytest.raises(LimitExceeded, match=r"reads 16777217 bytes of row b'r', and the limit is 16777216"):
        kept(cel("size(s) > 0", "s bytes f:s"), [(b"r", [(b"f:s", 1, b"a" * ((16 << 20) + 1))])])


def test_an_expression_is_checked_once() -> None:
    worker = Worker()
    text = cel("n == 4711", "n int64 f:once")
    kept(text, [], worker=worker)
    kept(text, [], worker=worker)
    assert len(worker.questions) == 1


def test_the_members_before_it_decide_what_an_expression_sees() -> None:
    text = b"QualifierFilter(=, 'binary:n') AND " + cel("'v' in present", *N_AND_V)
    assert kept(text, ROWS) == []
    text = cel("'v' in present && 'n' in present", *N_AND_V) + b" AND QualifierFilter(=, 'binary:n')"
    assert [row for row, _ in kept(text, ROWS)] == [b"r1", b"r2"]


@pytest.mark.parametrize(
    "narrow",
    [
        "ColumnPrefixFilter('a')", "MultipleColumnPrefixFilter('a')", "ColumnRangeFilter('a', true, 'a', true)",
        "FirstKeyOnlyFilter()", "ColumnPaginationFilter(1, 0)", "QualifierFilter(=, 'binary:a')",
        "(ColumnPrefixFilter('a') AND KeyOnlyFilter())",
    ],
)  # fmt: skip
def test_what_a_filter_behind_it_passes_over_it_sees_all_the_same(narrow: str) -> None:
    rows = [(b"r%d" % n, [(b"f:%c" % c, 5, LONG(n)) for c in b"abcd"]) for n in range(4)]
    rows.append((b"r4", [(b"f:a", 5, LONG(9))]))
    d = "d int64 f:d"
    for source, wanted in (("d > 1", [b"r2", b"r3"]), ("!('d' in present)", [b"r4"])):
        found = kept(cel(source, d) + f" AND {narrow}".encode(), rows)
        assert [row for row, _ in found] == wanted, source
        assert all([cell[0] for cell in cells] == [b"f:a"] for _, cells in found)


def test_while_ends_the_scan_at_the_first_row_that_does_not_pass() -> None:
    rows = [*ROWS, (b"r4", ROWS[0][1])]
    assert [row for row, _ in kept(b"WHILE " + cel("n == 6", *N_AND_V), rows)] == [b"r1", b"r2"]


@pytest.mark.parametrize(
    ("source", "variables", "reason"),
    [
        ("n / v > 1", N_AND_V, "fails at row b'r2': divide by zero"),
        ("n + 9223372036854775807 > 0", N_AND_V, "fails at row b'r1': OUT_OF_RANGE: integer overflow"),
        ("n > 1", ("n int32 f:n",), "n holds .*, which cannot be read as int32"),
        ("n == ''", ("n json f:n",), "which cannot be read as json"),
        ("string(row).matches('[')", (), "invalid regular expression"),
        ("[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, "
         "[1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, true)))))", (), "Iteration budget exceeded"),
    ],
)  # fmt: skip
def test_an_expression_that_fails_names_the_row(source: str, variables: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        kept(cel(source, *variables), ROWS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (cel("n >", *N_AND_V), "cannot be used: 1:4: Syntax error"),
        (cel("x > 1", *N_AND_V), "undeclared reference to 'x'"),
        (cel("n == 'a'", *N_AND_V), "no matching overload"),
        (cel("n", *N_AND_V), "gives int, and it has to give bool"),
        (projection("f:x", "[n]", *N_AND_V), "gives list<int>, and it has to give one of bool"),
        (projection("f:x", "null", *N_AND_V), "gives null"),
        (cel("(" * 40 + "true" + ")" * 40), "recursion"),
        (b"CelFilter()", "an expression is expected"),
        (b"CelFilter(' ')", "the expression is empty"),
        (b"CelFilter('\xff')", "is not UTF-8"),
        (cel("true" + " " * language.SOURCE_BYTES), "the limit is 4096"),
        (cel("true", "n int64"), "not of the form"),
        (cel("true", "n int64 f"), "not of the form"),
        (cel("true", "1n int64 f:n"), "not of the form"),
        (cel("true", "n int65 f:n"), "is none of bytes, string, json, int8"),
        (cel("true", "row bytes f:n"), "the name row is taken"),
        (cel("true", "n int64 f:n", "n int64 f:m"), "n is given twice"),
        (cel("true", *(f"v{place} int64 f:n" for place in range(65))), "65 variables are more than 64"),
        (projection("f", "1"), "is no column"),
        (b"CelProjectionFilter('f:x')", "a column and an expression are expected"),
        (b"SKIP " + cel("true"), "SKIP looks at cells one by one"),
        (b"SKIP (PageFilter(1) AND " + cel("true") + b")", "SKIP looks at cells one by one"),
        (b" AND ".join([projection("f:x", "1")] * 2), "more than one CelProjectionFilter"),
        (b" AND ".join([cel("true")] * (MAX_EXPRESSIONS + 1)), "more than 16 expressions"),
    ],
)
def test_what_is_no_expression_is_refused_before_the_first_row(text: bytes, reason: str) -> None:
    with pytest.raises(BadFilter, match=reason):
        kept(text, [])


BESIDE = {
    b"KeyOnlyFilter": b"",
    b"FirstKeyOnlyFilter": b"",
    b"PrefixFilter": b"'b'",
    b"ColumnPrefixFilter": b"'p'",
    b"MultipleColumnPrefixFilter": b"'p','z'",
    b"ColumnCountGetFilter": b"1",
    b"PageFilter": b"1",
    b"ColumnPaginationFilter": b"1,1",
    b"InclusiveStopFilter": b"'b'",
    b"TimestampsFilter": b"1",
    b"RowFilter": b"=,'binary:c'",
    b"FamilyFilter": b"=,'binary:g'",
    b"QualifierFilter": b"=,'binary:p'",
    b"ValueFilter": b"=,'binary:two'",
    b"ColumnRangeFilter": b"'p',true,'q',false",
    b"SingleColumnValueFilter": b"'f','p',=,'binary:one'",
    b"SingleColumnValueExcludeFilter": b"'f','p',=,'binary:one'",
    b"DependentColumnFilter": b"'f','p'",
    b"ColumnValueFilter": b"'f','p',=,'binary:one'",
}
"""Arguments of each of HBase's filters."""
BESIDE_ROWS = [
    (row.encode(), [(b"f:n", 1, LONG(n)), (b"f:p", 1, p.encode()), (b"f:z", 2, b"two"), (b"g:p", 2, b"one")])
    for row, n, p in [("a", 1, "one"), ("b", 2, "two"), ("c", 3, "one"), ("d", 1, "two")]
]
BESIDE_SHAPES = (
    (b"%b OR %b", (b"%(x)b", b"%(y)b")),
    (b"%b OR %b OR %b", (b"ValueFilter(=,'binary:no')", b"%(x)b", b"%(y)b")),
    (b"(%b OR %b) OR %b", (b"RowFilter(=,'binary:a')", b"%(x)b", b"%(y)b")),
    (b"(%b) OR %b", (b"%(x)b AND RowFilter(!=,'binary:d')", b"%(y)b")),
    (b"(%b) OR %b", (b"%(x)b AND KeyOnlyFilter()", b"%(y)b")),
    (b"(%b) OR %b", (b"WHILE %(x)b", b"%(y)b")),
)
"""An OR, and its members, of which one is an expression and one another filter."""


def either(texts):
    """The cells that one of the filters gives by itself."""
    found = [dict(kept(text, BESIDE_ROWS)) for text in texts]
    rows = (
        (row, [cell for cell in cells if any(cell in one.get(row, []) for one in found)]) for row, cells in BESIDE_ROWS
    )
    return [(row, cells) for row, cells in rows if cells]


@pytest.mark.parametrize(("shape", "members"), BESIDE_SHAPES)
@pytest.mark.parametrize("name", [*BESIDE, b"CelFilter"])
def test_either_of_an_or_holds_beside_an_expression_or_it_is_refused(
    name: bytes, shape: bytes, members: tuple[bytes, ...]
) -> None:
    """A CelFilter that rejects a row has kept its cells until then: they came with the other's."""
    other = b"%b(%b)" % (name, BESIDE[name]) if name in BESIDE else cel("n > 2", "n int64 f:n")
    for source in ("n == 1", "n > 5", "n > 0"):
        ours = cel(source, "n int64 f:n")
        for x, y in ((ours, other), (other, ours)):
            made = tuple(member % {b"x": x, b"y": y} for member in members)
            try:
                parse(shape % made)
            except BadFilter:
                with pytest.raises(BadFilter, match="OR keeps cells one by one, and CelFilter decides on whole rows"):
                    parse(shape % made)
            else:
                assert kept(shape % made, BESIDE_ROWS) == either(made), shape % made


def test_an_or_of_expressions_and_whole_rows_is_not_refused() -> None:
    assert BESIDE.keys() == FILTER_NAMES
    whole = (b"RowFilter", b"PrefixFilter", b"SingleColumnValueFilter")
    alone = cel("n == 1", "n int64 f:n")
    for name in BESIDE:
        text = b"%b OR (%b OR %b(%b))" % (alone, alone, name, BESIDE[name])
        if name in whole:
            parse(text)
        else:
            with pytest.raises(BadFilter, match="beside it in an OR may stand CelFilter, RowFilter"):
                parse(text)
    assert kept(alone + b" OR " + cel("n == 2", "n int64 f:n"), BESIDE_ROWS) == [
        BESIDE_ROWS[place] for place in (0, 1, 3)
    ]
    assert kept(alone + b" AND (ValueFilter(=,'binary:two') OR FamilyFilter(=,'binary:g'))", BESIDE_ROWS[3:]) == [
        (b"d", BESIDE_ROWS[3][1][1:])
    ]


def test_a_worker_that_was_killed_ends_the_scan_at_the_row_that_did_it_and_says_so() -> None:
    worker = Worker(LimitExceeded("the worker process took more than 1 s"))
    running = start(parse(cel("n > 1", *N_AND_V)), ask=worker)
    running.searches.ahead(ROWS)  # whoever needs the answer is told, not who looks ahead
    running.skips_row(b"r1")
    with pytest.raises(
        LimitExceeded, match=r"'n > 1' could not be evaluated over .* bytes: the worker process took more"
    ):
        running.apply(*ROWS[0], 1)


def test_long_values_are_bounded_and_come_one_at_a_time() -> None:
    text = "a" * 1000
    row = [(b"f:s", 1, text.encode())]
    grown = "+".join(["s"] * 15)
    rows = [(b"r%03d" % place, row) for place in range(100)]
    worker = Worker()
    found = kept(projection("f:x", f"({grown})+({grown})", "s string f:s"), rows, ahead=100, worker=worker)
    assert [cells[0][2] for _, cells in found] == [text.encode() * 30] * 100
    assert all(sum(map(len, program.answer(question))) < 2 * program.VALUE_BYTES for question in worker.questions)
    with pytest.raises(InvalidRequest, match="it gave 2000000 bytes, and the limit is 1048576"):
        kept(projection("f:x", "s + s", "s string f:s"), [(b"r", [(b"f:s", 1, b"a" * 1_000_000)])])


def test_without_the_library_a_filter_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cel_expr_python", None)
    program._compiled.cache_clear()
    with pytest.raises(BadFilter, match="pip install"):
        kept(cel("true"), [])
    program._compiled.cache_clear()


def test_rows_are_packed_and_unpacked() -> None:
    for values in ([], [None], [b""], [None, b"x", b"", b"y" * 300]):
        assert language.unpacked(language.packed(b"r", values)) == [b"r", *values]
        assert language.from_pieces([language.packed(b"r", values)]) is None
        assert language.from_pieces(language.in_pieces(b"r", values)) == [b"r", *values]
    assert language.from_pieces([]) is None


def test_large_values_are_read_as_short_ones_are() -> None:
    """They go to the worker without a copy."""
    source = "row.size() == 3 && present == ['a', 'c'] && size(c) > 2 && a.startsWith('é')"
    variables = [("a", "string", 0), ("b", "bytes", 1), ("c", "bytes", 2)]
    head = program.header(source, variables, True)
    for size in (3, 1 << 20):
        values = ["é".encode() * size, None, b"\0" * size]
        short, large = language.packed(b"row", values), language.in_pieces(b"row", values)
        assert program.answer([program.QUESTION, head, short]) == [b"", program.TRUE]
        assert program.answer([program.QUESTION, head, *large]) == [b"", program.TRUE]
