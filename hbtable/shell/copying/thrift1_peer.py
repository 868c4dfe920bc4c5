"""A server of HBase's Thrift1: a scan gives the newest version of each column alone, so older ones are asked for behind
it, and a write has one time for all of its rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, Final, final

from hbtable.model.cell import Cell, Row
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.shell.connection import ShellConnection
from hbtable.shell.copying.cluster_identity import cluster_identity
from hbtable.shell.copying.columns import EVERYTHING, NOW, Wanted, hidden, lifetime_of, split_column, ttl_attribute
from hbtable.shell.copying.page_size import PageSize
from hbtable.shell.copying.regions import REGIONS_COLUMN, REGIONS_TABLE, names_of_regions, regions_from
from hbtable.shell.errors import ServerError

_PIECE_CELLS: Final = 10_000


@final
class Thrift1Peer:
    """A peers.CopyPeer. A row of families that keep several versions has to fit into an answer."""

    untold = (
        "MIN_VERSIONS, BLOCKSIZE, KEEP_DELETED_CELLS, attributes of the table and of families, properties of its "
        "namespace"
    )
    why_left = (
        "HBase's Thrift1 cannot delete single versions: delete them in the target's shell, or give its Thrift2 server "
        "with --to thrift2://"
    )

    def __init__(self, connection: ShellConnection) -> None:
        self._server = connection

    def identity(self) -> frozenset[str]:
        return cluster_identity(self._server)

    def tables(self) -> list[bytes]:
        return sorted(self._server.hbase("getTableNames"))

    def schema(self, table: bytes) -> TableSchema | None:
        # HBase 1 names no class in its error, so the list is asked where it has the table.
        listed = not hidden(table)
        if listed and table not in self._server.hbase("getTableNames"):
            return None
        try:
            found = self._server.hbase("getColumnDescriptors", table)
        except ServerError as error:
            if not listed and error.java_class.endswith("TableNotFoundException"):
                return None
            raise
        families = [_family(one) for one in found.values()]
        return TableSchema(table, {family.name: family for family in families})

    def namespace(self, name: bytes) -> None:
        """There is no call for it."""

    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> bool:
        """Nor for this: the table's creation says that its namespace is missing."""
        return False

    def create(self, schema: TableSchema, split_rows: Sequence[bytes]) -> None:
        """Creates the table in one region: this service has no call for several, nor for a namespace."""
        families = [
            self._server.hbase_struct(
                "ColumnDescriptor",
                name=family.name,
                maxVersions=family.max_versions,
                compression=family.compression,
                inMemory=family.in_memory,
                bloomFilterType=family.bloom,
                blockCacheEnabled=family.block_cache,
                timeToLive=family.ttl_seconds,
            )
            for family in schema.families.values()
        ]
        self._server.hbase("createTable", schema.name, families)

    def regions(self, table: bytes) -> list[tuple[bytes, bytes]]:
        return regions_from(one.startKey for one in self._server.hbase("getTableRegions", table))

    def region_names(self, table: bytes) -> list[str]:
        """No table has one of them that is another one, or was dropped and made again. They are read from hbase:meta,
        which for a while has also a region that was split: getTableRegions leaves it out at once, and a table of a
        single region would seem to be another one."""
        scan = self._server.hbase_struct(
            "TScan", startRow=table + b",,", columns=[REGIONS_COLUMN], cacheBlocks=False
        )  # fmt: skip
        scanner = self._server.hbase("scannerOpenWithScan", REGIONS_TABLE, scan, {})
        try:
            return names_of_regions(table, lambda rows: self._server.hbase("scannerGetList", scanner, rows))
        finally:
            self._close(scanner)

    def pages(
        self, schema: TableSchema, start: bytes, stop: bytes, since: int, wanted: Wanted = EVERYTHING
    ) -> Iterator[list[Row]]:
        several = [] if wanted.newest else _of_several_versions(schema, wanted.columns)
        scan = self._server.hbase_struct(
            "TScan",
            startRow=start,
            stopRow=stop,
            columns=list(wanted.columns) or None,
            batchSize=None if several else _PIECE_CELLS,
            cacheBlocks=False,
        )
        scanner = self._server.hbase("scannerOpenWithScan", schema.name, scan, {})
        size = PageSize()
        try:
            while found := self._server.hbase("scannerGetList", scanner, size.rows):
                page = [_row(one) for one in found]
                size.came(page)
                newer = [(row, fresh) for row, cells in page if (fresh := [one for one in cells if one[1] >= since])]
                if several and newer:
                    newer = self._with_older(schema, several, newer, since)
                if newer:
                    yield newer
        finally:
            self._close(scanner)

    def _with_older(self, schema: TableSchema, columns: list[bytes], page: list[Row], since: int) -> list[Row]:
        """Asks for what is older than the newest cell of each row, and again, until there is nothing. Rows of one time,
        as those that were written together, are asked for together. A read of what is older shows also versions that
        are too many, until a compaction drops them."""
        found = {row: {(column, at): value for column, at, value in cells} for row, cells in page}
        bounds: dict[int, set[bytes]] = {}
        for row, cells in page:
            bounds.setdefault(max(at for _, at, _ in cells), set()).add(row)
        while bounds:
            bound = max(bounds)
            rows = sorted(bounds.pop(bound))
            if bound <= since:
                continue
            for one in self._server.hbase("getRowsWithColumnsTs", schema.name, rows, columns, bound, {}):
                row, cells = _row(one)
                fresh = [cell for cell in cells if cell[1] >= since]
                found[row].update({(column, at): value for column, at, value in fresh})
                if fresh:
                    bounds.setdefault(max(at for _, at, _ in fresh), set()).add(row)
        return [(row, _kept(schema, [(*cell, value) for cell, value in found[row].items()])) for row, _ in page]

    def _close(self, scanner: int) -> None:
        try:
            self._server.hbase("scannerClose", scanner)
        except ServerError:
            return  # it expired

    def tells_lifetimes(self, table: bytes) -> bool:
        return False

    def write(self, table: bytes, rows: Sequence[Row]) -> None:
        """One call for all cells of a time, and of a time to live of their own."""
        timed = sorted(
            (at, lifetime_of(value), number, column, value)
            for number, (_, cells) in enumerate(rows)
            for column, at, value in cells
        )  # fmt: skip
        for (at, ttl_millis), together in groupby(timed, lambda one: one[:2]):
            batches = []
            attributes = ttl_attribute(ttl_millis)
            for number, of_row in groupby(together, lambda one: one[2]):
                mutations = [self._server.hbase_struct("Mutation", column=one[3], value=one[4]) for one in of_row]
                batches.append(self._server.hbase_struct("BatchMutation", row=rows[number][0], mutations=mutations))
            if at == NOW:
                self._server.hbase("mutateRows", table, batches, attributes)
            else:
                self._server.hbase("mutateRowsTs", table, batches, at, attributes)

    def delete(self, table: bytes, rows: Sequence[Row]) -> int:
        """This service deletes all that is older along with a cell, so it is left."""
        return sum(len(cells) for _, cells in rows)

    def close(self) -> None:
        self._server.close()


def _of_several_versions(schema: TableSchema, columns: Sequence[bytes]) -> list[bytes]:
    """Those of the columns, or of all families when none are named, that may have older versions."""
    return [
        name
        for name in columns or sorted(schema.families)
        if (family := schema.families.get(split_column(name)[0])) and family.max_versions > 1
    ]


def _row(found: Any) -> Row:
    return found.row, _in_order((column, cell.timestamp, cell.value) for column, cell in found.columns.items())


def _kept(schema: TableSchema, cells: list[Cell]) -> list[Cell]:
    """As many versions of each column as its family keeps."""
    found: list[Cell] = []
    for column, versions in groupby(_in_order(cells), lambda cell: cell[0]):
        found += islice(versions, schema.families[column.partition(b":")[0]].max_versions)
    return found


def _in_order(cells: Any) -> list[Cell]:
    return sorted(cells, key=lambda cell: (cell[0].partition(b":")[::2], -cell[1]))


def _family(found: Any) -> FamilySchema:
    return FamilySchema(
        found.name.removesuffix(b":"),
        max_versions=found.maxVersions,
        compression=found.compression,
        bloom=found.bloomFilterType,
        in_memory=found.inMemory,
        block_cache=found.blockCacheEnabled,
        ttl_seconds=found.timeToLive,
    )
