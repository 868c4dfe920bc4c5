"""A server of HBase's Thrift2: schemas with all that it tells, all versions in a scan, puts with their times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final

from hbtable.hbase.codec import thrift2_structs
from hbtable.hbase.thrift2.descriptors import described, table_schema
from hbtable.model.cell import MAX_TIMESTAMP, Row
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.values import LARGEST_I32
from hbtable.shell.connection import ShellConnection
from hbtable.shell.copying.cluster_identity import cluster_identity
from hbtable.shell.copying.columns import (
    EVERYTHING,
    NOW,
    Wanted,
    by_lifetime,
    hidden,
    namespace_of,
    split_column,
    ttl_attribute,
)
from hbtable.shell.copying.page_size import PageSize
from hbtable.shell.copying.regions import REGIONS_COLUMN, REGIONS_TABLE, names_of_regions, regions_from
from hbtable.shell.errors import ServerError

_PIECE_CELLS: Final = 10_000
_DELETE_ONE_VERSION: Final = 0
_SAID_TWICE: Final = frozenset(
    (
        *("VERSIONS", "BLOOMFILTER", "BLOCKSIZE", "BLOCKCACHE", "MIN_VERSIONS", "TTL", "IN_MEMORY", "COMPRESSION"),
        *("INDEX_BLOCK_ENCODING", "IS_META"),
    )
)
"""Attributes that a descriptor's fields have as well, or that no table can choose."""
_DEFAULTS: Final = frozenset(
    (
        *(("CACHE_BLOOMS_ON_WRITE", "false"), ("CACHE_DATA_ON_WRITE", "false"), ("CACHE_INDEX_ON_WRITE", "false")),
        *(("COMPRESS_TAGS", "true"), ("EVICT_BLOCKS_ON_CLOSE", "false"), ("DFS_REPLICATION", "0")),
    )
)


@final
class Thrift2Peer:
    """A peers.CopyPeer."""

    untold = ""
    why_left = "its server did not delete them, and says no reason: look in its log, then give the same command again"

    def __init__(self, connection: ShellConnection) -> None:
        self._server = connection

    def identity(self) -> frozenset[str]:
        return cluster_identity(self._server)

    def tables(self) -> list[bytes]:
        found = self._server.thrift2("getTableNamesByPattern", ".*", False)
        return sorted(_plain(one.ns, one.qualifier) for one in found)

    def schema(self, table: bytes) -> TableSchema | None:
        listed = not hidden(table)
        if listed and not self._server.thrift2("tableExists", self._name(table)):
            return None
        try:
            found = table_schema(_tuples(self._server.thrift2("getTableDescriptor", self._name(table))))
        except ServerError as error:
            if not listed and error.java_class.endswith("TableNotFoundException"):
                return None
            raise
        families = {name: replace(one, attributes=_chosen(one)) for name, one in found.families.items()}
        attributes = tuple(one for one in found.attributes if one[0] not in _SAID_TWICE)
        return replace(found, families=families, attributes=attributes)

    def namespace(self, name: bytes) -> dict[str, str] | None:
        if name.decode() not in self._server.thrift2("listNamespaces"):
            return None
        found = self._server.thrift2("getNamespaceDescriptor", name.decode())
        return dict(found.configuration or {})

    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> bool:
        made = self._server.thrift2_struct(
            "TNamespaceDescriptor", name=name.decode(), configuration=dict(properties) or None
        )
        self._server.thrift2("createNamespace", made)
        return True

    def create(self, schema: TableSchema, split_rows: Sequence[bytes]) -> None:
        self._server.thrift2("createTable", self._struct(_said_once(described(schema))), list(split_rows) or None)

    def regions(self, table: bytes) -> list[tuple[bytes, bytes]]:
        found = self._server.thrift2("getAllRegionLocations", table)
        return regions_from(one.regionInfo.startKey for one in found)

    def region_names(self, table: bytes) -> list[str]:
        """As Thrift1Peer's. This service tells no region's name, but reads the table that has them."""
        columns = [self._column(REGIONS_COLUMN)]
        scan = self._server.thrift2_struct("TScan", startRow=table + b",,", columns=columns, cacheBlocks=False)
        scanner = self._server.thrift2("openScanner", REGIONS_TABLE, scan)
        try:
            return names_of_regions(table, lambda rows: self._server.thrift2("getScannerRows", scanner, rows))
        finally:
            self._close(scanner)

    def pages(
        self, schema: TableSchema, start: bytes, stop: bytes, since: int, wanted: Wanted = EVERYTHING
    ) -> Iterator[list[Row]]:
        size = PageSize()
        scan = self._server.thrift2_struct(
            "TScan",
            startRow=start,
            stopRow=stop,
            columns=[self._column(name) for name in wanted.columns] or None,
            maxVersions=1 if wanted.newest else LARGEST_I32,
            timeRange=self._server.thrift2_struct("TTimeRange", minStamp=since, maxStamp=MAX_TIMESTAMP),
            batchSize=_PIECE_CELLS,
            cacheBlocks=False,
        )
        scanner = self._server.thrift2("openScanner", schema.name, scan)
        try:
            while found := self._server.thrift2("getScannerRows", scanner, size.rows):
                page = [(one.row, [_cell(cell) for cell in one.columnValues]) for one in found]
                size.came(page)
                yield page
        finally:
            self._close(scanner)

    def _close(self, scanner: int) -> None:
        try:
            self._server.thrift2("closeScanner", scanner)
        except ServerError:
            return  # it expired

    def tells_lifetimes(self, table: bytes) -> bool:
        return False

    def write(self, table: bytes, rows: Sequence[Row]) -> None:
        make = self._server.thrift2_struct
        puts = []
        for row, cells in rows:
            for ttl_millis, together in by_lifetime(cells):
                values = []
                for column, timestamp, value in together:
                    family, qualifier = split_column(column)
                    at = None if timestamp == NOW else timestamp
                    values.append(make("TColumnValue", family=family, qualifier=qualifier, value=value, timestamp=at))
                puts.append(make("TPut", row=row, columnValues=values, attributes=ttl_attribute(ttl_millis) or None))
        if puts:
            self._server.thrift2("putMultiple", table, puts)

    def delete(self, table: bytes, rows: Sequence[Row]) -> int:
        make = self._server.thrift2_struct
        deletes = []
        for row, cells in rows:
            columns = []
            for column, timestamp, _ in cells:
                family, qualifier = split_column(column)
                columns.append(make("TColumn", family=family, qualifier=qualifier, timestamp=timestamp))
            deletes.append(make("TDelete", row=row, columns=columns, deleteType=_DELETE_ONE_VERSION))
        left = self._server.thrift2("deleteMultiple", table, deletes) if deletes else ()
        return sum(len(one.columns or ()) for one in left)

    def close(self) -> None:
        self._server.close()

    def _column(self, name: bytes) -> Any:
        family, qualifier = split_column(name)
        return self._server.thrift2_struct("TColumn", family=family, qualifier=qualifier if b":" in name else None)

    def _name(self, table: bytes) -> Any:
        namespace = namespace_of(table)
        qualifier = table.removeprefix(namespace + b":") if namespace else table
        return self._server.thrift2_struct("TTableName", ns=namespace or b"default", qualifier=qualifier)

    def _struct(self, value: Any) -> Any:
        """A tuple of thrift2_structs as what goes over the wire."""
        if isinstance(value, list):
            return [self._struct(one) for one in value]
        if not isinstance(value, tuple):
            return value
        made = self._server.thrift2_struct(type(value).__name__)
        for place, field in enumerate(sorted(made.thrift_spec)):
            setattr(made, made.thrift_spec[field][1], self._struct(value[place]))
        return made


def _said_once(made: thrift2_structs.TTableDescriptor) -> thrift2_structs.TTableDescriptor:
    """Without attributes that repeat a field, and without fields that are the default."""
    families = [
        one._replace(
            attributes={name: value for name, value in (one.attributes or {}).items() if not _is_said(name, value)},
            cache_blooms_on_write=one.cache_blooms_on_write or None,
            cache_data_on_write=one.cache_data_on_write or None,
            cache_indexes_on_write=one.cache_indexes_on_write or None,
            evict_blocks_on_close=one.evict_blocks_on_close or None,
            compress_tags=None if one.compress_tags else False,
            dfs_replication=one.dfs_replication or None,
        )
        for one in made.columns or ()
    ]
    return made._replace(columns=families)


def _is_said(name: bytes, value: bytes) -> bool:
    return name.decode() in _SAID_TWICE or (name.decode(), value.decode("utf-8", "replace")) in _DEFAULTS


def _tuples(value: Any) -> Any:
    """The other way round."""
    if isinstance(value, list):
        return [_tuples(one) for one in value]
    spec = getattr(value, "thrift_spec", None)
    if spec is None:
        return value
    make = getattr(thrift2_structs, type(value).__name__)
    return make(*(_tuples(getattr(value, spec[field][1])) for field in sorted(spec)))


def _plain(namespace: bytes | None, qualifier: bytes) -> bytes:
    return qualifier if namespace in (None, b"", b"default") else namespace + b":" + qualifier


def _chosen(family: FamilySchema) -> tuple[tuple[str, str], ...]:
    """The attributes that somebody chose."""
    return tuple(one for one in family.attributes if one[0] not in _SAID_TWICE and one not in _DEFAULTS)


def _cell(cell: Any) -> tuple[bytes, int, bytes]:
    return cell.family + b":" + cell.qualifier, cell.timestamp, cell.value
