"""Who is cut when a port is full: of the address that holds most, who never got an answer, then who is idle longest."""

from hypothesis import given
from hypothesis import strategies as st

from hbtable.runtime.network.occupancy import Occupancy


class One:
    """A connection that notes what was done to it."""

    def __init__(self, host: str, idle_since: float, answered: bool = True, working: bool = False) -> None:
        self.host, self.idle_since, self.answered, self.working = host, idle_since, answered, working
        self.out = False

    def turn_out(self, most: int) -> None:
        self.out = True


def full(*guests: One) -> Occupancy[One]:
    occupancy = Occupancy[One]()
    for guest in guests:
        assert occupancy.admit(guest, len(guests))
    return occupancy


def out(guests: list[One]) -> list[int]:
    return [number for number, guest in enumerate(guests) if guest.out]


def test_the_address_that_holds_most_loses_its_longest_idle() -> None:
    guests = [One("neighbour", 0), One("a", 5), One("a", 3), One("a", 4)]
    assert full(*guests).admit(One("late", 9), 4)
    assert out(guests) == [2]


def test_who_never_got_an_answer_goes_before() -> None:
    guests = [One("a", 1), One("a", 7, answered=False), One("a", 2)]
    assert full(*guests).admit(One("a", 9), 3)
    assert out(guests) == [1]


def test_a_request_under_way_is_not_cut_and_without_any_other_the_newcomer_may_not_stay() -> None:
    guests = [One("a", 1, working=True), One("a", 2, working=True), One("b", 3)]
    occupancy = full(*guests)
    assert occupancy.admit(One("c", 9, working=True), 3)
    assert out(guests) == [2]
    assert not occupancy.admit(One("d", 9), 3)
    assert len(occupancy) == 3


def test_where_the_largest_address_is_at_work_the_next_larger_one_pays() -> None:
    guests = [One("a", 0, working=True), One("a", 0, working=True), One("a", 0, working=True)]
    guests += [One("b", 0), One("c", 0), One("c", 0)]
    occupancy = full(*guests)
    assert occupancy.admit(One("a", 9), 6)
    assert out(guests) == [4]


def test_who_asked_again_since_the_last_look_stays() -> None:
    guests = [One("a", at) for at in range(5)]
    occupancy = full(*guests)
    assert occupancy.admit(One("a", 10), 5)
    guests[1].idle_since = 11
    assert occupancy.admit(One("a", 12), 5)
    assert out(guests) == [0, 2]


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans(), st.booleans()), max_size=40),
)
def test_never_more_than_it_takes_and_no_smaller_address_pays_for_a_larger(
    most: int, comers: list[tuple[str, int, bool, bool]]
) -> None:
    occupancy = Occupancy[One]()
    for comer in comers:
        before = list(occupancy)
        guest = One(*comer)
        admitted = occupancy.admit(guest, most)
        assert len(occupancy) <= most
        gone = [one for one in before if one not in list(occupancy)]
        assert all(one.out and not one.working for one in gone)
        assert len(gone) == (1 if admitted and len(before) == most else 0)
        if not admitted:
            assert all(one.working for one in before)
        for one in gone:
            mine = sum(other.host == one.host for other in before)
            larger = {other.host for other in before if sum(it.host == other.host for it in before) > mine}
            assert all(other.working for other in before if other.host in larger)
