"""A batch that nobody sent: what it held is lost, and that is said, but not where somebody knows it already."""

import gc
import warnings
from collections.abc import Sequence

import pytest

from hbtable.client.batch import Batch
from hbtable.errors import Unavailable
from hbtable.model.mutation import RowMutation


def made(sent: list[int], transaction: bool = False, fails: bool = False) -> Batch:
    def mutate(mutations: Sequence[RowMutation]) -> None:
        if fails:
            raise Unavailable("away")
        sent.append(len(mutations))

    return Batch(mutate, lambda: [b"f"], None, None, transaction, True)


def test_it_is_said_of_one_that_was_never_sent() -> None:
    batch = made([])
    batch.put(b"a", {b"f:q": b"1"})
    batch.put(b"b", {b"f:q": b"1"})
    held = [batch]
    del batch
    with pytest.warns(ResourceWarning, match=r"a batch of 2 rows was not sent: call send\(\), or use it in a `with`"):
        held.clear()


def _fail_in_a_transaction(sent: list[int]) -> None:
    with made(sent, transaction=True) as batch:
        batch.put(b"a", {b"f:q": b"1"})
        raise KeyError


def test_nothing_is_said_where_nothing_is_lost_or_an_error_said_it() -> None:
    sent: list[int] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        batch = made(sent)
        batch.put(b"a", {b"f:q": b"1"})
        batch.send()
        del batch
        with made(sent) as batch:
            batch.put(b"a", {b"f:q": b"1"})
        batch = made(sent, fails=True)
        batch.put(b"a", {b"f:q": b"1"})
        with pytest.raises(Unavailable):
            batch.send()
        with pytest.raises(KeyError):
            _fail_in_a_transaction(sent)
        made(sent)
        del batch
        gc.collect()
    assert sent == [1, 1]
    assert [one for one in found if issubclass(one.category, ResourceWarning)] == []


def test_it_is_said_of_what_came_after_an_error_that_is_over() -> None:
    away = [False, True]

    def mutate(mutations: Sequence[RowMutation]) -> None:
        if away.pop():
            raise Unavailable("away")

    batch = Batch(mutate, lambda: [b"f"], None, None, False, True)
    batch.put(b"a", {b"f:q": b"1"})
    with pytest.raises(Unavailable):
        batch.send()
    batch.send()
    batch.put(b"b", {b"f:q": b"1"})
    held = [batch]
    del batch
    with pytest.warns(ResourceWarning, match="a batch of 1 rows was not sent"):
        held.clear()


def test_one_that_could_not_be_made_says_nothing_more() -> None:
    with pytest.raises(TypeError):
        Batch(lambda mutations: None, list, None, 5, True, True)
    gc.collect()
