"""Splits between releases: a job's machines are upgraded one after the other."""

import pickle
from dataclasses import fields

import pytest

import hbtable
from hbtable.dataflow.pickled import between_releases, set_state
from hbtable.dataflow.places import Place
from hbtable.dataflow.splits import Split
from tests.harness.pickled_splits import PICKLED_BEFORE_NUMBERS

SPLIT = Split(
    Place("127.0.0.1", 9090), b"earlier", b"a", b"c", 1_700_000_000_000, (b"f:n",), server="127.0.0.1:9090"
)  # fmt: skip


def test_a_split_of_before_is_read_as_it_was() -> None:
    found = pickle.loads(PICKLED_BEFORE_NUMBERS)
    assert found == SPLIT
    assert found.table_id == 0  # any table of this name
    assert pickle.loads(pickle.dumps(found)) == SPLIT


@pytest.mark.parametrize("made", [SPLIT, SPLIT.place], ids=["split", "place"])
def test_what_a_later_release_made_is_refused(made: Split | Place) -> None:
    state = [getattr(made, one.name) for one in fields(made)]
    empty = object.__new__(type(made))
    with pytest.raises(hbtable.WrongValue, match=rf"has {len(state) + 1} fields, and this release of hbtable knows"):
        set_state(empty, [*state, "new"])
    set_state(empty, state)
    assert empty == made


def test_a_state_without_what_has_no_default_is_refused() -> None:
    with pytest.raises(hbtable.WrongValue, match=r"a pickled Split has 2 fields"):
        set_state(object.__new__(Split), [SPLIT.place, b"t"])


def test_what_a_dataclass_sets_of_its_own_is_not_in_the_way() -> None:
    """Before Python 3.11.4 dataclass() replaces a __setstate__ that a frozen class with slots has."""

    class Made:
        def __setstate__(self, state: object) -> None:
            raise AssertionError

    assert between_releases(Made).__setstate__ is set_state
    for cls in Split, Place:
        assert cls.__dict__["__setstate__"] is set_state
