"""The tables at the target of a copy: all are looked at before the first is made, so that a copy that is refused has
written nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from hbtable.model.schema import FOREVER_SECONDS, FamilySchema, TableSchema
from hbtable.shell.copying.columns import namespace_of
from hbtable.shell.copying.peers import CopyPeer
from hbtable.shell.errors import ArgumentError, ServerError

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
    for namespace in sorted(set(map(namespace_of, schemas)) - {b""}):
        _prepare_namespace(namespace, source, target, say)
    for schema in absent:
        _make(schema, source, target, say)
    return schemas


def _prepare_namespace(namespace: bytes, source: CopyPeer, target: CopyPeer, say: Say) -> None:
    """It is at the target afterwards. One that was there keeps its properties, and a difference is said."""
    shown = _shown(namespace)
    wanted = _properties(namespace, source, "source", say)
    there = _properties(namespace, target, "target", say)
    if there is None:
        if target.create_namespace(namespace, wanted or {}) and wanted:
            say(f"made namespace {shown} with {_pairs(wanted)}")
    elif wanted is not None and wanted != there:
        say(f"namespace {shown} of the target has {_pairs(there)} and keeps that; the source's has {_pairs(wanted)}")


def _properties(namespace: bytes, peer: CopyPeer, side: str, say: Say) -> dict[str, str] | None:
    """None: there is no such namespace, or its properties are not told."""
    try:
        return peer.namespace(namespace)
    except ServerError as error:
        if not error.java_class.endswith("AccessDeniedException"):
            raise
        say(
            f"the properties of namespace {_shown(namespace)} are not compared: the {side} shows them to those who "
            "administer it"
        )
        return {} if side == "target" else None


def _pairs(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{name} => {properties[name]}" for name in sorted(properties)) or "no properties"


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
