"""A request with another spec has all else as it was, whatever fields requests get."""

from dataclasses import fields, replace

from hbtable.model.aggregation import Aggregation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPosition, ScanRequest


def test_another_spec_leaves_every_other_field() -> None:
    position, columns = ScanPosition(b"r", 2), ((b"f", b"q"),)
    full = ScanRequest(
        RowRange(b"a", b"b"), ReadSpec(), True, 3, 4, 5, position, True, {b"f": (1, 2)}, columns, Aggregation(())
    )
    untouched = ScanRequest()
    same = [one.name for one in fields(ScanRequest) if getattr(full, one.name) == getattr(untouched, one.name)]
    assert same == ["spec"], "give the new field a value here that is not its default"
    spec = ReadSpec({b"f": None}, max_versions=2)
    for request in (full, untouched):
        assert request.of_spec(spec) == replace(request, spec=spec)
