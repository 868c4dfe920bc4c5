"""Events of tablets as bytes: what is damaged, of a later version, or has more names than are known."""

import json

import pytest

from hbtable.encoding import tablet_event
from hbtable.encoding.sealed import seal
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.model.tablet_event import ORDER, TabletEvent

EVENT = TabletEvent(16, 2**40, 3, 1_700_000_000_123, "served", "s1", "s1", "a \u2603 and \udcff")


@pytest.mark.parametrize("what", ORDER)
def test_an_event_is_read_back(what: str) -> None:
    event = EVENT._replace(what=what)
    assert tablet_event.decode(tablet_event.encode(event), "a row") == event


def test_names_of_a_later_version_are_passed_over() -> None:
    body = json.dumps(EVENT._asdict() | {"cause": [1, 2]}).encode()
    assert tablet_event.decode(seal(b"E", 1, body), "a row") == EVENT


def test_a_later_format_is_told_from_damage() -> None:
    data = tablet_event.encode(EVENT)
    with pytest.raises(UnsupportedFormat):
        tablet_event.decode(seal(b"E", 2, data[6:]), "a row")
    for place in range(len(data)):
        with pytest.raises((Corruption, UnsupportedFormat)):
            tablet_event.decode(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :], "a row")
    for body in (b"", b"[]", b"{}", b"no JSON", b'{"table_id": "x"}'):
        with pytest.raises(Corruption):
            tablet_event.decode(seal(b"E", 1, body), "a row")
