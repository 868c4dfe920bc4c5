"""Pages of scans as Arrow's record batches, for clients that would make these of rows.

As with adminScan nothing is kept between pages, and a page costs and ends as its scan does. pyarrow is an extra, and is
imported at the first call: that takes some 0.3 s, in a thread.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, final

from hbtable.errors import LimitExceeded, NotSupported
from hbtable.hbase.admin.cells import scan_request
from hbtable.hbase.admin.positions import AdminPositions
from hbtable.hbase.admin.structs import AdminArrowColumn, AdminArrowPage, AdminScan
from hbtable.hbase.errors import BadArgument
from hbtable.model.cell import Row
from hbtable.model.read import COLUMNS_BY_COLUMN, Columns, ScanRequest
from hbtable.runtime.interface import Runtime
from hbtable.runtime.joining import Joiner
from hbtable.runtime.request_budget import hold
from hbtable.runtime.slices import let_go_rows, with_pauses
from hbtable.switches import switches

_OF_CELL_BYTES: Final = 24
"""Beside the bytes of a cell of the long form: its time and three places."""
_MOST_COLUMNS: Final = 4096
_MOST_VALUES: Final = 1_000_000
"""Of a page: a null takes memory, too, and no cell stands for it."""


@final
class AdminArrowCalls:
    """The admin service's calls that answer with record batches. `answer_bytes`: the largest answer. `pause` lets
    other tasks run."""

    def __init__(
        self,
        runtime: Runtime,
        positions: AdminPositions,
        answer_bytes: int,
        pause: Callable[[], object],
    ) -> None:
        self._runtime = runtime
        self._positions = positions
        self._answer_bytes = answer_bytes
        self._pause = pause
        self._join = Joiner(runtime)
        self._forms: Any = None
        self._wire: Any = None

    @switches
    def adminScanArrow(
        self, table: bytes | None, scan: AdminScan | None, columns: Sequence[AdminArrowColumn] | None
    ) -> AdminArrowPage:
        self._load()
        scan = scan or AdminScan()
        request = scan_request(scan, self._positions.before(table, scan), self._answer_bytes, self._pause)
        if request.spec.raw:
            raise BadArgument("a raw scan has markers, for which record batches have no place")
        if columns is None:
            form = self._forms.LongForm()
        else:
            form = self._wide_form(columns)
            request = _by_column(request, columns)
        page = self._positions.page(table, request)
        if columns is None:
            while (size := self._size(page.rows)) > self._answer_bytes and len(page.rows) > 1:
                request = replace(request, max_bytes=max(1, request.max_bytes * self._answer_bytes // (2 * size)))
                page = self._positions.page(table, request)
            self._hold(size)
        batches = list(form.batches(page, self._pause))
        hold(2 * sum(batch.nbytes for batch in batches))  # as batches, and as bytes
        position = self._positions.after(table, scan, page)
        let_go_rows(page.rows, self._pause)
        stream = self._join(self._wire.sent(form, batches, self._pause))
        return AdminArrowPage(stream, position, page.rows_scanned, page.tablets)

    @switches
    def _size(self, rows: Sequence[Row]) -> int:
        """In bytes, as record batches of the long form: they say the row with each of its cells, a page only once."""
        size = 0
        for row, cells in with_pauses(rows, self._pause, 64):
            for column, _, value in with_pauses(cells, self._pause, 1024):
                size += len(row) + len(column) + len(value) + _OF_CELL_BYTES
        return size

    def _hold(self, size: int) -> None:
        """LimitExceeded: of a single row, or piece of one."""
        if size > self._answer_bytes:
            raise LimitExceeded(
                f"a row would have {size} bytes as record batches, each of its cells with the row, and an answer may "
                f"have {self._answer_bytes}: name the columns"
            )
        hold(2 * size)

    @switches
    def _load(self) -> None:
        """NotSupported."""
        if self._wire is not None:
            return
        try:
            self._wire = self._runtime.offload("import", _imported)
            self._forms = import_module("hbtable.arrow.forms")
        except ModuleNotFoundError as error:
            if error.name != "pyarrow":
                raise
            raise NotSupported(
                "the server has no pyarrow, which makes record batches: pip install 'hbtable[arrow]' where it runs"
            ) from None

    def _wide_form(self, columns: Sequence[AdminArrowColumn]) -> Any:
        if len(columns) > _MOST_COLUMNS:
            raise LimitExceeded(f"the call asks for {len(columns)} columns, at most {_MOST_COLUMNS} can be")
        make, read_as = self._forms.WideColumn, self._wire.read_as
        asked = [
            make(family, qualifier, read_as(name), str(number))
            for number, (family, qualifier, name) in enumerate(columns)
        ]
        if len({(one.family, one.qualifier) for one in asked}) < len(asked):
            raise BadArgument("a column is asked for twice")
        return self._forms.WideForm(asked)


def _imported() -> Any:
    wire: Any = import_module("hbtable.arrow.wire")
    wire.make_ready()
    return wire


def _by_column(request: ScanRequest, columns: Sequence[AdminArrowColumn]) -> ScanRequest:
    """The request for these columns, and for whatever else its scan names: a row is there when it has any of them. A
    scan that names whole families is of rows, of which only these columns are sent."""
    if request.spec.max_versions != 1 or request.cells_per_row:
        raise BadArgument("a record a row has one value of each column: versions and pieces come without columns")
    wanted = [(family, qualifier) for family, qualifier, _ in columns]
    families, others = _named(request.spec.columns)
    if not wanted and not others and not families:
        raise BadArgument("the call names no columns, and its scan none either")
    named = [*wanted, *(one for one in others if one not in set(wanted))]
    most = max(_MOST_VALUES // max(len(named), 1), 1)
    return replace(
        request,
        spec=request.spec.of_columns(_together(named, families)),
        max_rows=min(request.max_rows, most),
        by_column=tuple(named) if len(named) <= COLUMNS_BY_COLUMN and not families else (),
    )


def _named(columns: Columns | None) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """Whole families, and columns."""
    families: list[bytes] = []
    found: list[tuple[bytes, bytes]] = []
    for family, qualifiers in (columns or {}).items():
        if qualifiers is None:
            families.append(family)
        else:
            found += [(family, qualifier) for qualifier in sorted(qualifiers)]
    if len(found) > _MOST_COLUMNS:
        raise LimitExceeded(f"the scan names {len(found)} columns, at most {_MOST_COLUMNS} can be")
    return families, found


def _together(columns: Sequence[tuple[bytes, bytes]], families: Sequence[bytes]) -> Columns:
    found: dict[bytes, set[bytes]] = {}
    for family, qualifier in columns:
        found.setdefault(family, set()).add(qualifier)
    return {**{family: frozenset(qualifiers) for family, qualifiers in found.items()}, **dict.fromkeys(families)}
