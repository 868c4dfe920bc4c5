"""The shell's language: what is understood, what is refused and where, and that nothing is evaluated but itself."""

from typing import Any

import pytest

from hbtable.shell.advice import advice
from hbtable.shell.arguments.known_options import OPTIONS
from hbtable.shell.errors import ArgumentTypeError, Incomplete, SyntaxMistake, UnknownMethod, UnknownName
from hbtable.shell.language.constants import CONSTANTS
from hbtable.shell.language.evaluate import Interpreter
from hbtable.shell.language.literals import Symbol, Value, inspect
from hbtable.shell.language.parser import parse

Calls = list[tuple[str, list[Value]]]


def run(text: str) -> tuple[Value, Calls]:
    """(value of the last statement, commands called)."""
    calls: Calls = []

    def command(name: str, arguments: list[Value]) -> Value:
        calls.append((name, arguments))
        return None

    interpreter = Interpreter(lambda name: name in ("put", "get", "scan", "list", "create"), command)
    value: Value = None
    for statement in parse(text):
        value = interpreter.evaluate(statement)
    return value, calls


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a\x00\n'", rb"a\x00\n"),
        (r"'it\'s \\ it'", rb"it's \ it"),
        (r'"\x41\102\t\e\u20ac\u{e9}"', b"AB\t\x1b\xe2\x82\xac\xc3\xa9"),
        (r'"\xff\0"', b"\xff\x00"),
        ('"r#{1 + 2 * 3}"', b"r7"),
        ("'größe'", "größe".encode()),
        ("1_000", 1000),
        ("0x1f", 31),
        ("-5", -5),
        ("1.5", 1.5),
        ("7 / 2", 3),
        (":sym", Symbol("sym")),
        ("[1, 'two', nil]", [1, b"two", None]),
        ("{'k' => 1, COLUMNS => ['f']}", {b"k": 1, b"COLUMNS": [b"f"]}),
        ("x = 'a'; x + 'b'", b"ab"),
        ("'abc'.length", 3),
        ("1e3", 1000.0),
        ("[1, 2][-1]", 2),
        ("[1, 2][5]", None),
        ("x = {LIMIT => 4}; x[LIMIT]", 4),
        ("'abc'[1]", b"b"),
        ("# only a comment", None),
    ],
)
def test_values(text: str, value: Value) -> None:
    assert run(text)[0] == value


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("put 't', 'r', 'f:a', 'v', 1", ("put", [b"t", b"r", b"f:a", b"v", 1])),
        ("put('t', 'r')", ("put", [b"t", b"r"])),
        ("put 't', -1", ("put", [b"t", -1])),
        ("create 't', NAME => 'f', VERSIONS => 5", ("create", [b"t", {b"NAME": b"f", b"VERSIONS": 5}])),
        ("create 't', 'f', {LIMIT => 1}", ("create", [b"t", b"f", {b"LIMIT": 1}])),
        ("scan 't',\n  {\n  LIMIT => 1,\n }", ("scan", [b"t", {b"LIMIT": 1}])),
        ("get 't', \\\n 'r' # why", ("get", [b"t", b"r"])),
        ("list", ("list", [])),
    ],
)
def test_calls(text: str, call: tuple[str, list[Value]]) -> None:
    assert run(text)[1] == [call]


def test_semicolons_and_lines_separate_statements() -> None:
    assert [name for name, _ in run("list; put 'a'\nget 'b'")[1]] == ["list", "put", "get"]


@pytest.mark.parametrize("text", ["scan 't", 'scan "t', "scan 't', {LIMIT => 1", "put 't',", "x =", "get('t'"])
def test_what_more_lines_may_complete_is_incomplete(text: str) -> None:
    with pytest.raises(Incomplete):
        parse(text)


@pytest.mark.parametrize(
    ("text", "column"), [("list)", 4), ("put 't' 'r' ]", 12), ("get 't', {LIMIT 1}", 16), ("scan 't', $x", 10)]
)
def test_a_mistake_has_its_column(text: str, column: int) -> None:
    with pytest.raises(SyntaxMistake) as error:
        parse(text)
    assert error.value.column == column


@pytest.mark.parametrize("text", ["lst", "LIMITS", "x"])
def test_unknown_words_are_name_errors(text: str) -> None:
    with pytest.raises(UnknownName):
        run(text)


@pytest.mark.parametrize("text", ["frob 't'", "'a'.nonsense", "'a'.__class__", "nil.call 'x'", "[].pop"])
def test_values_have_few_methods(text: str) -> None:
    with pytest.raises((UnknownMethod, SyntaxMistake)):
        run(text)


def test_arithmetic_needs_numbers() -> None:
    with pytest.raises(UnknownMethod, match='undefined method `-\' for "a":String'):
        run("'a' - 1")
    with pytest.raises(ArgumentTypeError, match="no implicit conversion of Integer into String"):
        run("'a' + 1")
    with pytest.raises(ArgumentTypeError, match="String can't be coerced into Integer"):
        run("1 + 'a'")
    with pytest.raises(ArgumentTypeError):
        run("1 / 0")
    with pytest.raises(ArgumentTypeError):
        run("'a' * 99999999999")


def test_values_have_the_methods_of_their_kind() -> None:
    for text, value in (
        ("'größe'.length", 5),
        ("'größe'.reverse", "eßörg".encode()),
        ("'a,b,,'.split(',')", [b"a", b"b"]),
        ("['a'] + ['b']", [b"a", b"b"]),
        ("['a', 1].join('-')", b"a-1"),
        ("'12x'.to_i", 12),
        ("2 ** 3 ** 2", 512),
        ("n = 1; n += 4; n", 5),
        ("T = 't1'; T", b"t1"),
    ):
        assert run(text)[0] == value
    for text in ("nil.length", "5.upcase", "[].upcase", "'a'.keys", "'a'.length(1)", "LIST 'a'"):
        with pytest.raises(UnknownMethod):
            run(text)


def test_escapes_that_few_know() -> None:
    assert run(r'"\C-a\cA\M-a"')[0] == b"\x01\x01\xe1"
    assert run(r'"\u{41 20ac}"')[0] == "A€".encode()
    for text in (r'"\xg"', r'"\u12"'):
        with pytest.raises(SyntaxMistake, match=r"Invalid (hex|Unicode) escape"):
            run(text)


def test_other_words_for_a_constant() -> None:
    assert run("{ENDROW => 'a', STARTKEY => 'b'}")[0] == {b"STOPROW": b"a", b"STARTROW": b"b"}


def test_deep_brackets_are_refused_not_crashed_on() -> None:
    with pytest.raises(SyntaxMistake):
        parse("[" * 5000 + "]" * 5000)


def test_values_are_shown_as_ruby_shows_them() -> None:
    assert inspect([b'a"\n\xff', {b"k": None}, True, 1.5, Symbol("s")]) == r'["a\"\n\xFF", {"k"=>nil}, true, 1.5, :s]'
    assert inspect("größe".encode()) == '"größe"'


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        ("list.each { |t| puts t }", "Ruby's blocks, loops and conditions are not there"),
        ("for i in 1..3 do puts i end", "Ruby's blocks, loops and conditions are not there"),
        ("scan 't', LIMIT: 1", "options are written NAME => value"),
        ("scan 't' 't2'; scan 't')", ""),
    ],
)
def test_what_ruby_would_take_gets_advice(text: str, advised: str) -> None:
    with pytest.raises(SyntaxMistake) as caught:
        run(text)
    assert caught.value.advice.startswith(advised)
    assert bool(caught.value.advice) == bool(advised)


def test_floats_are_shown_as_ruby_does() -> None:
    assert [inspect(value) for value in (1e20, 1.5e-7, 0.5, float("inf"))] == ["1.0e+20", "1.5e-07", "0.5", "Infinity"]


@pytest.mark.parametrize(
    ("command", "option"), [(name, one) for name in OPTIONS for one in OPTIONS[name] if one not in CONSTANTS]
)
def test_an_option_that_is_no_constant_is_advised_in_quotes(command: str, option: str) -> None:
    """And not as one that is meant instead of itself."""
    error = UnknownName(f"uninitialized constant HBaseReceiver::{option}")
    error.command = command
    unused: Any = None
    assert advice(error, unused, [command], one_shot=False).endswith(f"write it in quotes, '{option}'")
