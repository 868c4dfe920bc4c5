"""What operators set: a change replaces, takes away or refuses."""

import pytest

from hbtable.errors import InvalidRequest, LimitExceeded
from hbtable.quotas import settings
from hbtable.quotas.settings import (
    LARGEST_LIMIT,
    NO_QUOTAS,
    Quotas,
    SpaceLimit,
    SpacePolicy,
    Subject,
    ThrottleSetting,
    ThrottleType,
)

ANN = Subject("ann")
TABLE = Subject("", b"", b"t")


def throttle(
    subject: Subject = ANN, kind: ThrottleType = ThrottleType.REQUEST_NUMBER, limit: int = 10
) -> ThrottleSetting:
    return ThrottleSetting(subject, kind, limit, 1)


def test_a_throttle_takes_the_place_of_the_one_of_its_subject_and_type() -> None:
    size = throttle(kind=ThrottleType.READ_SIZE)
    quotas = NO_QUOTAS.with_throttle(throttle()).with_throttle(size).with_throttle(throttle(limit=20))
    assert quotas.throttles == (throttle(limit=20), size)
    assert quotas.without_throttle(ANN, ThrottleType.READ_SIZE).throttles == (throttle(limit=20),)
    assert quotas.without_throttle(ANN, None) == NO_QUOTAS
    assert quotas.without_throttle(TABLE, None) == quotas


def test_what_is_on_a_table_or_a_namespace_goes_with_it() -> None:
    on_table = (TABLE, Subject("ann", b"", b"t"))
    on_namespace = (Subject("", b"n"), Subject("ann", b"n"))
    all_of_them = Quotas([throttle(one) for one in (*on_table, *on_namespace, ANN, Subject())], ["bob"])
    left = all_of_them.without(table=b"t")
    assert {one.subject for one in left.throttles} == {*on_namespace, ANN, Subject()}
    assert {one.subject for one in left.without(namespace=b"n").throttles} == {ANN, Subject()}
    assert left.exempt == {"bob"}


def test_they_are_listed_as_hbase_lists_them() -> None:
    subjects = [Subject("", b"n"), Subject(), TABLE, ANN, Subject("ann", b"n"), Subject("bob")]
    listed = [one.subject for one in Quotas(throttle(one) for one in reversed(subjects)).throttles]
    assert listed[:3] == subjects[:3]
    assert {one.user for one in listed[3:]} == {"ann", "bob"}


@pytest.mark.parametrize(
    "wrong",
    [
        throttle(limit=0),
        throttle(limit=-1),
        throttle(limit=LARGEST_LIMIT + 1),
        throttle(Subject("ann, bob")),
        throttle(Subject("", b"no namespace")),
        throttle(Subject("", b"", b"no table")),
        throttle(Subject("", b"n", b"t")),
        ThrottleSetting(ANN, ThrottleType.READ_SIZE, 5, 7),
        ThrottleSetting(Subject(), ThrottleType.READ_SIZE, 5, 1, cluster=True),
    ],
)
def test_what_cannot_be_is_refused(wrong: ThrottleSetting) -> None:
    with pytest.raises(InvalidRequest):
        NO_QUOTAS.with_throttle(wrong)


def test_there_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_MOST", 2)
    quotas = NO_QUOTAS.with_throttle(throttle()).with_exemption("bob", True)
    with pytest.raises(LimitExceeded):
        quotas.with_exemption("eve", True)
    assert quotas.with_throttle(throttle(limit=11)).with_exemption("bob", False).with_throttle(throttle(TABLE))


def test_those_on_one_table_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_MOST_ON_ONE_TABLE", 3)
    monkeypatch.setattr(settings, "_MOST_ON_TABLES", 5)
    one, other = (b"", b"t"), (b"", b"u")
    quotas = NO_QUOTAS.with_space_limit(space(*one, 100))
    for number in range(2):
        quotas = quotas.with_throttle(throttle(Subject(f"user{number}", *one)))
    with pytest.raises(LimitExceeded, match="4 quotas on table t, and 3 is the most"):
        quotas.with_throttle(throttle(Subject("user2", *one)))
    with pytest.raises(LimitExceeded, match="4 quotas on table t, and 3 is the most"):
        quotas.without_space_limit(*one).with_throttle(throttle(Subject("user2", *one))).with_space_limit(
            space(*one, 100)
        )
    assert quotas.with_throttle(throttle(Subject("user1", *one), limit=11)).with_space_limit(space(*one, 7))
    for number in range(2):
        quotas = quotas.with_throttle(throttle(Subject(f"user{number}", *other)))
    with pytest.raises(LimitExceeded, match="6 quotas on tables, and 5 is the most"):
        quotas.with_throttle(throttle(Subject("user2", *other)))
    for subject in (Subject("eve"), Subject("", b"n"), Subject()):
        quotas = quotas.with_throttle(throttle(subject))


def space(namespace: bytes, table: bytes, limit: int, policy: SpacePolicy = SpacePolicy.NO_WRITES) -> SpaceLimit:
    return SpaceLimit(namespace, table, limit, policy)


@pytest.mark.parametrize("one", [(b"hbase", b""), (b"", b"hbase:meta"), (b"", b"hbase:x")])
def test_what_is_not_measured_takes_no_limit_of_space(one: tuple[bytes, bytes]) -> None:
    with pytest.raises(InvalidRequest, match="would limit nothing"):
        NO_QUOTAS.with_space_limit(space(*one, 100))
    set_before = Quotas(space=[space(*one, 100)])
    assert set_before.without_space_limit(*one) == NO_QUOTAS


def test_a_tables_own_limit_of_space_takes_the_place_of_its_namespaces() -> None:
    quotas = NO_QUOTAS.with_space_limit(space(b"n", b"", 100)).with_space_limit(space(b"", b"n:t", 500))
    measured = quotas.measured({b"n:t": 400, b"n:u": 1, b"v": 900})
    assert [limit is not None and limit.violated for limit in map(measured.space_limit, (b"n:t", b"n:u", b"v"))] == [
        False,
        True,
        False,
    ]
    assert measured.measured({b"n:t": 99, b"n:u": 1}) == quotas, "100 bytes are not more than 100"
    assert measured.without(namespace=b"n").without(table=b"n:t") == NO_QUOTAS
    assert quotas.with_space_limit(space(b"", b"n:t", 5)).space_limit(b"n:t") == space(b"", b"n:t", 5)


def test_a_limit_is_kept_again_whatever_is_disabled_because_of_it() -> None:
    """It stayed violated while one of the namespace's tables was disabled, though another one had been truncated."""
    limits = [space(b"", b"t", 10, SpacePolicy.DISABLE), space(b"n", b"", 10, SpacePolicy.DISABLE)]
    quotas = Quotas(space=limits).measured({b"t": 11, b"n:u": 9, b"n:v": 2}).with_disabled(b"n:u", True)
    assert [one.violated for one in quotas.space] == [True, True]
    assert [one.violated for one in quotas.measured({b"t": 11, b"n:u": 9, b"n:v": 1}).space] == [True, False]
    assert quotas.with_disabled(b"t", True).without(table=b"t").disabled == {b"n:u"}


def test_a_limit_stays_violated_while_the_size_of_a_table_is_not_known() -> None:
    limits = [space(b"", b"n:t", 10), space(b"n", b"", 20), space(b"", b"v", 10)]
    quotas = Quotas(space=limits).measured({b"n:t": 11, b"n:u": 11, b"v": 11})
    assert [one.violated for one in quotas.space] == [True, True, True]
    part = quotas.measured({b"n:t": 1, b"n:u": 11, b"v": 1}, unknown=[b"n:t"])
    assert [one.violated for one in part.space] == [True, False, True]
    assert quotas.measured({}, unknown=None) == quotas
    more = Quotas(space=limits).measured({b"n:t": 11}, unknown=None)
    assert [one.violated for one in more.space] == [True, False, False]


@pytest.mark.parametrize(
    "wrong", [space(b"", b"", 5), space(b"n", b"t", 5), space(b"", b"t", 0), space(b"", b"t", LARGEST_LIMIT + 1)]
)
def test_a_limit_of_space_that_cannot_be_is_refused(wrong: SpaceLimit) -> None:
    with pytest.raises(InvalidRequest):
        NO_QUOTAS.with_space_limit(wrong)
