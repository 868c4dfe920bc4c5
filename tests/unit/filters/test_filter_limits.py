"""How much one filter may ask for, and that others get their turn while it is asked."""

import pytest

from hbtable.errors import BadFilter
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import MAX_ARGUMENTS, MAX_BYTES, MAX_FILTERS, parse

ANY_VALUE = b"ValueFilter(>=,'binary:')"


def joined(count: int, word: bytes = b" AND ") -> bytes:
    return word.join([ANY_VALUE] * count)


@pytest.mark.parametrize("word", [b" AND ", b" OR "])
def test_a_thousand_filters_are_taken_and_one_more_is_refused(word):
    parse(joined(MAX_FILTERS, word))
    with pytest.raises(BadFilter, match=rf"more than {MAX_FILTERS} filters.*at byte \d+: found .ValueFilter"):
        parse(joined(MAX_FILTERS + 1, word))


def test_filters_inside_brackets_are_counted_too():
    with pytest.raises(BadFilter, match=f"more than {MAX_FILTERS} filters"):
        parse(b" OR ".join([b"(SKIP " + ANY_VALUE + b" AND KeyOnlyFilter())"] * (MAX_FILTERS // 2 + 1)))


def test_the_arguments_of_all_filters_are_counted():
    half = b",".join(b"'%d'" % number for number in range(MAX_ARGUMENTS // 2))
    parse(b"MultipleColumnPrefixFilter(%b) OR MultipleColumnPrefixFilter(%b)" % (half, half))
    with pytest.raises(BadFilter, match=f"MultipleColumnPrefixFilter have more than {MAX_ARGUMENTS} arguments"):
        parse(b"MultipleColumnPrefixFilter(%b) OR MultipleColumnPrefixFilter(%b,'z')" % (half, half))


def test_a_text_beyond_the_limit_is_refused_unread():
    value = b"v" * MAX_BYTES
    with pytest.raises(BadFilter, match=f'the limit is {MAX_BYTES}; it begins "ValueFilter'):
        parse(b"ValueFilter(=,'binary:%b')" % value)


def test_others_get_their_turn_while_a_long_filter_is_read():
    pauses: list[int] = []
    parse(joined(MAX_FILTERS), lambda: pauses.append(1))
    assert len(pauses) >= MAX_FILTERS // 16


def asked_between_pauses(filters: int, rows: int, columns: int) -> int:
    """The most times that filters were asked in one go."""
    asked = most = 0

    def pause() -> None:
        nonlocal asked
        asked = 0

    running = start(parse(joined(filters)), pause=pause)

    def note() -> None:
        nonlocal asked, most
        asked += filters
        most = max(most, asked)

    for number in range(rows):
        row = b"%06d" % number
        cells = Counted([(b"f:%06d" % column, 1, b"v") for column in range(columns)], note)
        assert not running.skips_row(row)
        assert len(running.apply(row, cells, 1)) == columns
    return most


class Counted(list[tuple[bytes, int, bytes]]):
    """Cells that tell when they are looked at."""

    def __init__(self, cells, note):
        super().__init__(cells)
        self._note = note

    def __iter__(self):
        for cell in super().__iter__():
            self._note()
            yield cell

    def __getitem__(self, place):
        found = super().__getitem__(place)
        return Counted(found, self._note) if isinstance(place, slice) else found


@pytest.mark.parametrize(
    ("filters", "rows", "columns"), [(1, 20_000, 1), (1000, 50, 1), (1000, 1, 200), (2, 3, 20_000), (30, 100, 100)]
)
def test_others_get_their_turn_while_a_filter_is_asked(filters, rows, columns):
    assert asked_between_pauses(filters, rows, columns) <= 20_000
