"""The parts of a fenced log that are sorted one by one, by one server each (paper, section 6: 64 MB of the log).

A part is consecutive segments or group files, already settled: how far each counts is decided once, by whoever plans,
and goes along. On its way to a server a part is a JSON list, one list of a segment's fields per segment; it is
stored nowhere.
"""

import json
from collections.abc import Iterator, Sequence

from hbtable.commitlog.segments.segment import Segment
from hbtable.errors import InvalidRequest

Part = tuple[Segment, ...]


def plan_parts(segments: Sequence[Segment], part_bytes: int) -> list[Part]:
    """All segments in their order, in parts of at least one; a part ends before the segment that would make it larger
    than `part_bytes`. The same segments give the same parts."""
    return list(_planned(segments, part_bytes))


def _planned(segments: Sequence[Segment], part_bytes: int) -> Iterator[Part]:
    part: list[Segment] = []
    size = 0
    for segment in segments:
        if part and size + segment.end > part_bytes:
            yield tuple(part)
            part, size = [], 0
        part.append(segment)
        size += segment.end
    if part:
        yield tuple(part)


def encode_part(part: Part) -> bytes:
    return json.dumps(part, separators=(",", ":")).encode()


def decode_part(encoded: bytes) -> Part:
    """InvalidRequest when it is none."""
    try:
        part = tuple(Segment(*fields) for fields in json.loads(encoded))
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"not a part of a log: {error}") from error
    if not part:
        raise InvalidRequest("a part of a log holds at least one segment")
    return part
