"""Loops over many things, which let other tasks run."""

from hbtable.runtime.slices import let_go, sorted_with_pauses, with_pauses


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


def test_others_run_between_parts_of_many_things() -> None:
    seen: list[int] = []
    pauses: list[int] = []
    for number in with_pauses(range(1000), lambda: pauses.append(len(seen)), 100):
        seen.append(number)
    assert seen == list(range(1000))
    assert pauses == list(range(100, 1001, 100))


def test_a_sort_of_many_things_is_the_usual_one_with_pauses() -> None:
    pauses: list[int] = []
    things = [(number * 7919 % 10_007, number) for number in range(50_000)]
    found = sorted_with_pauses(things, lambda thing: thing[0], lambda: pauses.append(1))
    assert found == sorted(things, key=lambda thing: thing[0])  # equal ones in the order in which they came
    assert len(pauses) > 50


def test_a_sort_of_few_things_has_none() -> None:
    def pause() -> None:
        raise AssertionError

    assert sorted_with_pauses([3, 1, 2], lambda thing: thing, pause) == [1, 2, 3]
