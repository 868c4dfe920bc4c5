"""Quotas as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbtable.encoding.sealed import HEADER_BYTES, seal
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.quotas import quotas_record
from hbtable.quotas.settings import NO_QUOTAS, Quotas, SpaceLimit, SpacePolicy, Subject, ThrottleSetting, ThrottleType

TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
THROTTLES = st.builds(
    ThrottleSetting,
    st.builds(Subject, TEXTS, st.binary(max_size=5), st.binary(max_size=5)),
    st.sampled_from(ThrottleType),
    st.integers(1, 2**63 - 1),
    st.sampled_from([1, 60, 3600, 86400]),
    st.booleans(),
)
ONE = Quotas(
    [ThrottleSetting(Subject("ann", b"", b"t"), ThrottleType.READ_SIZE, 300, 60, True)], ["bob"], throttling=False
)


SPACE = st.builds(
    SpaceLimit,
    st.binary(max_size=5),
    st.binary(max_size=5),
    st.integers(1, 2**63 - 1),
    st.sampled_from(SpacePolicy),
    st.booleans(),
)
WITH_SPACE = Quotas((), (), True, [SpaceLimit(b"", b"t", 300, SpacePolicy.DISABLE, True)], [b"t"])


@given(
    st.builds(
        Quotas,
        st.lists(THROTTLES, max_size=4),
        st.lists(TEXTS, max_size=3),
        st.booleans(),
        st.lists(SPACE, max_size=3),
        st.lists(st.binary(max_size=5), max_size=3),
    )
)
def test_quotas_come_back(quotas: Quotas) -> None:
    data = quotas_record.encode(quotas)
    assert quotas_record.decode(data) == quotas
    assert quotas_record.encode(quotas_record.decode(data)) == data


def test_the_bytes_stay_as_they_are() -> None:
    """Never change them: what a release wrote is read by all later ones."""
    assert quotas_record.encode(ONE)[HEADER_BYTES:].hex() == "000103626f620103616e6e00017406ac023c01"
    assert quotas_record.encode(NO_QUOTAS)[HEADER_BYTES:].hex() == "010000"
    assert quotas_record.encode(WITH_SPACE)[HEADER_BYTES:].hex() == "01000001000174ac020401010174"


def test_older_versions_read_quotas_without_limits_of_space() -> None:
    assert [quotas_record.encode(one)[1] for one in (ONE, NO_QUOTAS, WITH_SPACE)] == [1, 1, 2]


@pytest.mark.parametrize("place", range(len(quotas_record.encode(ONE))))
def test_every_damaged_byte_is_found(place: int) -> None:
    data = bytearray(quotas_record.encode(ONE))
    data[place] ^= 0x40
    with pytest.raises(Corruption):
        quotas_record.decode(bytes(data))


def test_bytes_that_are_missing_or_left_over_are_found() -> None:
    body = quotas_record.encode(ONE)[HEADER_BYTES:]
    longer = quotas_record.encode(WITH_SPACE)[HEADER_BYTES:]
    for version, whole in ((1, body), (2, longer)):
        for wrong in (*(whole[:length] for length in range(len(whole))), whole + b"x"):
            with pytest.raises(Corruption):
                quotas_record.decode(seal(b"Q", version, wrong))


@pytest.mark.parametrize("place_and_value", [(0, 2), (14, 10), (18, 2)])
def test_what_a_later_version_knows_is_no_damage(place_and_value: tuple[int, int]) -> None:
    body = bytearray(quotas_record.encode(ONE)[HEADER_BYTES:])
    place, value = place_and_value
    body[place] = value
    with pytest.raises(UnsupportedFormat):
        quotas_record.decode(seal(b"Q", 1, bytes(body)))
    with pytest.raises(UnsupportedFormat):
        quotas_record.decode(seal(b"Q", 3, b""))


@pytest.mark.parametrize("place", [9, 10])
def test_a_policy_or_a_state_of_a_later_version_is_no_damage(place: int) -> None:
    body = bytearray(quotas_record.encode(WITH_SPACE)[HEADER_BYTES:])
    body[place] = 5
    with pytest.raises(UnsupportedFormat):
        quotas_record.decode(seal(b"Q", 2, bytes(body)))
