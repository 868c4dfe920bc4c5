"""Reads of wide rows with seeks (tablet.reads.seeking) beside the same reads without: both give the same, whatever the
tablet's schema is, and whatever masks its cells.

Random are the schema (Bloom filters, locality groups, versions kept, times to live, NEW_VERSION_BEHAVIOR, families that
were dropped and added again), the rows (all kinds of markers, cells with times to live of their own, ranges deleted),
the files that they lie in, and the reads (columns, filters, time ranges, raw, reversed, in pieces, in small pages).
"""

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hbtable.errors import HbtableError
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import (
    DELETE_COLUMN,
    DELETE_FAMILY,
    DELETE_FAMILY_VERSION,
    DELETE_VERSION,
    PUT,
    Operation,
    RowMutation,
)
from hbtable.model.ranges import RowRange
from hbtable.model.read import ALL_VERSIONS, Columns, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.reads import sources
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything

QUALIFIERS: Final = [
    b"",
    b"\x00",
    b"\x00\xff",
    b"\xff",
    *(b"%03d" % n for n in range(300)),
    *(b"%03d\x00" % n for n in range(9)),
]
_FAMILIES: Final = (b"f", b"g", b"h")
_ROWS: Final = (b"r0", b"r1", b"r2")
_READS: Final = 20
_NEVER: Final = 10**9


def differences(seed: int) -> list[str]:
    """What reads with seeks gave otherwise than without, of one tablet; [] when all agree."""
    return _Trial(seed).run()


class _Trial:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = random.Random(seed)
        self._bloom = self._rng.choice(("NONE", "ROW", "ROWCOL", "ROWCOL"))
        self._bench = Bench(seed, schema=self._schema(1, ()))
        self._now = self._bench.runtime.wall_millis()
        self._found: list[str] = []

    def run(self) -> list[str]:
        sought_after = sources.SOUGHT_AFTER
        try:
            self._bench.run(self._main)
        finally:
            sources.SOUGHT_AFTER = sought_after  # type: ignore[misc]
        return self._found

    def _main(self) -> None:
        tablet = self._bench.open()
        self._fill(tablet)
        if self._rng.random() < 0.4:
            tablet.schema = self._schema(2, self._rng.choice(((b"f",), (b"g",), (b"f", b"h"))))
            self._fill(tablet)
        for _ in range(_READS):
            self._compare(tablet)

    # ------------------------------------------------------------ what is stored

    def _schema(self, version: int, added_again: Iterable[bytes]) -> TableSchema:
        rng = random.Random(7 * self._seed + 1)  # the same in each version
        families = {}
        for name in _FAMILIES:
            group = rng.choice(("", "x", "x"))
            families[name] = FamilySchema(
                name,
                max_versions=rng.choice((1, 2, 3, 5)),
                min_versions=rng.choice((0, 0, 0, 1)),
                ttl_seconds=rng.choice((2**31 - 1, 2**31 - 1, 30)),
                bloom=self._bloom if group else rng.choice(("NONE", "ROW", "ROWCOL", "ROWCOL")),
                block_bytes=512 if group else rng.choice((512, 65536)),
                locality_group=group,
                new_version_behavior=rng.random() < 0.2,
                added_in=version if name in added_again else 0,
            )
        return TableSchema(b"t", families, version=version)

    def _time(self) -> int:
        return self._now - self._rng.choice((self._rng.randrange(1, 9), self._rng.randrange(1, 9), 60_000))

    def _mutation(self, row: bytes, count: int) -> RowMutation:
        rng = self._rng
        qualifiers = QUALIFIERS[:12] if rng.random() < 0.2 else QUALIFIERS
        operations: list[Operation] = []
        for _ in range(count):
            kind = rng.choice((PUT,) * 30 + (DELETE_COLUMN, DELETE_VERSION))
            value = b"%d" % rng.randrange(9) if kind == PUT else b""
            operations.append((kind, rng.choice((b"f", *_FAMILIES)), rng.choice(qualifiers), self._time(), value))
        for kind, share in ((DELETE_FAMILY, 0.4), (DELETE_FAMILY_VERSION, 0.3)):
            if rng.random() < share:
                operations.append((kind, rng.choice(_FAMILIES), b"", self._time(), b""))
        rng.shuffle(operations)
        return RowMutation(row, operations, ttl_millis=rng.choice((0, 0, 0, 100_000, 1)))

    def _fill(self, tablet: Tablet) -> None:
        rng = self._rng
        for _ in range(rng.choice((1, 2, 3))):
            for _ in range(rng.choice((1, 3))):
                tablet.mutate([self._mutation(rng.choice(_ROWS), rng.choice((10, 300, 700)))])
                if rng.random() < 0.15:
                    first = rng.randrange(3)
                    rows = RowRange(b"r%d" % first, b"r%d" % (first + rng.choice((1, 2))))
                    tablet.delete_range(rows, self._time())
            end = rng.random()
            if end < 0.5:
                tablet.flush()
            elif end < 0.6:
                tablet.compact(rng.random() < 0.5)

    # ------------------------------------------------------------ reads

    def _columns(self) -> Columns | None:
        rng = self._rng
        if rng.random() < 0.5:
            return None
        names = rng.sample(_FAMILIES, rng.choice((1, 2, 3)))
        return {
            name: rng.choice((None, frozenset(rng.choices(QUALIFIERS, k=rng.choice((1, 3, 8, 40)))))) for name in names
        }

    def _spec(self) -> ReadSpec:
        rng = self._rng
        text = random_filter(rng) if rng.random() < 0.8 else None
        spec = ReadSpec(columns=self._columns(), max_versions=rng.choice((1, 2, ALL_VERSIONS)), filter=text)
        if rng.random() < 0.25:
            first, last = self._now - rng.randrange(1, 9), self._now - rng.choice((0, 1, 2))
            spec = replace(spec, min_timestamp=first, max_timestamp=last)
        return spec

    def _compare(self, tablet: Tablet) -> None:
        rng, spec = self._rng, self._spec()
        times = None
        if rng.random() < 0.1:
            times = {rng.choice(_FAMILIES): (self._now - rng.randrange(3, 9), self._now - rng.choice((0, 2)))}
        request = ScanRequest(
            spec=replace(spec, raw=spec.filter is None and rng.random() < 0.3),
            reversed=rng.random() < 0.4,
            cells_per_row=rng.choice((0, 0, 1, 7, 50)),
            max_rows=rng.choice((1, 3, 1000)),
            max_bytes=rng.choice((200, 4 << 20)),
            family_times=times,
        )
        sought = self._answers(tablet, spec, request, rng.choice((1, 4, 16)))
        plain = self._answers(tablet, spec, request, _NEVER)
        if sought != plain:
            self._found.append(f"seed {self._seed}: {request}: {sought} with seeks, {plain} without")

    def _answers(
        self, tablet: Tablet, spec: ReadSpec, request: ScanRequest, sought_after: int
    ) -> tuple[object, object]:
        """Of a scan and of a get of all rows: what they give, or the message of their error."""
        sources.SOUGHT_AFTER = sought_after  # type: ignore[misc]
        try:
            scanned: object = _joined(everything(tablet, request))
        except HbtableError as error:
            scanned = repr(error)
        try:
            got: object = tablet.read_rows(list(_ROWS), spec)
        except HbtableError as error:
            got = repr(error)
        return scanned, got


def _joined(rows: Iterable[Row]) -> list[tuple[bytes, list[Cell]]]:
    """Rows that came in pieces as whole ones: where a piece ends is not the same."""
    found: dict[bytes, list[Cell]] = {}
    for row, cells in rows:
        found.setdefault(row, []).extend(cells)
    return list(found.items())


def random_leaf(rng: random.Random) -> bytes:
    first, second = sorted(rng.choices(range(300), k=2))
    flag = rng.choice((b"true", b"false"))
    operator = rng.choice((b"<", b"<=", b"=", b"!=", b">", b">="))
    return rng.choice((
        b"ColumnRangeFilter('%03d', %b, '%03d', %b)" % (first, flag, second, rng.choice((b"true", b"false"))),
        b"ColumnPrefixFilter('%02d')" % (first // 10),
        b"MultipleColumnPrefixFilter('%02d', '%d', '%03d')" % (first // 10, second // 100, second),
        b"QualifierFilter(%b, 'binary:%03d')" % (operator, first),
        b"QualifierFilter(%b, 'binaryprefix:%02d')" % (operator, first // 10),
        b"QualifierFilter(%b, 'binary:')" % operator,
        b"ColumnValueFilter('f', '%03d', %b, 'binary:4')" % (first, operator),
        b"SingleColumnValueFilter('f', '%03d', %b, 'binary:4', %b, %b)" % (first, operator, flag, flag),
        b"DependentColumnFilter('f', '%03d', %b)" % (first, flag),
        b"ValueFilter(%b, 'binary:4')" % operator,
        b"FamilyFilter(%b, 'binary:g')" % operator,
        b"TimestampsFilter(3, 5)",
        b"FirstKeyOnlyFilter()",
        b"KeyOnlyFilter()",
        b"ColumnCountGetFilter(%d)" % (first + 1),
        b"ColumnPaginationFilter(%d, %d)" % (second + 1, first),
        b"PageFilter(1)",
        b"PrefixFilter('r')",
        b"RowFilter(>=, 'binary:r1')",
    ))  # fmt: skip


def random_filter(rng: random.Random, depth: int = 2) -> bytes:
    kind = rng.random()
    if kind < 0.45 or not depth:
        return random_leaf(rng)
    if kind < 0.55:
        return rng.choice((b"SKIP ", b"WHILE ")) + b"(" + random_filter(rng, depth - 1) + b")"
    word = rng.choice((b" AND ", b" AND ", b" OR "))
    return b"(" + word.join(random_filter(rng, depth - 1) for _ in range(rng.choice((2, 2, 3)))) + b")"
