"""When a tablet server counts as unreachable: by hand, and for all ways in which links can be broken."""

from hypothesis import given
from hypothesis import strategies as st

from hbtable.reachability.evidence import (
    NOTHING_REPORTED,
    OBSERVING_MASTER,
    Reports,
    limit,
    may_report,
    watched,
    watchers,
    who_does_not_reach,
    why_give_up,
)

THREE = ["a", "b", "c"]


def said(*observers, isolated=()):
    return Reports({"a": frozenset(observers)}, frozenset(isolated))


def test_the_master_and_most_watchers_together_are_enough():
    assert "the master and 2 of the 2" in why_give_up("a", THREE, said("master", "b", "c"))
    assert why_give_up("a", ["a", "b"], said("master", "b"))


def test_neither_is_enough_alone():
    for reports in (NOTHING_REPORTED, said("master"), said("b", "c"), said("master", "b"), said("master", "x", "y")):
        assert not why_give_up("a", THREE, reports)
    assert not why_give_up("a", ["a"], said("master"))


def test_one_that_reaches_nobody_gives_up_when_the_others_reach_each_other():
    assert "it reaches nobody" in why_give_up("a", THREE, said(isolated="a"))
    assert not why_give_up("a", THREE, said(isolated="ab"))
    assert not why_give_up("a", THREE, said(isolated="abc"))
    assert not why_give_up("a", ["a"], said(isolated="a"))


def test_people_are_told_who():
    assert who_does_not_reach("a", THREE, NOTHING_REPORTED) == ""
    assert who_does_not_reach("a", THREE, said("b")) == "1 of the 2 tablet servers that watch it"
    assert who_does_not_reach("a", THREE, said("master")) == "the master"


def test_a_minority_may_give_up_and_one_of_two():
    assert [limit(living) for living in range(8)] == [0, 0, 1, 1, 1, 2, 2, 3]


@given(st.sets(st.text("abcdefghijklmnop", min_size=1, max_size=2), min_size=1, max_size=40))
def test_each_is_watched_by_as_many_as_it_watches(names):
    for name in names:
        assert name not in watchers(name, names)
        assert len(watchers(name, names)) == min(7, len(names) - 1) == len(watched(name, names))
        for watcher in watchers(name, names):
            assert name in watched(watcher, names)


@given(st.data(), st.integers(1, 8))
def test_whatever_links_are_broken_at_most_half_of_a_small_cluster_is_accused_by_others(data, count):
    """And at most half says of itself that it reaches nobody, and is believed. (No more than a minority gives up in any
    case: withdrawals.py.)"""
    names = [f"s{number}" for number in range(count)]
    roles = [*names, OBSERVING_MASTER]
    links = [(one, other) for one in roles for other in names if one != other]
    links += [(name, OBSERVING_MASTER) for name in names]
    broken = data.draw(st.sets(st.sampled_from(links))) if links else set()

    def reached(observer, observed):
        return [one for one in observed if (observer, one) not in broken]

    unreached = {name: set() for name in names}
    isolated = set()
    for observer in roles:
        observed = names if observer == OBSERVING_MASTER else [*watched(observer, names), OBSERVING_MASTER]
        heard = reached(observer, observed)
        for name in names:
            if name != observer and name not in heard and may_report(name, heard, observed):
                unreached[name].add(observer)
        if observer != OBSERVING_MASTER and OBSERVING_MASTER not in heard and 2 * len(heard) < len(observed) - 1:
            isolated.add(observer)
    accusations = {name: frozenset(observers) for name, observers in unreached.items()}
    by_others = [name for name in names if why_give_up(name, names, Reports(accusations, frozenset()))]
    by_themselves = [name for name in names if why_give_up(name, names, Reports({}, frozenset(isolated)))]
    assert 2 * len(by_others) <= count
    assert 2 * len(by_themselves) <= count
