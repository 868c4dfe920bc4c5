"""Where a search is done: short ones at once, all others by a worker, which is asked rarely; the answer is the same."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from hbtable.errors import BadFilter, LimitExceeded
from hbtable.filters import part_search, searching
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import parse
from hbtable.filters.patterns import HUB_STEPS, compiled
from tests.harness import java_patterns

LOOKING = rb"(?=word)w.*7"
CATASTROPHE = rb"^(?=(a|a)+$)a"


class Worker:
    """An Ask that remembers what it was asked."""

    def __init__(self, error: LimitExceeded | None = None) -> None:
        self.questions: list[Sequence[bytes]] = []
        self.error = error

    def __call__(self, parts: Sequence[bytes], seconds: float) -> Sequence[bytes]:
        self.questions.append(parts)
        if self.error is not None:
            raise self.error
        return part_search.answer(parts)

    def parts(self) -> list[bytes]:
        return [part for _, _, _, *parts in self.questions for part in parts]


def rows_of(values):
    return [(b"%06d" % number, [(b"f:q", 1, value)]) for number, value in enumerate(values)]


def passing(text, rows, worker, ahead=0):
    running = start(parse(text), ask=worker)
    found = []
    for number, (row, cells) in enumerate(rows):
        if ahead and not number % ahead:
            running.searches.ahead(rows[number : number + ahead])
        if not running.skips_row(row) and running.apply(row, cells, 1):
            found.append(row)
    return found


@pytest.mark.parametrize(
    ("kind", "value", "part"),
    [
        ("regexstring", LOOKING, b"w"),
        ("regexstring", rb"a*+b", b""),
        ("regexstring", rb"a$", b"a\r\n"),
        ("regexstring", rb"\ba", "é".encode()),
        ("regexstring", b"abc", b"x" * HUB_STEPS),
        ("regexstring", b"(a?){0,400}b", b"a" * 1000),
        ("regexstring", b"(a?){0,500}(a?){0,500}b", b""),
        ("regexstring", "[à-ÿ]{0,1000}".encode() * 30, b""),
        ("substring", b"abc", b"x" * HUB_STEPS),
    ],
)
def test_what_may_take_long_is_for_a_worker(kind, value, part):
    worker = Worker()
    searches = searching.Searches(worker, lambda: None)
    test = (searches.regex if kind == "regexstring" else searches.substring)(value, lambda row, cells: ())
    worker.error = LimitExceeded("enough")
    with pytest.raises(LimitExceeded, match="enough"):
        test(part)
    assert worker.questions[0][:3] == [kind.encode(), value, b""]


@pytest.mark.parametrize(
    ("kind", "value", "part"),
    [
        ("regexstring", b"abc", b"x" * 4096),
        ("regexstring", b"abc$", b"abc\n" * 100),
        ("regexstring", rb"^user_\d+$", "ü".encode() * 1000),
        ("regexstring", rb"\bfoo\b", b"foo bar" * 100),
        ("regexstring", rb"^\d{4}-\d{2}-\d{2}T[^ ]* (GET|POST) /\w+", b"x" * 2000),
        ("substring", "É".encode(), b"x" * 60_000),
    ],
)
def test_everyday_searches_are_done_at_once(kind, value, part):
    worker = Worker(LimitExceeded("was asked"))
    searches = searching.Searches(worker, lambda: None)
    test = (searches.regex if kind == "regexstring" else searches.substring)(value, lambda row, cells: ())
    assert test(part) in (True, False)


def test_others_get_their_turn_between_searches():
    pauses: list[int] = []
    pattern = b"(a?){0,200}b"
    running = start(parse(b"ValueFilter(=,'regexstring:%b')" % pattern), pause=lambda: pauses.append(1))
    rows = rows_of(b"a" * 100 + b"%d" % number for number in range(100))
    for row, cells in rows:
        assert not running.skips_row(row)
        assert not running.apply(row, cells, 1)
    assert len(pauses) >= compiled(pattern).instructions * 100 * 100 // HUB_STEPS // 2


def test_one_question_about_many_rows_and_one_about_each_value():
    worker = Worker()
    rows = rows_of(b"word %d" % (number % 10) for number in range(100))
    assert len(passing(b"ValueFilter(=,'regexstring:%b')" % LOOKING, rows, worker, ahead=50)) == 10
    assert len(worker.questions) == 2
    assert len(worker.parts()) == 20


def test_what_was_not_known_ahead_is_asked_when_it_is_met():
    """One part ahead takes long: the rows before it pass, the row with it ends in the error, as without looking."""
    worker = Worker()
    values = [b"a", b"b", b"a" * 60 + b"!", b"a"]
    text = b"ValueFilter(=,'regexstring:%b')" % CATASTROPHE
    assert passing(text, rows_of(values[:2]), worker, ahead=9) == [b"000000"]
    with pytest.raises(LimitExceeded, match=r"took more than 0.1 s over 61 bytes"):
        passing(text, rows_of(values), worker, ahead=9)
    selective = b"RowFilter(!=,'binary:000002') AND " + text
    assert passing(selective, rows_of(values), worker, ahead=9) == [b"000000", b"000003"]


def test_a_worker_that_dies_over_what_was_asked_ahead_costs_only_time():
    class Dying(Worker):
        def __call__(self, parts, seconds):
            if parts[2]:
                raise LimitExceeded("it died")
            return super().__call__(parts, seconds)

    rows = rows_of([b"word 7", b"word 8"])
    assert passing(b"ValueFilter(=,'regexstring:%b')" % LOOKING, rows, Dying(), ahead=2) == [b"000000"]


def test_an_error_names_the_pattern_and_the_bytes():
    worker = Worker(LimitExceeded("the worker process took more than 1 s"))
    with pytest.raises(
        LimitExceeded, match=r"regexstring '\(\?=word\)w\.\*7' .* in 4 bytes: the worker process took more than 1 s"
    ):
        passing(b"ValueFilter(=,'regexstring:%b')" % LOOKING, rows_of([b"word"]), worker)


FILTERS = [
    b"ValueFilter(%b,'regexstring:%b')",
    b"RowFilter(%b,'regexstring:%b')",
    b"QualifierFilter(%b,'regexstring:%b')",
    b"FamilyFilter(%b,'regexstring:%b')",
    b"SingleColumnValueFilter('f','q',%b,'regexstring:%b')",
    b"DependentColumnFilter('f','q',false,%b,'regexstring:%b')",
    b"ColumnValueFilter('f','q',%b,'regexstring:%b')",
]


@pytest.mark.parametrize("seed", range(20))
def test_looking_ahead_changes_no_answer(seed):
    rng = random.Random(seed)
    for _ in range(20):
        pattern = java_patterns.pattern(rng).encode().replace(b"'", b"''")
        text = rng.choice(FILTERS) % (rng.choice([b"=", b"!="]), pattern)
        values = [value.encode() for value in java_patterns.texts(rng, 12)]
        rows = [(value + b"%d" % number, [(b"f:q", 1, value)]) for number, value in enumerate(values)]
        try:
            expected = passing(text, rows, searching.here)
        except (BadFilter, LimitExceeded):
            continue
        assert passing(text, rows, Worker(), ahead=5) == expected, text


RECORDED = [json.loads(line) for line in Path(__file__).with_name("java_patterns.jsonl").read_text().splitlines()]


def test_the_recorded_answers_of_java_wherever_the_search_is_done():
    """What the hub answers itself, too: its programs have less memory."""
    wrong = []
    for line in RECORDED[1:]:
        pattern, java = line["pattern"].encode(), line["answer"]
        searches = searching.Searches(searching.here, lambda: None)
        try:
            test = searches.regex(pattern, lambda row, cells: ())
        except ValueError:
            continue
        found = "".join(str(int(test(text.encode()))) for text in line.get("texts", RECORDED[0]["texts"]))
        if found != java:
            wrong.append((pattern, java, found))
    assert wrong == []
