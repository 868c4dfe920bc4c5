"""merge and visibility against a model that looks at every put alone, with every marker of its row."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.encoding.cell_key import FLAG_TTL, Pair, cell_key
from hbtable.merge.family_times import without_later_markers
from hbtable.merge.merging import merge
from hbtable.merge.rules import FamilyRules
from hbtable.merge.visibility import rows
from hbtable.model.cell import MAX_TIMESTAMP, Row
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION, PUT
from hbtable.model.read import Columns
from tests.harness.tiers import generated

NAMES = st.one_of(
    st.sampled_from([b"", b"a", b"b", b"a\x00", b"a\x00\x01", b"\x00", b"\xff", b"\x00\xff"]), st.binary(max_size=3)
)
ROWS = NAMES.filter(bool)
FAMILIES = st.sampled_from([b"f", b"g", b"fg"])
KINDS = st.sampled_from([PUT, PUT, PUT, PUT, DELETE_COLUMN, DELETE_VERSION, DELETE_FAMILY, DELETE_FAMILY_VERSION])
TIMES = st.one_of(st.integers(0, 9), st.sampled_from([MAX_TIMESTAMP]))
TTLS = st.sampled_from([None, None, None, 0, 3, 1000])
OPERATIONS = st.lists(st.tuples(ROWS, FAMILIES, NAMES, KINDS, TIMES, TTLS), max_size=40)
Operation = tuple[bytes, bytes, bytes, int, int, int | None]
RULES = st.builds(
    FamilyRules,
    max_versions=st.sampled_from([1, 2, 3, 2**31 - 1]),
    min_versions=st.integers(0, 2),
    ttl_millis=st.sampled_from([0, 0, 2, 5]),
    new_version_behavior=st.booleans(),
    keep_deleted=st.booleans(),
)
COLUMNS = st.one_of(
    st.none(), st.dictionaries(FAMILIES, st.one_of(st.none(), st.frozensets(NAMES, max_size=4)), max_size=3)
)


def pair_of(operation: Operation, sequence: int) -> Pair:
    row, family, qualifier, kind, timestamp, ttl = operation
    if kind in (DELETE_FAMILY, DELETE_FAMILY_VERSION):
        qualifier = b""
    if kind != PUT:
        return cell_key(row, family, qualifier, timestamp, kind, sequence), b""
    value = b"value %d" % sequence
    if ttl is None:
        return cell_key(row, family, qualifier, timestamp, kind, sequence), value
    return cell_key(row, family, qualifier, timestamp, kind, sequence, FLAG_TTL), ttl.to_bytes(8, "big") + value


def model(
    operations: list[Operation],
    rules: dict[bytes, FamilyRules],
    columns: Columns | None,
    min_ts: int,
    max_ts: int,
    max_versions: int,
    now: int,
) -> list[Row]:
    newest: dict[tuple[bytes, bytes, bytes, int], tuple[int, int | None]] = {}
    for sequence, (row, family, qualifier, kind, timestamp, ttl) in enumerate(operations, 1):
        if kind == PUT:
            newest[row, family, qualifier, timestamp] = sequence, ttl
    by_column: dict[tuple[bytes, bytes, bytes], list[tuple[int, bytes]]] = {}
    for (row, family, qualifier, timestamp), (sequence, ttl) in sorted(newest.items(), key=lambda item: -item[0][3]):
        rule = rules.get(family)
        if rule is None or (columns is not None and family not in columns):
            continue
        wanted = None if columns is None else columns[family]
        if wanted is not None and qualifier not in wanted:
            continue
        if any(
            marker_row == row
            and marker_family == family
            and (kind <= DELETE_FAMILY_VERSION or marker_qualifier == qualifier)
            and (timestamp <= upto if kind in (DELETE_FAMILY, DELETE_COLUMN) else timestamp == upto)
            and (marker_sequence > sequence or not rule.new_version_behavior)
            and (upto < max_ts or max_ts == MAX_TIMESTAMP or not rule.keep_deleted)
            for marker_sequence, (marker_row, marker_family, marker_qualifier, kind, upto, _) in enumerate(
                operations, 1
            )
            if kind != PUT
        ):
            continue
        if not min_ts <= timestamp or not (timestamp < max_ts or max_ts == MAX_TIMESTAMP):
            continue
        if ttl is not None and now - timestamp > ttl:
            continue
        kept = by_column.setdefault((row, family, qualifier), [])
        expired = rule.ttl_millis and now - timestamp > rule.ttl_millis
        if len(kept) < min(rule.max_versions, max_versions) and not (expired and len(kept) >= rule.min_versions):
            kept.append((timestamp, b"value %d" % sequence))
    result: dict[bytes, list[tuple[bytes, int, bytes]]] = {}
    for (row, family, qualifier), kept in sorted(by_column.items()):
        for timestamp, value in kept:
            result.setdefault(row, []).append((family + b":" + qualifier, timestamp, value))
    return list(result.items())


@settings(max_examples=generated(400), deadline=None)
@given(
    OPERATIONS,
    st.dictionaries(FAMILIES, RULES, min_size=1),
    COLUMNS,
    st.integers(0, 5),
    st.one_of(st.just(MAX_TIMESTAMP), st.integers(0, 12)),
    st.sampled_from([1, 2, 2**31 - 1]),
    st.integers(0, 15),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_rows_of_merged_sources_are_the_models(
    operations, rules, columns, min_ts, max_ts, max_versions, now, sources, random
):
    pairs = [pair_of(operation, sequence) for sequence, operation in enumerate(operations, 1)]
    split = [[] for _ in range(sources)]
    for pair in pairs:
        random.choice(split).append(pair)
    merged = list(merge([iter(sorted(part)) for part in split]))
    assert merged == sorted(pairs)
    bounds = {family: max_ts for family, rule in rules.items() if rule.keep_deleted and max_ts < MAX_TIMESTAMP}
    found = list(rows(without_later_markers([merged], bounds), rules, columns, min_ts, max_ts, max_versions, now))
    assert found == model(operations, rules, columns, min_ts, max_ts, max_versions, now)


@settings(max_examples=generated(200), deadline=None)
@given(st.lists(st.lists(st.binary(max_size=2), max_size=12), max_size=6))
def test_merge_ascends_and_keeps_equals(keys):
    sources = [sorted((key, b"%d" % place) for key in part) for place, part in enumerate(keys)]
    merged = list(merge([iter(source) for source in sources]))
    assert merged == sorted((pair for source in sources for pair in source), key=lambda pair: pair)
