"""However a history is cut into files, and whichever of them are compacted when, reads answer the same.

The two allowed exceptions (merge.compacting) are kept out of the histories where equality is asked: markers are dropped
only when nothing is written later, and versions are either unlimited or undisturbed by markers and times to live of one
exact timestamp.
"""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.encoding.cell_key import Pair, cell_key, parse
from hbtable.merge.compacting import compacted
from hbtable.merge.family_times import without_later_markers
from hbtable.merge.merging import merge
from hbtable.merge.rules import FamilyRules
from hbtable.merge.tally import UNREAD
from hbtable.merge.visibility import rows
from hbtable.model.cell import MAX_TIMESTAMP, Row
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION, PUT
from tests.harness.planted_bugs import is_found
from tests.harness.tiers import generated

UNLIMITED = 2**31 - 1
ROWS = st.sampled_from([b"r", b"r\x00"])
FAMILIES = st.sampled_from([b"f", b"g"])
QUALIFIERS = st.sampled_from([b"", b"q", b"q\x00"])
TIMES = st.integers(0, 6)
ANY_KIND = st.sampled_from([PUT, PUT, PUT, DELETE_COLUMN, DELETE_VERSION, DELETE_FAMILY, DELETE_FAMILY_VERSION])
RANGE_KIND = st.sampled_from([PUT, PUT, PUT, DELETE_COLUMN, DELETE_FAMILY])
TTLS = st.sampled_from([None, None, 0, 2, 4])
NOWS = st.lists(st.integers(0, 12), min_size=8, max_size=8).map(sorted)
# Each step: (place to start, how many neighbouring files, keep markers although all are read)
STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6), st.booleans()), max_size=6)


def histories(kinds, ttls):
    return st.lists(st.tuples(ROWS, FAMILIES, QUALIFIERS, kinds, TIMES, ttls), max_size=30)


def rules(max_versions, ttl=(0, 0, 3)):
    return st.builds(
        FamilyRules,
        max_versions=max_versions,
        min_versions=st.integers(0, 2),
        ttl_millis=st.sampled_from(ttl),
        new_version_behavior=st.booleans(),
        keep_deleted=st.booleans(),
        until_ttl=st.booleans(),
    )


def pair_of(operation, sequence: int) -> Pair:
    row, family, qualifier, kind, timestamp, ttl = operation
    if kind in (DELETE_FAMILY, DELETE_FAMILY_VERSION):
        qualifier = b""
    flags = int(kind == PUT and ttl is not None)
    prefix = ttl.to_bytes(8, "big") if flags else b""
    value = prefix + b"v%d" % sequence if kind == PUT else b""
    return cell_key(row, family, qualifier, timestamp, kind, sequence, flags), value


def read(
    files: list[list[Pair]], family_rules, now: int, max_versions: int = UNLIMITED, upto: int = MAX_TIMESTAMP
) -> list[Row]:
    pairs = [list(merge([iter(part) for part in files]))]
    if upto < MAX_TIMESTAMP:
        keeping = {name: upto for name, rule in family_rules.items() if rule.keep_deleted}
        pairs = list(without_later_markers(pairs, keeping))
    return list(rows(pairs, family_rules, None, 0, upto, max_versions, now))


def cut(pairs: list[Pair], cuts: list[int]) -> list[list[Pair]]:
    """Files by sequence, oldest first."""
    bounds = [0, *sorted(place % (len(pairs) + 1) for place in cuts), len(pairs)]
    return [sorted(pairs[begin:end]) for begin, end in pairwise(bounds)]


def earliest(files: list[list[Pair]]) -> int:
    """As tablet.compactions.outputs: of files that have puts."""
    times = [[parse(key)[3] for key, _ in part] for part in files if any(parse(key)[4] == PUT for key, _ in part)]
    return min(map(min, times), default=MAX_TIMESTAMP)


def latest(files: list[list[Pair]]) -> int:
    return max((parse(key)[3] for part in files for key, _ in part), default=-1)


def compact_some(files, steps, nows, family_rules, may_drop: bool) -> list[list[Pair]]:
    for (place, count, keep), now in zip(steps, nows, strict=False):
        begin = place % len(files)
        chosen = files[begin : begin + count]
        # Dropping reads every older file; here also every newer one, else exception 1 comes into play.
        drop = may_drop and begin == 0 and len(chosen) == len(files) and not keep
        written = list(
            compacted(
                merge([iter(part) for part in chosen]), family_rules, now, drop, UNREAD, earliest(chosen),
                latest(files[:begin]),
            )
        )  # fmt: skip
        assert all(one[0] < two[0] for one, two in pairwise(written))
        files = [*files[:begin], written, *files[begin + count :]]
    return files


def compacting_changes_no_read(history, family_rules, cuts, steps, nows):
    pairs = [pair_of(operation, sequence) for sequence, operation in enumerate(history, 1)]
    files = compact_some(cut(pairs, cuts), steps, nows, family_rules, may_drop=True)
    for max_versions in (1, UNLIMITED):
        expected = read([sorted(pairs)], family_rules, nows[-1], max_versions)
        assert read(files, family_rules, nows[-1], max_versions) == expected


@pytest.mark.slow
@settings(max_examples=generated(400), deadline=None)
@given(
    histories(ANY_KIND, TTLS),
    st.fixed_dictionaries({b"f": rules(st.just(UNLIMITED)), b"g": rules(st.just(UNLIMITED), ttl=(0,))}),
    st.lists(st.integers(0, 99), max_size=5),
    STEPS,
    NOWS,
)
def test_any_schedule_with_all_kinds_of_markers_and_ages(history, family_rules, cuts, steps, nows):
    for rule in family_rules.values():
        if rule.ttl_millis:
            rule.min_versions = 0  # kept versions are a limit as well: see the next tests
    compacting_changes_no_read(history, family_rules, cuts, steps, nows)


@pytest.mark.slow
@settings(max_examples=generated(400), deadline=None)
@given(
    histories(RANGE_KIND, st.none()),
    st.fixed_dictionaries({b"f": rules(st.integers(1, 3)), b"g": rules(st.integers(1, 3))}),
    st.lists(st.integers(0, 99), max_size=5),
    STEPS,
    NOWS,
)
def test_any_schedule_with_limited_versions(history, family_rules, cuts, steps, nows):
    compacting_changes_no_read(history, family_rules, cuts, steps, nows)


@pytest.mark.slow
@settings(max_examples=generated(400), deadline=None)
@given(
    st.lists(st.tuples(ROWS, FAMILIES, QUALIFIERS, st.just(PUT), TIMES, TTLS), max_size=30, unique_by=lambda o: o[:5]),
    st.fixed_dictionaries({b"f": rules(st.integers(1, 3)), b"g": rules(st.integers(1, 3))}),
    st.lists(st.integers(0, 99), max_size=5),
    STEPS,
    NOWS,
)
def test_versions_that_expire_uncover_the_same_older_ones(history, family_rules, cuts, steps, nows):
    for rule in family_rules.values():
        rule.min_versions = min(rule.min_versions, rule.max_versions)
    pairs = [pair_of(operation, sequence) for sequence, operation in enumerate(history, 1)]
    files = compact_some(cut(pairs, cuts), steps, nows, family_rules, may_drop=True)
    assert read(files, family_rules, nows[-1]) == read([sorted(pairs)], family_rules, nows[-1])


MOSTLY_PUTS = st.sampled_from([*[PUT] * 6, DELETE_COLUMN, DELETE_VERSION])
OF_ONE_COLUMN = st.tuples(
    *map(st.just, (b"r", b"f", b"q")), MOSTLY_PUTS, st.integers(0, 2), st.sampled_from([*[None] * 4, 2])
)


@settings(max_examples=generated(1200), deadline=None)
@given(
    st.lists(OF_ONE_COLUMN, min_size=3, max_size=8),
    st.fixed_dictionaries({b"f": rules(st.just(1))}),
    st.lists(st.integers(1, 5), min_size=1, max_size=2),
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 2), st.booleans()), min_size=1, max_size=3),
    NOWS,
)
def test_no_read_finds_a_value_that_was_replaced(history, family_rules, cuts, steps, nows):
    """Whatever is in excess, expired or deleted, and whichever time it goes up to (bug class 42)."""
    pairs = [pair_of(operation, sequence) for sequence, operation in enumerate(history, 1)]
    files = compact_some(cut(pairs, cuts), steps, nows, family_rules, may_drop=True)
    newest = {
        (row, family + b":" + qualifier, timestamp): b"v%d" % sequence
        for sequence, (row, family, qualifier, kind, timestamp, _) in enumerate(history, 1)
        if kind == PUT
    }
    for upto in (*range(8), MAX_TIMESTAMP):
        for row, cells in read(files, family_rules, nows[-1], UNLIMITED, upto):
            for column, timestamp, value in cells:
                assert value == newest[row, column, timestamp]


@settings(max_examples=generated(300), deadline=None)
@given(
    histories(ANY_KIND, TTLS),
    st.fixed_dictionaries({b"f": rules(st.integers(1, 3)), b"g": rules(st.integers(1, 3))}),
    st.integers(0, 12),
)
def test_a_full_compaction_keeps_what_is_seen_and_nothing_deleted(history, family_rules, now):
    pairs = sorted(pair_of(operation, sequence) for sequence, operation in enumerate(history, 1))
    written = list(compacted(iter(pairs), family_rules, now, True))
    assert read([written], family_rules, now) == read([pairs], family_rules, now)
    unlimited = {name: FamilyRules(UNLIMITED, 0, 0, rule.new_version_behavior) for name, rule in family_rules.items()}
    seen = {(row, column, timestamp) for row, cells in read([pairs], unlimited, 0) for column, timestamp, _ in cells}
    for key, _ in written:
        row, family, qualifier, timestamp, kind, _, _ = parse(key)
        if family_rules[family].keep_deleted:
            continue
        assert kind == PUT
        assert (row, family + b":" + qualifier, timestamp) in seen


@settings(max_examples=generated(300), deadline=None)
@given(
    histories(ANY_KIND, st.none()),
    st.booleans(),
    st.lists(st.integers(0, 99), max_size=5),
    STEPS,
    NOWS,
)
def test_kept_deleted_cells_answer_every_read_up_to_a_time_as_before(history, by_sequence, cuts, steps, nows):
    keeping = FamilyRules(UNLIMITED, 0, 0, by_sequence, keep_deleted=True)
    family_rules = {b"f": keeping, b"g": keeping}
    pairs = [pair_of(operation, sequence) for sequence, operation in enumerate(history, 1)]
    files = compact_some(cut(pairs, cuts), steps, nows, family_rules, may_drop=True)
    for upto in (*range(8), MAX_TIMESTAMP):
        assert read(files, family_rules, nows[-1], UNLIMITED, upto) == read(
            [sorted(pairs)], family_rules, nows[-1], UNLIMITED, upto
        )


RULES_OF_KEEPING = st.builds(
    FamilyRules,
    max_versions=st.integers(1, 3),
    min_versions=st.integers(0, 1),
    ttl_millis=st.sampled_from([0, 3]),
    keep_deleted=st.just(True),
    until_ttl=st.booleans(),
)


@settings(max_examples=generated(400), deadline=None)
@given(histories(ANY_KIND, st.none()), RULES_OF_KEEPING, st.integers(0, 12))
def test_a_full_compaction_of_kept_deleted_cells_is_hbases(history, rule, now):
    """Cell by cell. HBase's two losses are left out: a put that nothing masks, for masked ones that are newer; a
    family's marker behind versions of the empty qualifier."""
    family_rules = {b"f": rule, b"g": rule}
    pairs = sorted(pair_of(operation, sequence) for sequence, operation in enumerate(history, 1))
    first = earliest([pairs])
    written = list(compacted(iter(pairs), family_rules, now, True, UNREAD, first))
    assert {parse(key)[:5] for key, _ in written} == _as_hbase_keeps(
        [parse(key)[:5] for key, _ in pairs], rule, now, first
    )


def _as_hbase_keeps(cells, rule, now: int, first: int) -> set[tuple[bytes, bytes, bytes, int, int]]:
    def is_old(time: int) -> bool:
        return bool(rule.ttl_millis) and now - time > rule.ttl_millis

    def masks(marker, row, family, qualifier, time) -> bool:
        of_family = marker[4] in (DELETE_FAMILY, DELETE_FAMILY_VERSION)
        if marker[:2] != (row, family) or not (of_family or marker[2] == qualifier):
            return False
        return time == marker[3] if marker[4] in (DELETE_VERSION, DELETE_FAMILY_VERSION) else time <= marker[3]

    markers = {cell for cell in cells if cell[4] != PUT}
    deleting = {cell for cell in markers if rule.until_ttl and is_old(cell[3])}
    kept = {cell for cell in markers - deleting if not cell[3] < first and (rule.min_versions or not is_old(cell[3]))}
    for column in {cell[:3] for cell in cells}:
        versions = shown = 0
        excess_from = -1
        for time in sorted({cell[3] for cell in cells if cell[:3] == column and cell[4] == PUT}, reverse=True):
            if any(masks(marker, *column, time) for marker in deleting):
                continue
            limit = min(rule.max_versions, rule.min_versions) if is_old(time) else rule.max_versions
            is_masked = any(masks(marker, *column, time) for marker in markers - deleting)
            if versions >= limit:
                excess_from = max(excess_from, time)
            if versions < limit or (not is_masked and shown < limit):
                kept.add((*column, time, PUT))
                versions += 1
                shown += not is_masked
        kept -= {
            cell
            for cell in kept
            if cell[:3] == column and cell[4] in (DELETE_COLUMN, DELETE_VERSION) and cell[3] < excess_from
        }
    return kept


def test_the_planted_bug_of_a_delete_that_hides_later_puts_is_found():
    history = [(b"r", b"f", b"q", kind, 5, None) for kind in (PUT, DELETE_COLUMN, PUT)]
    family_rules = {b"f": FamilyRules(UNLIMITED, 0, 0, True)}
    is_found("hidden", lambda: compacting_changes_no_read(history, family_rules, [], [(0, 1, False)], [7] * 8))
