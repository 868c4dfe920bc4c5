"""Compactions of one family: the files of its locality group, and no others."""

import pytest

from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, delete, everything, put

FAMILIES = (b"f", b"g", b"h")


def schema(*groups: str, version: int = 1) -> TableSchema:
    families = {name: FamilySchema(name, locality_group=group) for name, group in zip(FAMILIES, groups, strict=True)}
    return TableSchema(b"t", families, version)


def files(tablet: Tablet) -> dict[str, int]:
    return {key: len(refs) for key, refs in tablet.record.files}


def filled(bench: Bench) -> Tablet:
    """f on its own, g and h in a group; three files each."""
    bench.schema = schema("", "pair", "pair")
    tablet = bench.open()
    for number in range(3):
        tablet.mutate([put(b"r%d" % number, family + b":a", b"%d" % number) for family in FAMILIES])
        tablet.mutate([delete(b"r0", b"f")])
        tablet.flush()
    assert files(tablet) == {"f": 3, "g/h": 3}
    return tablet


@pytest.mark.parametrize("major", [False, True])
@pytest.mark.parametrize(("family", "left"), [(b"f", {"f": 1, "g/h": 3}), (b"h", {"f": 3, "g/h": 1})])
def test_only_the_group_of_the_family_is_compacted(
    bench: Bench, major: bool, family: bytes, left: dict[str, int]
) -> None:
    bench.options = TabletOptions(merge_files=3)

    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        tablet.compact(major, family)
        assert files(tablet) == left
        assert everything(tablet) == before
        tablet.compact(major, b"none")
        assert files(tablet) == left, "no such family"
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)


def test_a_major_one_writes_what_is_in_memory_of_all_families_first(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        tablet.mutate([put(b"s", family + b":a", b"new") for family in FAMILIES])
        tablet.compact(True, b"f")
        assert files(tablet) == {"f": 1, "g/h": 4}
        assert tablet.memtable_bytes == 0

    bench.run(main)


def test_after_a_regrouping_a_major_one_rewrites_all(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        tablet.schema = bench.schema = schema("", "", "", version=2)
        tablet.compact(True, b"h")
        assert files(tablet) == {"f": 1, "g": 1, "h": 1}
        assert everything(tablet) == before
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)
