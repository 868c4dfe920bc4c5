"""Refuses schemas that ask something of files, or of their compactions, that is not done. Pure.

Tables of older versions may ask for more, and go on as they are: only what a change asks anew is looked at.
"""

from hbtable.errors import InvalidRequest
from hbtable.model.family_attributes import plain_name
from hbtable.model.file_settings import COMPACTED, ENCRYPTIONS, NEVER_COMPRESSED, promises_what_is_not_done
from hbtable.model.names import shown
from hbtable.model.schema import (
    MAJOR_COMPACTION,
    OFFERED_COMPRESSIONS,
    Attributes,
    FamilySchema,
    TableSchema,
    millis,
)

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
    for name, family in sorted(new.families.items()):
        held = before.get(name)
        if family.compression == NEVER_COMPRESSED and (held is None or held.compression != NEVER_COMPRESSED):
            raise InvalidRequest(
                f"column family {shown(name)} of table {shown(new.name)}: compression {NEVER_COMPRESSED} is not "
                f"available; there is {', '.join(OFFERED_COMPRESSIONS)}"
            )
        _check_attributes(new, held, family)
    kept_attributes = old.attributes if old is not None else ()
    _check_major_compaction(f"table {shown(new.name)}", kept_attributes, new.attributes)
    for attribute in new.attributes:
        if attribute[0] in ENCRYPTIONS and attribute not in kept_attributes:
            raise _no_encryption(f"table {shown(new.name)}", attribute[0])
    kept = {_asked(old, names) for names in old.groups().values()} if old is not None else set()
    for group, names in new.groups().items():
        if _asked(new, names) not in kept:
            _check_group(new, group, [new.families[name] for name in names])


def _check_attributes(schema: TableSchema, held: FamilySchema | None, family: FamilySchema) -> None:
    whose = f"column family {shown(family.name)} of table {shown(schema.name)}"
    before = held.attributes if held is not None else ()
    _check_major_compaction(whose, before, family.attributes)
    for attribute, value in family.attributes:
        if not promises_what_is_not_done(attribute, value, family.compression):
            continue
        name, is_new = plain_name(attribute), (attribute, value) not in before
        if name in ENCRYPTIONS and is_new:
            raise _no_encryption(whose, name)
        if name in COMPACTED and (is_new or held is None or held.compression != family.compression):
            raise InvalidRequest(
                f"{whose}: {name} {value} is not the family's COMPRESSION {family.compression}, which all its files "
                f"have, compacted or not; leave {name} out, or give both the same"
            )


def _no_encryption(whose: str, name: str) -> InvalidRequest:
    return InvalidRequest(
        f"{whose}: {name} is not available, hbtable encrypts no files; leave it out, and keep the data on an encrypted "
        "disk if it has to be encrypted"
    )


def _check_major_compaction(whose: str, before: Attributes, given: Attributes) -> None:
    for attribute, value in given:
        if plain_name(attribute) == MAJOR_COMPACTION and (attribute, value) not in before and millis(value) is None:
            raise InvalidRequest(
                f"{whose}: {MAJOR_COMPACTION} {value!r} is no number of milliseconds; "
                "give a whole number, 0 for major compactions only when they are asked for"
            )


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
