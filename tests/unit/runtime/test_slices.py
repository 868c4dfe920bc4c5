"""Loops over many things, which let other tasks run."""

from hbtable.runtime.slices import let_go


def test_a_long_list_is_freed_in_parts() -> None:
    freed: list[int] = []
    pauses: list[int] = []

    class Thing:
        def __del__(self) -> None:
            freed.append(1)

    things = [Thing() for _ in range(20_000)]
    let_go(things, lambda: pauses.append(len(freed)))
    steps = [after - before for before, after in zip([0, *pauses], pauses, strict=False)]
    assert max(steps) <= 4096
    assert len(freed) + len(things) == 20_000
    assert 0 < len(things) <= 4096


def test_a_short_list_and_what_is_no_list_stay() -> None:
    short, other = [1, 2, 3], tuple(range(10_000))
    let_go(short, lambda: None)
    let_go(other, lambda: None)
    assert (len(short), len(other)) == (3, 10_000)
