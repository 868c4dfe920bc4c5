"""The parts of a fenced log that are sorted one by one, by one server each (paper, section 6: 64 MB of the log).

A part is consecutive segments or group files, already settled: how far each counts is decided once, by whoever plans,
and goes along. On its way to a server a part is a JSON list, one list of a segment's fields per segment; it is
stored nowhere.
"""

import json
from collections.abc import Iterator, Sequence

from hbtable.commitlog.segments.segment import Segment
from hbtable.errors import InvalidRequest

LogRange = tuple[Segment, ...]


def plan_ranges(segments: Sequence[Segment], part_bytes: int) -> list[LogRange]:
    """All segments in their order, in parts of at least one; a part ends before the segment that would make it larger
    than `part_bytes`. The same segments give the same parts."""
    return list(_planned(segments, part_bytes))


def _planned(segments: Sequence[Segment], part_bytes: int) -> Iterator[LogRange]:
    log_range: list[Segment] = []
    size = 0
    for segment in segments:
        if log_range and size + segment.end > part_bytes:
            yield tuple(log_range)
            log_range, size = [], 0
        log_range.append(segment)
        size += segment.end
    if log_range:
        yield tuple(log_range)


def encode_range(log_range: LogRange) -> bytes:
    return json.dumps(log_range, separators=(",", ":")).encode()


def decode_range(encoded: bytes) -> LogRange:
    """InvalidRequest when it is none."""
    try:
        log_range = tuple(Segment(*fields) for fields in json.loads(encoded))
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"not a part of a log: {error}") from error
    if not log_range:
        raise InvalidRequest("a part of a log holds at least one segment")
    return log_range
