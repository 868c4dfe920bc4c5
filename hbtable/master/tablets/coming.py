"""Tablets that are on their way to servers, which have not told of them yet: they count for how full these are."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from hbtable.master.servers.server_reports import ServerReports
from hbtable.switches import switches


@final
class Coming:
    """Told of each by whoever decides where it goes, and by whoever has it loaded."""

    def __init__(self) -> None:
        self._coming = Counter[tuple[int, str]]()
        """By tablet and server."""

    @contextmanager
    @switches
    def to(self, server: str, *tablet_ids: int) -> Iterator[None]:
        """While the body runs, these are on their way there."""
        keys = [(tablet_id, server) for tablet_id in tablet_ids]
        self._coming.update(keys)
        try:
            yield
        finally:
            self._coming.subtract(keys)
            for key in keys:
                if not self._coming[key]:
                    del self._coming[key]

    def counted(self, reports: ServerReports) -> ServerReports:
        """As if all were there: else all that are placed at a time would go to the emptiest server. Does not switch."""
        coming: dict[str, set[int]] = {}
        for tablet_id, server in self._coming:
            coming.setdefault(server, set()).add(tablet_id)
        loads = dict(reports.loads)
        for server in coming.keys() & loads.keys():  # once for each: a union goes over thousands of tablets
            loads[server] = loads[server]._replace(tablet_ids=loads[server].tablet_ids | coming[server])
        return reports._replace(loads=loads)
