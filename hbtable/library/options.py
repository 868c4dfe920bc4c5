"""Options of column families as programs write them, and as they are shown: by happybase's names, which are Thrift's,
and by hbtable's for what Thrift has no name for."""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypedDict

from hbtable.client.columns import K
from hbtable.client.given import bytes_of, members, whole_number
from hbtable.errors import WrongType, WrongValue
from hbtable.model.names import check_family
from hbtable.model.schema import FOREVER_SECONDS, Attributes, FamilySchema
from hbtable.model.values import shown


class FamilyOptions(TypedDict, total=False):
    """Options of a column family. What they do: model.schema.FamilySchema."""

    max_versions: int
    compression: str
    in_memory: bool
    bloom_filter_type: str
    bloom_filter_vector_size: int
    """Taken, and nothing is done with it, as in HBase."""
    bloom_filter_nb_hashes: int
    """As bloom_filter_vector_size."""
    block_cache_enabled: bool
    time_to_live: int
    """Seconds; 0 and less: for ever."""
    min_versions: int
    block_bytes: int
    locality_group: str
    new_version_behavior: bool
    attributes: Attributes
    bloom: str
    """Another name of bloom_filter_type, as the two below are of block_cache_enabled and time_to_live."""
    block_cache: bool
    ttl_seconds: int


Families = Mapping[K, FamilyOptions | None] | list[K] | tuple[K, ...] | AbstractSet[K]
"""Any collection of names will do. Not said to type checkers: a dict with wrong options is one, too."""


class FamilyDescription(TypedDict):
    """A column family as happybase shows it, with the types that Thrift gives it."""

    name: bytes
    """With the colon."""
    max_versions: int
    compression: bytes
    in_memory: bool
    bloom_filter_type: bytes
    bloom_filter_vector_size: int
    bloom_filter_nb_hashes: int
    block_cache_enabled: bool
    time_to_live: int


_FIELDS: Final = {"bloom_filter_type": "bloom", "block_cache_enabled": "block_cache", "time_to_live": "ttl_seconds"}
"""Of FamilySchema, by happybase's name."""
_IGNORED: Final = ("bloom_filter_vector_size", "bloom_filter_nb_hashes")
_WORDS: Final = ("compression", "bloom")


def families_of(table: object, families: Families[K]) -> dict[bytes, FamilySchema]:
    """The families of a table that is to be made. InvalidRequest."""
    kind: object = families
    if isinstance(kind, (str, bytes)) or not isinstance(kind, Collection):
        raise WrongType(f"table {table!r} needs column families: a list of names, or a dict of their options")
    if not families:
        error = WrongValue if isinstance(families, Mapping) else WrongType  # happybase takes no list at all
        raise error(f"table {table!r} needs column families, and none is given")
    named: Collection[tuple[K, FamilyOptions | None]]
    if isinstance(families, Mapping):
        named = families.items()
    else:
        named = [(family, None) for family in members("families", families)]
    found: dict[bytes, FamilySchema] = {}
    for given, options in named:
        family = family_schema(given, options)
        if family.name in found:
            raise WrongValue(f"column family {given!r} of table {table!r} is given twice")
        found[family.name] = family
    return dict(sorted(found.items()))  # as they come over a port: of several wrong ones the same is named


def family_schema(given: str | bytes, options: FamilyOptions | None) -> FamilySchema:
    name = family_name(given)
    return FamilySchema(name, **changes(given, {} if options is None else options))


def family_name(given: str | bytes) -> bytes:
    """Without the colon that may end it."""
    name = bytes_of("the name of a column family", given).removesuffix(b":")
    check_family(name)
    return name


def changes(family: object, options: FamilyOptions) -> dict[str, Any]:
    """Fields of FamilySchema and their values. InvalidRequest for an option that there is not, or that comes by two
    names. What a value may be is the master's to say."""
    if not isinstance(options, Mapping):
        raise WrongType(f"the options of column family {family!r}: {shown(options)} has to be a dict")
    known = list(FamilyOptions.__annotations__)
    found: dict[str, Any] = {}
    for option, value in options.items():
        if option not in known:
            raise WrongType(f"column family {family!r} has no option {option!r}; there are {', '.join(known)}")
        field = _FIELDS.get(option, option)
        if field in found:
            raise WrongValue(f"column family {family!r} is given {field} by two names")
        if option in _IGNORED:
            whole_number(f"{option} of column family {family!r}", value, -(2**31), 2**31 - 1)
        else:
            found[field] = _as_thrift_takes_it(option, field, value)
    return found


def _as_thrift_takes_it(option: str, field: str, value: Any) -> Any:
    if field in _WORDS and type(value) is bytes:
        value = value.decode("utf-8", "backslashreplace")
    if field == "compression" and type(value) is str:
        return value.upper()
    if option == "time_to_live" and type(value) is int and value <= 0:
        return FOREVER_SECONDS
    return value


def described_family(family: FamilySchema) -> FamilyDescription:
    return {
        "name": family.name + b":",
        "max_versions": family.max_versions,
        "compression": family.compression.encode(),
        "in_memory": family.in_memory,
        "bloom_filter_type": family.bloom.encode(),
        "bloom_filter_vector_size": 0,
        "bloom_filter_nb_hashes": 0,
        "block_cache_enabled": family.block_cache,
        "time_to_live": family.ttl_seconds,
    }
