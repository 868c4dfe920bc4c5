"""A table of the library: rows, and what there is to know of the table itself."""

from typing import Protocol, TypedDict, final

from hbtable.client.rows import Rows
from hbtable.client.table_calls import NamedTableCalls
from hbtable.hbase.regions import Region
from hbtable.library.options import FamilyDescription, described_family
from hbtable.model.file_settings import families_as_done
from hbtable.switches import switches


class RegionDescription(TypedDict):
    """A tablet as happybase shows it. In a database of this process no server is asked for: b"" and 0."""

    start_key: bytes
    end_key: bytes
    id: int
    """Milliseconds since 1970: when it was made."""
    name: bytes
    version: int
    server_name: bytes
    port: int


class TableOwner(Protocol):
    """A Database, as its tables know it."""

    def regions_of(self, name: bytes) -> list[RegionDescription]: ...
    def close(self) -> None: ...


@final
class Table(Rows):
    """A table by its name (Database.table): all of happybase's Table. It refers to its `connection`, which is not
    closed before nobody refers to either."""

    __slots__ = ("connection",)

    def __init__(self, table: NamedTableCalls, connection: TableOwner) -> None:
        super().__init__(table)
        self.connection = connection

    @switches
    def families(self) -> dict[bytes, FamilyDescription]:
        """By name, with happybase's options. All options: schema()."""
        families = families_as_done(self.schema())
        return {name: described_family(families[name]) for name in sorted(families)}

    def regions(self) -> list[RegionDescription]:
        """Ascending by row; [] when there is no such table."""
        return self.connection.regions_of(self.name)


def described(region: Region) -> RegionDescription:
    return {
        "start_key": region.start_row,
        "end_key": region.stop_row,
        "id": region.created_millis,
        "name": region.name,
        "version": 1,
        "server_name": region.host or b"",
        "port": region.port or 0,
    }
