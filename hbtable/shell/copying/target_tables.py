"""The tables at the target of a copy: all are looked at before the first is made, so that a copy that is refused has
written nothing.
"""

from collections.abc import Callable, Iterator, Sequence

from hbtable.model.schema import FOREVER_SECONDS, FamilySchema, TableSchema
from hbtable.shell.copying.peers import CopyPeer
from hbtable.shell.errors import ArgumentError

Say = Callable[[str], None]


def prepared(
    names: Sequence[bytes], source: CopyPeer, target: CopyPeer, allow_fewer: bool, say: Say
) -> dict[bytes, TableSchema]:
    """The source's schemas; a table of each name is at the target afterwards. ArgumentError, with every table that is
    not fit, before any is made. `allow_fewer`: tables that keep fewer cells than the source are said, not refused."""
    schemas: dict[bytes, TableSchema] = {}
    absent: list[TableSchema] = []
    wrong: list[str] = []
    for name in dict.fromkeys(names):
        schema = source.schema(name)
        if schema is None:
            wrong.append(f"the source has no table {_shown(name)}")
            continue
        schemas[name] = schema
        there = target.schema(name)
        if there is None:
            absent.append(schema)
            continue
        wrong += _lacking(schema, there)
        fewer = _keeping_fewer(schema, there, "MIN_VERSIONS" not in target.untold)
        if allow_fewer:
            for line in fewer:
                say(line)
        else:
            wrong += [f"{line}: alter it, or give --allow-fewer" for line in fewer]
        if untold := source.untold or target.untold:
            say(f"not compared with the target's table {_shown(name)}, which was there: {untold}")
    if wrong:
        raise ArgumentError("; ".join(wrong))
    for schema in absent:
        _make(schema, source, target, say)
    return schemas


def _make(schema: TableSchema, source: CopyPeer, target: CopyPeer, say: Say) -> None:
    shown = _shown(schema.name)
    target.create(schema, [start for start, _ in source.regions(schema.name) if start])
    say(f"made table {shown} with {len(schema.families)} families")
    if source.untold:
        say(f"what the source does not tell, alter in {shown}: {source.untold}")
    if target.untold:
        say(f"what the target was not told, alter in {shown}: {target.untold}")


def _lacking(schema: TableSchema, there: TableSchema) -> list[str]:
    lacking = sorted(set(schema.families) - set(there.families))
    if not lacking:
        return []
    names = b", ".join(lacking).decode("utf-8", "backslashreplace")
    return [f"table {_shown(schema.name)} of the target has no column family {names}: add it, or drop the table"]


def _keeping_fewer(schema: TableSchema, there: TableSchema, min_versions_told: bool) -> list[str]:
    """One line for each family. KEEP_DELETED_CELLS is left out: it is about deleted cells, and no delete is copied."""
    lines = []
    for name in sorted(set(schema.families) & set(there.families)):
        if fewer := ", ".join(_fewer(schema.families[name], there.families[name], min_versions_told)):
            lines.append(
                f"table {_shown(schema.name)} of the target keeps fewer cells of family {_shown(name)}: {fewer}"
            )
    return lines


def _fewer(source: FamilySchema, target: FamilySchema, min_versions_told: bool) -> Iterator[str]:
    if target.max_versions < source.max_versions:
        yield f"VERSIONS {target.max_versions}, and the source {source.max_versions}"
    if target.ttl_seconds < source.ttl_seconds:
        yield f"TTL {_time(target.ttl_seconds)}, and the source {_time(source.ttl_seconds)}"
    # Versions that outlive the time to live; without one there are none.
    expires = target.ttl_seconds < FOREVER_SECONDS
    if expires and min_versions_told and target.min_versions < source.min_versions:
        yield f"MIN_VERSIONS {target.min_versions}, and the source {source.min_versions}"


def _time(seconds: int) -> str:
    return "FOREVER" if seconds >= FOREVER_SECONDS else f"{seconds} seconds"


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
