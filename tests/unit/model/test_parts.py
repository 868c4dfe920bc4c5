"""Long lists in parts, bounded in number and in bytes."""

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from hbtable.model import parts
from hbtable.model.parts import parts_of

SIZES = st.lists(st.integers(0, 150), max_size=40)


@given(sizes=SIZES, most=st.integers(1, 10))
def test_the_parts_are_the_whole_and_none_is_too_large(sizes: list[int], most: int) -> None:
    things = [(number, bytes(size)) for number, size in enumerate(sizes)]
    with mock.patch.object(parts, "PART_BYTES", 100):
        found = list(parts_of(things, most))
    assert [thing for part in found for thing in part] == things
    for part in found:
        assert 0 < len(part) <= most
        assert len(part) == 1 or sum(len(value) for _, value in part) <= 100


def test_small_things_are_cut_by_their_number_alone() -> None:
    assert [len(part) for part in parts_of([(b"v",)] * 1000, 300)] == [300, 300, 300, 100]
