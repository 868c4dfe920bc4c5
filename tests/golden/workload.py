"""What a golden folder holds: the calls that fill it, and a model that says what they leave.

The model is a dict of puts and a list of markers, nothing of hbtable: what a column shows is worked out here, from the
rules of HBase, and never read back from a server. Every time is explicit but for counters and appends, whose time is
the server's and is None in the model.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

T0: Final = 1_700_000_000_000
FAR_MILLIS: Final = 10**13
"""A cell's own time to live that ends in more than three hundred years."""

Column = tuple[bytes, bytes, bytes]
FAMILY, FAMILY_VERSION, COLUMN, VERSION = "family", "family version", "column", "version"


@dataclass(slots=True)
class ModelTable:
    """`shell` creates it; `families` and `attributes` are what its schema says afterwards."""

    name: bytes
    shell: str
    families: dict[bytes, dict[str, Any]]
    attributes: list[list[str]] = field(default_factory=list)
    split_bytes: int = 0
    enabled: bool = True
    puts: dict[Column, dict[int | None, bytes]] = field(default_factory=dict)
    markers: list[tuple[str, bytes, bytes, bytes, int]] = field(default_factory=list)

    def put(self, row: bytes, column: bytes, value: bytes, time: int | None) -> None:
        family, _, qualifier = column.partition(b":")
        cells = self.puts.setdefault((row, family, qualifier), {})
        if time is None:
            cells.clear()  # a counter, of which one version is kept
        cells[time] = value

    def delete(self, kind: str, row: bytes, column: bytes, time: int) -> None:
        family, _, qualifier = column.partition(b":")
        marker = (kind, row, family, qualifier, time)
        if not self.families[family].get("new_version_behavior"):
            self.markers.append(marker)  # masks what is put below it later, too
            return
        for place, cells in self.puts.items():
            for old in [at for at in cells if at is not None and _masks(marker, place, at)]:
                del cells[old]

    def drop(self, family: bytes) -> None:
        """And all that is in it."""
        self.puts = {place: cells for place, cells in self.puts.items() if place[1] != family}

    def delete_rows(self, prefix: bytes) -> None:
        """What is there now; later puts show."""
        self.puts = {place: cells for place, cells in self.puts.items() if not place[0].startswith(prefix)}

    def cells(self) -> Iterator[tuple[Column, list[tuple[int | None, bytes]]]]:
        """Each column that shows anything, its versions newest first."""
        for place in sorted(self.puts):
            options = self.families[place[1]]
            live = [
                (time, value)
                for time, value in sorted(self.puts[place].items(), key=lambda cell: -(cell[0] or 0))
                if time is None or not any(_masks(marker, place, time) for marker in self.markers)
            ]
            kept = live[: options.get("max_versions", 1)]
            if options.get("ttl_seconds") == 1:  # long over: MIN_VERSIONS of them are kept
                kept = kept[: options.get("min_versions", 0)]
            if kept:
                yield place, kept


def _masks(marker: tuple[str, bytes, bytes, bytes, int], place: Column, time: int) -> bool:
    kind, row, family, qualifier, at = marker
    if (row, family) != place[:2] or (kind in (COLUMN, VERSION) and qualifier != place[2]):
        return False
    return time == at if kind in (VERSION, FAMILY_VERSION) else time <= at


COMPRESSIONS: Final = ("NONE", "GZ", "SNAPPY", "LZ4", "BZIP2", "ZSTD")
"""LZO can be asked for no more; the first folders have a family that was."""


def tables() -> dict[bytes, ModelTable]:
    """Every feature of a schema."""
    # The shell's families keep one version and have a Bloom filter of rows.
    usual: dict[str, Any] = {"max_versions": 1, "bloom": "ROW", "block_cache": True}
    made = [
        ModelTable(b"plain", "create 'plain', {NAME => 'f', VERSIONS => 3}, 'g'", {
            b"f": {**usual, "max_versions": 3}, b"g": usual,
        }),
        ModelTable(b"kinds", "create 'kinds', {NAME => 'f', VERSIONS => 5}, {NAME => 'g', VERSIONS => 5}", {
            b"f": {**usual, "max_versions": 5}, b"g": {**usual, "max_versions": 5},
        }),
        ModelTable(b"compressed", "create 'compressed', " + ", ".join(
            f"{{NAME => '{name.lower()}', COMPRESSION => '{name}', BLOCKSIZE => 2048}}" for name in COMPRESSIONS
        ), {
            name.lower().encode(): {**usual, "compression": name, "block_bytes": 2048} for name in COMPRESSIONS
        }),
        ModelTable(
            b"options",
            "create 'options', {NAME => 'nobloom', BLOOMFILTER => 'NONE'}, "
            "{NAME => 'rowcol', BLOOMFILTER => 'ROWCOL'}, "
            "{NAME => 'memory', IN_MEMORY => 'true', BLOCKCACHE => 'false'}, "
            "{NAME => 'long', TTL => 1892160000, VERSIONS => 3}, "
            "{NAME => 'short', TTL => 1, MIN_VERSIONS => 1, VERSIONS => 3}, "
            "{NAME => 'kept', KEEP_DELETED_CELLS => 'FALSE', METADATA => {'who' => 'me'}}",
            {
                b"nobloom": {**usual, "bloom": "NONE"},
                b"rowcol": {**usual, "bloom": "ROWCOL"},
                b"memory": {**usual, "in_memory": True, "block_cache": False},
                b"long": {**usual, "ttl_seconds": 1892160000, "max_versions": 3},
                b"short": {**usual, "ttl_seconds": 1, "min_versions": 1, "max_versions": 3},
                b"kept": {**usual, "attributes": [["KEEP_DELETED_CELLS", "FALSE"], ["METADATA/who", "me"]]},
            },
        ),
        ModelTable(
            b"grouped",
            "create 'grouped', {NAME => 'a', 'LOCALITY_GROUP' => 'both'}, "
            "{NAME => 'b', 'LOCALITY_GROUP' => 'both'}, 'own'",
            {
                b"a": {**usual, "locality_group": "both"},
                b"b": {**usual, "locality_group": "both"},
                b"own": usual,
            },
        ),
        ModelTable(
            b"newbehavior", "create 'newbehavior', {NAME => 'f', VERSIONS => 5, NEW_VERSION_BEHAVIOR => 'true'}", {
            b"f": {**usual, "max_versions": 5, "new_version_behavior": True},
        }),
        ModelTable(
            b"space:attributed",
            "create 'space:attributed', {NAME => 'f', VERSIONS => 3}, "
            "{METADATA => {'owner' => 'somebody'}, MAX_FILESIZE => 123456789, DURABILITY => 'SYNC_WAL'}",
            {b"f": {**usual, "max_versions": 3}},
            [["DURABILITY", "SYNC_WAL"], ["owner", "somebody"]],
            123456789,
        ),
        ModelTable(b"counters", "create 'counters', 'f'", {b"f": usual}),
        ModelTable(b"off", "create 'off', 'f'", {b"f": usual}),
        ModelTable(b"altered", "create 'altered', {NAME => 'f'}, {NAME => 'g'}", {
            b"f": usual, b"g": {**usual, "added_in": 3},
        }),
        ModelTable(b"ranged", "create 'ranged', 'f', 'g', SPLITS => ['gone-005']", {b"f": usual, b"g": usual}),
        ModelTable(b"presplit", "create 'presplit', 'f', SPLITS => ['g', 'n', 't']", {b"f": usual}),
    ]  # fmt: skip
    return {table.name: table for table in made}
