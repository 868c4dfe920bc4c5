"""Regular expressions against the answers of a real java.util.regex, and what is refused or takes too long."""

import json
from pathlib import Path

import pytest

from hbtable.errors import LimitExceeded
from hbtable.filters.part_search import finder
from hbtable.filters.patterns import PATTERN_BYTES

RECORDED = [json.loads(line) for line in Path(__file__).with_name("java_patterns.jsonl").read_text().splitlines()]
TEXTS = RECORDED[0]["texts"]


def test_the_recorded_answers_of_java() -> None:
    """All in one: 700 patterns take a second."""
    wrong = []
    for line in RECORDED[1:]:
        pattern, answer = line["pattern"], line["answer"]
        try:
            find = finder(pattern.encode())
        except ValueError as error:
            if answer != "E" and "does not support" not in str(error):
                wrong.append((pattern, str(error)))
            continue
        found = "".join(str(int(find(text.encode()))) for text in line.get("texts", TEXTS))
        if found != answer:
            wrong.append((pattern, answer, found))
    assert wrong == []


@pytest.mark.parametrize(
    ("pattern", "part", "found"),
    [
        (b"^.$", b"\xff", True),
        (rb"[\w-\._]+", b"cpu-user", True),
        (b"^[a-z&&[^b]]$", b"b", False),
        (b"^[[a-c]]$", b"c]", False),
        (rb"^\0101$", b"A", True),
        (b"abc$", b"abc\n", True),
        (b"abc$", b"abc\n\n", False),
        (rb"^a\r$", b"a\r\n", False),
        (rb"\bb", "éb".encode(), False),
        (b"^(?!.*foo)", b"a foo", False),
    ],
)
def test_what_was_another_answer_once(pattern: bytes, part: bytes, found: bool) -> None:
    assert finder(pattern)(part) is found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (b"(?x)a b", "the flag x"),
        (b"(?u)a", "the flag u"),
        (b"(?U)a", "the flag U"),
        (b"(?c)a", "the flag c"),
        (rb"\p{javaMirrored}", "the property javaMirrored"),
        (rb"\P{javaWhitespace}", "the property javaWhitespace"),
        (rb"\X", "grapheme cluster"),
        (rb"a\b{g}", "grapheme cluster"),
        (rb"(?i)(a)\1", "a back-reference under the flag i"),
        (rb"(?:\1(a))", "a group that begins later"),
    ],
)
def test_what_is_refused_is_named(pattern: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=f"uses .*{reason}.* hbtable does not support"):
        finder(pattern)


@pytest.mark.parametrize(
    "pattern",
    [b"(" * 60 + b")" * 60, b"[" * 60 + b"a" + b"]" * 60, b"a" * (PATTERN_BYTES + 1), b"((a{1000}){1000}){1000}"],
)
def test_what_is_too_large_or_too_deep_is_refused(pattern: bytes) -> None:
    with pytest.raises(ValueError):
        finder(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        b"(a+)+$", b"((a+))*b", b"(a*)*b", b"(a|a)*b", b"(a|ab|[ab])+c", b"(a+a)+$", b"(.*,)+x", b"(a|ab+|b)*$",
        b"(x+x+)+y", b"(a?){20,}b", b"(\\w+\\d)+$", b"((a|b)*)+c", b"(a+|b)*c", b"(|a)+$", b"(.*)(.*)(.*)x",
    ],
)  # fmt: skip
def test_patterns_that_explode_elsewhere_take_linear_time(pattern: bytes) -> None:
    find = finder(pattern)
    assert find(b"a" * 20_000 + b"!") in (True, False)  # by backtracking it would outlast the universe


def test_a_search_that_backtracks_too_long_ends_in_an_error() -> None:
    find = finder(rb"^(?=(a|a)+$)a")
    with pytest.raises(LimitExceeded, match="nested repetitions"):
        find(b"a" * 60 + b"!")
