"""Where a row is, by lists of tablets that were read while these split and merged."""

from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import Unavailable
from hbtable.hbase.thrift2.tables import Thrift2TableCalls
from hbtable.model.ranges import RowRange


def calls(*lists: list[RowRange]) -> Thrift2TableCalls:
    """Each look finds the next list, and all after the last find that one."""
    left = list(lists)

    def tablets(_: bytes) -> list[Any]:
        found = left.pop(0) if left[1:] else left[0]
        return [SimpleNamespace(range=one, owner="server", tablet_id=number) for number, one in enumerate(found)]

    parts: list[Any] = [
        SimpleNamespace(canonical=lambda name: name),
        SimpleNamespace(tablets=tablets),
        SimpleNamespace(servers=list),
        SimpleNamespace(place=lambda _: ("host", 1)),
    ]
    return Thrift2TableCalls(*parts, *(SimpleNamespace(),) * 2)  # type: ignore[arg-type]


WHOLE = [RowRange(b"", b"m"), RowRange(b"m", b"")]
GAP = [RowRange(b"", b"b"), RowRange(b"m", b"")]


def test_a_row_in_a_gap_of_the_list_is_looked_for_again() -> None:
    found = calls(GAP, WHOLE).getRegionLocation(b"t", b"c", None)
    assert (found.region_info.start_key, found.region_info.end_key) == (b"", b"m")


def test_a_gap_that_stays_is_an_error_after_which_a_client_tries_again() -> None:
    """It was an internal error, after which none does."""
    with pytest.raises(Unavailable, match="the tablets of table t go on changing; try again"):
        calls(GAP).getRegionLocation(b"t", b"c", None)
    assert calls(GAP).getRegionLocation(b"t", b"z", None).region_info.start_key == b"m"
