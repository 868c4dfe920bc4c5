"""The latest requests that took long, with all their parts: what an operator looks at first when "it is slow"."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, final

from hbtable.hbase.conversion import shown


class SlowRequest(NamedTuple):
    """Seconds by stage: `decoding` includes waiting for the rest of the request, `answering` building and sending."""

    ended_millis: int
    method: str
    table: str
    row: str
    outcome: str
    seconds: float
    decoding_seconds: float
    handling_seconds: float
    answering_seconds: float
    request_bytes: int
    answer_bytes: int
    client: str


@final
class SlowRequests:
    """A ring of `size` requests that took at least `threshold_seconds`, oldest first out."""

    def __init__(self, size: int, threshold_seconds: float, table_of_scanner: Callable[[int], bytes | None]) -> None:
        self.threshold_seconds = threshold_seconds
        self._ring: deque[SlowRequest] = deque(maxlen=size)
        self._table_of_scanner = table_of_scanner

    def add(self, request: SlowRequest) -> None:
        self._ring.append(request)

    def remember(
        self,
        ended_millis: int,
        method: str,
        values: list[object],
        outcome: str,
        times: tuple[float, float, float, float],
        sizes: tuple[int, int],
        client: str,
    ) -> None:
        """`times`: when the call began, was decoded, was carried out and was answered. `sizes`: of call and answer."""
        started, decoded, handled, ended = times
        table, row = self.place(method, values)
        self.add(
            SlowRequest(
                ended_millis=ended_millis,
                method=method,
                table=table,
                row=row,
                outcome=outcome,
                seconds=ended - started,
                decoding_seconds=decoded - started,
                handling_seconds=handled - decoded,
                answering_seconds=ended - handled,
                request_bytes=sizes[0],
                answer_bytes=sizes[1],
                client=client,
            )
        )

    def requests(self) -> list[SlowRequest]:
        """Newest first."""
        return list(reversed(self._ring))

    def clear(self) -> None:
        self._ring.clear()

    def newest_first(self) -> list[dict[str, object]]:
        return [request._asdict() for request in self.requests()]

    def place(self, method: str, values: list[object]) -> tuple[str, str]:
        """(table, row) that a call is about, as far as its arguments tell; of many rows the first."""
        first = values[0] if values else None
        if method.startswith("scanner") and isinstance(first, int):
            return _text(self._table_of_scanner(first)), ""
        if isinstance(first, list):
            first = first[0] if first else None
        if isinstance(first, tuple) and len(first) >= 2:
            return _text(first[0]), _text(first[1])
        second = values[1] if len(values) > 1 else None
        if isinstance(second, list) and second:
            second = second[0][0] if isinstance(second[0], tuple) else second[0]
        if isinstance(second, tuple):
            second = second[0]
        return _text(first), _text(second)


def _text(value: object) -> str:
    return shown(value) if isinstance(value, bytes) else ""
