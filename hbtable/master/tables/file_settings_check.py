"""Refuses schemas that ask something of files that is not done. Pure.

Tables of older versions may ask for more, and go on as they are: only what a change asks anew is looked at.
"""

from hbtable.errors import InvalidRequest
from hbtable.model.file_settings import NEVER_COMPRESSED
from hbtable.model.names import shown
from hbtable.model.schema import COMPRESSIONS, FamilySchema, TableSchema

_SHARED = (
    ("COMPRESSION", "compression"),
    ("BLOCKSIZE", "block_bytes"),
    ("BLOOMFILTER", "bloom"),
    ("IN_MEMORY", "in_memory"),
    ("BLOCKCACHE", "block_cache"),
)
"""As people call them, and the fields of FamilySchema."""


def check_file_settings(old: TableSchema | None, new: TableSchema) -> None:
    """`old`: what the table has now; None for a new table. InvalidRequest with one message."""
    before = old.families if old is not None else {}
    for name, family in new.families.items():
        held = before.get(name)
        if family.compression == NEVER_COMPRESSED and (held is None or held.compression != NEVER_COMPRESSED):
            known = ", ".join(name for name in COMPRESSIONS if name != NEVER_COMPRESSED)
            raise InvalidRequest(
                f"column family {shown(name)} of table {shown(new.name)}: compression {NEVER_COMPRESSED} is not "
                f"available; there is {known}"
            )
    kept = {_asked(old, names) for names in old.groups().values()} if old is not None else set()
    for group, names in new.groups().items():
        if _asked(new, names) not in kept:
            _check_group(new, group, [new.families[name] for name in names])


def _asked(schema: TableSchema, names: tuple[bytes, ...]) -> tuple[object, ...]:
    return tuple((name, *(getattr(schema.families[name], field) for _, field in _SHARED)) for name in names)


def _check_group(schema: TableSchema, group: str, families: list[FamilySchema]) -> None:
    first = families[0]
    for family in families[1:]:
        for option, field in _SHARED:
            one, other = getattr(first, field), getattr(family, field)
            if one != other:
                raise InvalidRequest(
                    f"column families {shown(first.name)} and {shown(family.name)} of table {shown(schema.name)} share "
                    f"their files, as both are in locality group {group}, but ask for {option} {one} and {other}; give "
                    "both the same, in one alter, or groups of their own"
                )
