"""A family that is dropped and added again is another family: nothing of the old one is ever read again, and nothing
that was written to the new one is taken for old."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from hbtable.errors import HbtableError, InvalidRequest, NoSuchFamily, Unavailable
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, PUT, RowMutation
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.tiers import quick_first

ALONE: Final = {name: FamilySchema(name) for name in (b"f", b"g")}
TOGETHER: Final = {name: FamilySchema(name, locality_group="one") for name in (b"f", b"g")}
EVERY_VERSION: Final = ReadSpec(max_versions=10)
Body = Callable[[EmbeddedCluster], None]


def write(cluster: EmbeddedCluster, row: bytes, value: bytes, *families: bytes) -> None:
    operations = [(PUT, family, b"q", SERVER_TIME, value) for family in families or (b"f", b"g")]
    cluster.client.table(b"t").mutate([RowMutation(row, operations)])


def alter(cluster: EmbeddedCluster, families: dict[bytes, FamilySchema]) -> None:
    """The whole schema anew, as a client that knows nothing of identities."""
    admin = cluster.client.admin
    admin.alter_table(TableSchema(b"t", families, admin.schema(b"t").version + 1))


def contents(cluster: EmbeddedCluster, spec: ReadSpec = EVERY_VERSION) -> dict[bytes, list[tuple[bytes, bytes]]]:
    """row -> (column, value), all versions; by a scan, and by gets, which must agree."""
    table = cluster.client.table(b"t")
    page = table.scan_page(ScanRequest(spec=spec, max_rows=10_000))
    assert page.next is None
    found = {row: [(column, value) for column, _, value in cells] for row, cells in page.rows}
    gets = table.read_rows(sorted(found), spec)
    assert found == {row: [(column, value) for column, _, value in cells] for row, cells in gets}
    return found


def both(value: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"f:q", value), (b"g:q", value)]


def flush(cluster: EmbeddedCluster) -> None:
    cluster.client.admin.flush(b"t")


def major(cluster: EmbeddedCluster) -> None:
    cluster.client.admin.major_compact(b"t")


def off_and_on(cluster: EmbeddedCluster) -> None:
    cluster.client.admin.disable_table(b"t")
    cluster.client.admin.enable_table(b"t")


def split(cluster: EmbeddedCluster) -> None:
    cluster.client.admin.split(b"t", b"m")


def split_and_merge(cluster: EmbeddedCluster) -> None:
    split(cluster)
    admin = cluster.client.admin
    admin.merge_tablets(b"t", [record.tablet_id for record in admin.tablets(b"t")])


def nothing(cluster: EmbeddedCluster) -> None:
    pass


BETWEEN: Final[dict[str, Body]] = {
    "nothing": nothing,
    "flush": flush,
    "major": major,
    "off and on": off_and_on,
    "split": split,
    "split and merge": split_and_merge,
}


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("families", [ALONE, TOGETHER], ids=["alone", "together"])
@pytest.mark.parametrize("before", BETWEEN)
@pytest.mark.parametrize("after", quick_first(BETWEEN, 2, 4))
def test_cells_of_the_old_family_are_gone_for_good(machine, before, after, families, times):
    rest = {b"g": families[b"g"]}

    def first(cluster):
        cluster.client.admin.create_table(TableSchema(b"t", families))
        for time in range(times):
            for row in (b"a", b"b", b"m", b"z"):
                write(cluster, row, b"old%d" % time)
            BETWEEN[before](cluster) if not time else flush(cluster)
            write(cluster, b"late", b"old%d" % time)
            alter(cluster, rest)
            alter(cluster, families)
        check(cluster)
        write(cluster, b"b", b"new")
        write(cluster, b"z", b"new", b"f")
        check_new(cluster)
        BETWEEN[after](cluster)
        check_new(cluster)

    def old(row: bytes) -> list[tuple[bytes, bytes]]:
        return [(b"g:q", b"old%d" % time) for time in reversed(range(times))]

    def check(cluster):
        assert contents(cluster) == {row: old(row) for row in (b"a", b"b", b"late", b"m", b"z")}
        assert contents(cluster, ReadSpec(columns={b"f": None})) == {}
        assert contents(cluster, ReadSpec(columns={b"f": frozenset((b"q",))})) == {}

    def check_new(cluster):
        expected = {row: old(row) for row in (b"a", b"late", b"m")}
        expected[b"b"] = [(b"f:q", b"new"), (b"g:q", b"new"), *old(b"b")]
        expected[b"z"] = [(b"f:q", b"new"), *old(b"z")]
        assert contents(cluster) == expected
        assert contents(cluster, ReadSpec(columns={b"f": None})) == {row: [(b"f:q", b"new")] for row in (b"b", b"z")}
        raw = cluster.client.table(b"t").scan_page(ScanRequest(spec=ReadSpec(columns={b"f": None}, raw=True)))
        assert [(row, [cell[0] for cell in cells]) for row, cells in raw.rows] == [(b"b", [b"f:q"]), (b"z", [b"f:q"])]

    machine.life(first, clean=False)
    machine.life(check_new, clean=False)
    machine.life(check_new)


def test_a_marker_of_the_old_family_masks_nothing_of_the_new_one(machine):
    def body(cluster):
        cluster.client.admin.create_table(TableSchema(b"t", ALONE))
        cluster.client.table(b"t").mutate([RowMutation(b"r", [(DELETE_FAMILY, b"f", b"", 10**15, b"")])])
        alter(cluster, {b"g": ALONE[b"g"]})
        alter(cluster, ALONE)
        write(cluster, b"r", b"new", b"f")
        assert contents(cluster) == {b"r": [(b"f:q", b"new")]}

    machine.life(body)


def test_a_family_that_is_only_changed_stays_the_same(machine):
    def body(cluster):
        cluster.client.admin.create_table(TableSchema(b"t", ALONE))
        write(cluster, b"r", b"v")
        alter(cluster, {b"f": replace(ALONE[b"f"], max_versions=1, added_in=77), b"g": ALONE[b"g"]})
        assert contents(cluster) == {b"r": both(b"v")}
        assert cluster.client.admin.schema(b"t").families[b"f"].added_in == 0

    machine.life(body)


def test_a_table_made_like_another_or_truncated_begins_with_plain_families(machine):
    def body(cluster):
        admin = cluster.client.admin
        admin.create_table(TableSchema(b"t", {b"g": ALONE[b"g"]}))
        alter(cluster, ALONE)
        assert admin.schema(b"t").families[b"f"].added_in == 2
        admin.create_table(replace(admin.schema(b"t"), name=b"u"))
        assert admin.schema(b"u").families[b"f"].added_in == 0
        write(cluster, b"r", b"v")
        admin.disable_table(b"t")
        admin.truncate_table(b"t", False)
        assert admin.schema(b"t").families[b"f"].added_in == 0
        write(cluster, b"r", b"w")
        assert contents(cluster) == {b"r": both(b"w")}

    machine.life(body, clean=False)
    machine.life(lambda cluster: contents(cluster))


@pytest.mark.parametrize("families", [ALONE, TOGETHER], ids=["alone", "together"])
@pytest.mark.parametrize("clean", [False, True])
def test_writers_while_a_family_comes_and_goes(machine_of, families, clean):
    """What was acknowledged after the family's last return is there; what was sent before its last drop is not."""
    machine = machine_of(3)
    sent: dict[bytes, tuple[float, float]] = {}
    times: list[tuple[float, float]] = []

    def live(cluster, number):
        clock, count = machine.runtime.clock_seconds, 0
        while len(times) < 6 or clock() < times[-1][1] + 0.05:
            count += 1
            row, begin = b"row%02d-%05d" % (number, count), clock()
            try:
                write(cluster, row, b"v", b"f")
            except (NoSuchFamily, InvalidRequest):
                machine.runtime.sleep(0.001)
            else:
                sent[row] = begin, clock()

    def first(cluster):
        clock = machine.runtime.clock_seconds
        cluster.client.admin.create_table(TableSchema(b"t", families), [b"row04", b"row08"])
        tasks = [machine.runtime.spawn(live, cluster, number, name="writer") for number in range(12)]
        for change in (ALONE | {}, {b"g": families[b"g"]}, families, {b"g": families[b"g"]}, families, families):
            machine.runtime.sleep(0.03)
            begin = clock()
            alter(cluster, change)
            times.append((begin, clock()))
        for task in tasks:
            task.join()
        check(cluster)

    def check(cluster):
        found = contents(cluster)
        dropped, added = times[3][0], times[4][1]
        after = {row for row, (begin, _) in sent.items() if begin >= added}
        assert len(after) > 12
        assert after <= found.keys()
        before = {row for row, (_, end) in sent.items() if end <= dropped}
        assert len(before) > 12
        assert not before & found.keys()

    machine.life(first, clean=clean)
    machine.life(check)


def test_a_family_is_added_only_when_every_server_knows_that_the_old_one_is_gone(machine):
    """Else a server would go on taking writes for the old one, and lose them when it hears of the new one."""

    def body(cluster):
        cluster.client.admin.create_table(TableSchema(b"t", ALONE))
        write(cluster, b"r", b"old")
        deaf = pytest.MonkeyPatch()
        deaf.setattr(type(cluster.server.admin), "update_schema", unreachable)
        with pytest.raises(HbtableError):
            alter(cluster, {b"g": ALONE[b"g"]})
        with pytest.raises(Unavailable, match="cannot be reached"):
            alter(cluster, ALONE)
        assert cluster.client.admin.schema(b"t") == TableSchema(b"t", {b"g": ALONE[b"g"]}, 2)
        deaf.undo()
        alter(cluster, ALONE)
        write(cluster, b"s", b"new")
        assert contents(cluster) == {b"r": [(b"g:q", b"old")], b"s": both(b"new")}

    def unreachable(*_):
        raise Unavailable("it cannot be reached")

    machine.life(body, clean=False)
    machine.life(lambda cluster: contents(cluster))
