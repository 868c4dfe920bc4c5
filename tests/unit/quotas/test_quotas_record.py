"""Quotas as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbtable.encoding.sealed import HEADER_BYTES, seal
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.quotas import quotas_record
from hbtable.quotas.settings import NO_QUOTAS, Quotas, Subject, ThrottleSetting, ThrottleType

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


@given(st.builds(Quotas, st.lists(THROTTLES, max_size=4), st.lists(TEXTS, max_size=3), st.booleans()))
def test_quotas_come_back(quotas: Quotas) -> None:
    data = quotas_record.encode(quotas)
    assert quotas_record.decode(data) == quotas
    assert quotas_record.encode(quotas_record.decode(data)) == data


def test_the_bytes_stay_as_they_are() -> None:
    """Never change them: what a release wrote is read by all later ones."""
    assert quotas_record.encode(ONE)[HEADER_BYTES:].hex() == "000103626f620103616e6e00017406ac023c01"
    assert quotas_record.encode(NO_QUOTAS)[HEADER_BYTES:].hex() == "010000"


@pytest.mark.parametrize("place", range(len(quotas_record.encode(ONE))))
def test_every_damaged_byte_is_found(place: int) -> None:
    data = bytearray(quotas_record.encode(ONE))
    data[place] ^= 0x40
    with pytest.raises(Corruption):
        quotas_record.decode(bytes(data))


def test_bytes_that_are_missing_or_left_over_are_found() -> None:
    body = quotas_record.encode(ONE)[HEADER_BYTES:]
    for wrong in (*(body[:length] for length in range(len(body))), body + b"x"):
        with pytest.raises(Corruption):
            quotas_record.decode(seal(b"Q", 1, wrong))


@pytest.mark.parametrize("place_and_value", [(0, 2), (14, 10), (18, 2)])
def test_what_a_later_version_knows_is_no_damage(place_and_value: tuple[int, int]) -> None:
    body = bytearray(quotas_record.encode(ONE)[HEADER_BYTES:])
    place, value = place_and_value
    body[place] = value
    with pytest.raises(UnsupportedFormat):
        quotas_record.decode(seal(b"Q", 1, bytes(body)))
    with pytest.raises(UnsupportedFormat):
        quotas_record.decode(seal(b"Q", 2, b""))
