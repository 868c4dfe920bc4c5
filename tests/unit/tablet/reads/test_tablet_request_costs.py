"""A request that costs too much ends: reads with a sentence that names row and limit, scans with a page and a position.
What it holds in memory is counted while it grows."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hbtable.errors import CostExceeded, LimitExceeded, Overloaded, Unavailable
from hbtable.fs.memory import MemoryReadFile
from hbtable.model.cell import SERVER_TIME, Cell, Row
from hbtable.model.mutation import DELETE_VERSION, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.request_budget import RequestBudget, RequestCost, work_for
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.reads.cost_limit import CostLimit
from hbtable.tablet.reads.page import PageBuilder
from hbtable.tablet.state import TabletState
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes import version_deletes
from tests.harness.tablet_bench import Bench, put

LONG = 3000
NOTHING_PASSES = b"ValueFilter(=, 'binary:nothing')"


@pytest.fixture
def request_budget() -> Iterator[RequestBudget]:
    """Of one request that the task of the test works on."""
    yield RequestBudget()
    work_for(None)


def filled(bench: Bench, **options: float) -> Tablet:
    """Short rows around a long one, `m`, in files of small blocks and in the memtable."""
    bench.options = TabletOptions(**options)  # type: ignore[arg-type]
    tablet = bench.open()
    tablet.mutate([RowMutation(b"m", [(PUT, b"f", b"%05d" % n, 5, b"v" * 50) for n in range(LONG)])])
    for row in (b"a", b"b", b"x", b"y"):
        tablet.mutate([put(row, b"f:q", b"live")])
    tablet.flush()
    tablet.mutate([put(b"m", b"f:late", b"v")])
    return tablet


@pytest.mark.parametrize("key", ["request_cells", "request_read_bytes"])
def test_a_read_of_one_row_is_refused_with_row_and_limit(bench: Bench, key: str) -> None:
    def main() -> None:
        tablet = filled(bench, **{key: 1000})
        spec = ReadSpec(filter=NOTHING_PASSES)
        with pytest.raises(LimitExceeded, match=rf"up to row b'm', .* than tablet.{key} = .*: ask for fewer"):
            tablet.read_rows([b"m"], spec)
        assert tablet.read_rows([b"a"], ReadSpec()) == [(b"a", [(b"f:q", tablet_time(tablet), b"live")])]

    bench.run(main)


def test_work_is_counted_and_waiting_is_not() -> None:
    budget = RequestBudget()
    limit = CostLimit(TabletOptions(request_seconds=0.05), budget, lambda: 0.0)
    for _ in range(8):
        limit.worked(0.005)
    limit.worked(0.009)
    limit.row = b"m"
    with pytest.raises(LimitExceeded, match=r"took 0.1 s of work up to row b'm', .*request_seconds = 0.05"):
        limit.worked(60.0)  # it waited for a file: most of it is not counted
    assert budget.cost.seconds < 0.1


def tablet_time(tablet: Tablet) -> int:
    [(_, [(_, time, _)])] = tablet.read_rows([b"a"], ReadSpec())
    return time


def test_the_reads_of_one_request_add_up_and_those_of_the_next_do_not(
    bench: Bench, request_budget: RequestBudget
) -> None:
    def main() -> None:
        tablet = filled(bench, request_cells=2.5 * LONG)
        work_for(request_budget)
        spec = ReadSpec(filter=NOTHING_PASSES)
        for _ in range(2):
            assert tablet.read_rows([b"m"], spec) == []
        with pytest.raises(LimitExceeded, match="request_cells"):
            tablet.read_rows([b"m"], spec)
        request_budget.clear()
        assert tablet.read_rows([b"m", b"m"], spec) == []
        assert 1.9 * LONG < request_budget.cost.cells < 2.5 * LONG

    bench.run(main)


@pytest.mark.parametrize("text", [None, NOTHING_PASSES])
def test_a_page_ends_before_a_row_that_costs_too_much(bench: Bench, text: bytes | None) -> None:
    def main() -> None:
        tablet = filled(bench, request_cells=LONG / 2)
        before = ScanRequest(spec=ReadSpec(filter=text))
        page = tablet.scan(before)
        assert page.next is not None
        assert [row for row, _ in page.rows] == ([] if text else [b"a", b"b"])
        with pytest.raises(LimitExceeded, match=r"in the first row of a page, .*request_cells"):
            tablet.scan(replace(before, position=page.next))

    bench.run(main)


def test_a_scan_comes_to_its_end_however_much_it_costs_in_all(bench: Bench, request_budget: RequestBudget) -> None:
    def main() -> None:
        tablet = filled(bench, request_cells=1.2 * LONG)
        work_for(request_budget)
        for _ in range(3):
            rows: list[Row] = []
            request = ScanRequest(cells_per_row=1000)
            while True:
                page = tablet.scan(request)
                rows += page.rows
                if page.next is None:
                    break
                request = replace(request, position=page.next)
            assert sum(len(cells) for _, cells in rows) == LONG + 5

    bench.run(main)


@pytest.mark.parametrize("spec", [ReadSpec(), ReadSpec(filter=b"ValueFilter(=, 'binaryprefix:v')"), ReadSpec(raw=True)])
def test_a_page_ends_in_time_inside_a_row_that_comes_in_pieces(bench: Bench, spec: ReadSpec) -> None:
    def main() -> None:
        tablet = filled(bench, scan_seconds=0.0)
        request = ScanRequest(RowRange(b"m", b"n"), spec, cells_per_row=10, max_rows=1000)
        columns: list[bytes] = []
        pages = 0
        while True:
            page = tablet.scan(request)
            found = [column for _, cells in page.rows for column, _, _ in cells]
            assert len(found) < LONG / 2
            columns += found
            pages += 1
            if page.next is None:
                break
            request = replace(request, position=page.next)
        assert columns == [b"f:%05d" % number for number in range(LONG)] + [b"f:late"]
        assert pages > 4

    bench.run(main)


@pytest.mark.parametrize("text", [None, b"KeyOnlyFilter()"])
def test_a_long_row_is_counted_while_it_is_read(bench: Bench, text: bytes | None) -> None:
    """Other requests hold what is allowed, and one of them is older: this one is refused before it has much."""

    def main() -> None:
        tablet = filled(bench)
        memory = MemoryBudget(1 << 20, bench.runtime.sleep, bench.runtime.clock_seconds)
        older, mine = RequestBudget(memory), RequestBudget(memory)
        older.hold(memory.limit_bytes)
        work_for(mine)
        for read in (
            lambda: tablet.read_rows([b"m"], ReadSpec(filter=text)),
            lambda: tablet.scan(ScanRequest(spec=ReadSpec(filter=text))),
        ):
            before = tablet.cells_examined
            with pytest.raises(Overloaded, match="try again"):
                read()
            assert tablet.cells_examined - before < LONG
            mine.clear()
            assert memory.used_bytes == memory.limit_bytes
        older.clear()
        [(_, cells)] = tablet.read_rows([b"m"], ReadSpec(filter=text))
        assert len(cells) == LONG + 1
        assert memory.used_bytes > 130 * LONG
        work_for(None)

    bench.run(main)


def test_a_read_ends_when_nobody_waits_for_it_any_more(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        request = RequestBudget()
        now = bench.runtime.clock_seconds()
        request.go_on(RequestCost(), now, now)
        request.spend(RequestCost(0.06))
        work_for(request)
        bench.runtime.sleep(0.1)
        with pytest.raises(CostExceeded, match=r"longer before its first row than the .* waits .rpc.read_seconds"):
            tablet.read_rows([b"m"], ReadSpec(filter=NOTHING_PASSES))
        page = tablet.scan(ScanRequest(spec=ReadSpec(filter=NOTHING_PASSES)))
        assert page.next is not None, "a page ends where it is"
        work_for(None)

    bench.run(main)


def test_a_read_that_only_waited_may_be_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a file system that stood still: the next try may find it well."""

    def main() -> None:
        tablet = filled(bench, slice_seconds=0.0)
        request, read_at = RequestBudget(), MemoryReadFile.read_at
        spec = ReadSpec(filter=NOTHING_PASSES, cache_blocks=False)
        stands_still = [9.0]

        def read(file: MemoryReadFile, offset: int, size: int) -> bytes:
            while stands_still:
                bench.runtime.sleep(stands_still.pop())
            return read_at(file, offset, size)

        monkeypatch.setattr(MemoryReadFile, "read_at", read)
        now = bench.runtime.clock_seconds()
        request.go_on(RequestCost(1.0), now, now + 8)
        work_for(request)
        bench.cache.resize(0)
        with pytest.raises(Unavailable, match=r"than the server that asks .* without work of its own: try again"):
            tablet.read_rows([b"m"], spec)
        request.go_on(RequestCost(), bench.runtime.clock_seconds(), bench.runtime.clock_seconds() + 8)
        assert tablet.read_rows([b"m"], spec) == []
        work_for(None)

    bench.run(main)


def test_a_request_that_cost_its_limit_elsewhere_ends_here(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        request = RequestBudget()
        request.go_on(RequestCost(0.0, 0, bench.options.request_cells), 0.0, None)
        work_for(request)
        with pytest.raises(CostExceeded, match=r"looked at .* cells up to row b'm', .* than tablet.request_cells"):
            tablet.read_rows([b"m"], ReadSpec(filter=NOTHING_PASSES))
        assert request.own_cost().cells > 0
        work_for(None)

    bench.run(main)


def test_a_row_of_many_old_versions_waits_for_no_memory(bench: Bench) -> None:
    """It is read in parts, and its answer is small: others that hold too much are not in its way."""

    def main() -> None:
        tablet = filled(bench)
        for number in range(2000):
            tablet.mutate([put(b"hot", b"f:q", b"%d" % number)])
        memory = MemoryBudget(1 << 20, bench.runtime.sleep, bench.runtime.clock_seconds)
        older, mine = RequestBudget(memory), RequestBudget(memory)
        older.hold(memory.limit_bytes)
        before = bench.runtime.clock_seconds()
        work_for(mine)
        assert tablet.read_rows([b"hot"], ReadSpec())[0][1][0][2] == b"1999"
        assert tablet.read_rows([b"hot"], ReadSpec(columns={b"f": frozenset((b"none",))})) == []
        assert bench.runtime.clock_seconds() - before < 1
        work_for(None)

    bench.run(main)


def test_who_holds_a_row_waits_for_no_memory(bench: Bench) -> None:
    """Else others would wait for the row, and for his turn."""

    def main() -> None:
        tablet = filled(bench)
        memory = MemoryBudget(1 << 20, bench.runtime.sleep, bench.runtime.clock_seconds)
        older, mine = RequestBudget(memory), RequestBudget(memory)
        older.hold(memory.limit_bytes)
        before = bench.runtime.clock_seconds()
        work_for(mine)
        with pytest.raises(Overloaded, match="try again"):
            tablet.append(b"m", [(b"f", b"q", bytes(300_000))])
        assert bench.runtime.clock_seconds() - before < 1
        work_for(None)
        assert tablet.read_rows([b"m"], ReadSpec(columns={b"f": frozenset((b"q",))})) == []
        assert tablet.append(b"m", [(b"f", b"q", b"v")])[0][2] == b"v"

    bench.run(main)


@pytest.mark.parametrize("key", ["request_cells", "request_seconds"])
def test_appends_to_many_columns_cost_no_more_than_a_request_may(bench: Bench, key: str) -> None:
    def main() -> None:
        tablet = filled(bench, **{key: 0.0})
        values = [(b"f", b"%05d" % number, b"v") for number in range(1000)]
        request = RequestBudget()
        request.spend(RequestCost(1.0, 0, 1))  # as of other tablets
        work_for(request)
        with pytest.raises(CostExceeded, match=rf"up to row b'm', and one may not cost more than tablet.{key}"):
            tablet.append(b"m", values)
        work_for(None)
        bench.options = TabletOptions()
        assert tablet.read_rows([b"m"], ReadSpec(columns={b"f": frozenset((b"00001",))}))[0][1][0][2] == b"v" * 50

    bench.run(main)


def test_a_column_that_is_appended_to_many_times_is_not_copied_as_often(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        tablet.mutate([put(b"big", b"f:q", bytes(5 << 20))])
        with pytest.raises(LimitExceeded, match="the 100 columns to append to in row b'big' hold more than 67108864"):
            tablet.append(b"big", [(b"f", b"q", b"v")] * 100)
        cells = tablet.append(b"big", [(b"f", b"q", b"v")] * 2)
        assert [len(value) for _, _, value in cells] == [(5 << 20) + 1] * 2

    bench.run(main)


def test_what_was_read_of_a_row_that_is_too_large_is_freed_in_parts() -> None:
    pauses: list[None] = []
    page = PageBuilder(ScanRequest(spec=ReadSpec(max_bytes=1 << 20)), None, pause=lambda: pauses.append(None))
    cells = [(b"f:%07d" % number, 1, b"v") for number in range(30_000)]
    with pytest.raises(LimitExceeded, match="answer_bytes"):
        page.part(b"row", cells, False)
    assert len(pauses) >= 4


@pytest.mark.parametrize("kind", ["many cells", "newest versions"])
def test_a_write_that_costs_too_much_is_refused_whole(bench: Bench, request_budget: RequestBudget, kind: str) -> None:
    """What the request has cost until then counts, too."""
    count = 6000

    def main() -> None:
        tablet = filled(bench, request_seconds=60)
        tablet.mutate([put(b"a", b"f:%d" % number, b"v") for number in range(3)])
        before = tablet.read_rows([b"a", b"b"], ReadSpec())
        if kind == "many cells":
            mutation = RowMutation(b"b", [(PUT, b"f", b"%05d" % n, 5, b"v") for n in range(count)])
        else:
            mutation = RowMutation(b"a", [(DELETE_VERSION, b"f", b"%d" % (n % 3), SERVER_TIME, b"") for n in range(9)])
        work_for(request_budget)
        request_budget.spend(RequestCost(61.0, 0, 0))
        with pytest.raises(
            CostExceeded,
            match=rf"61.0 s of work before it wrote row {mutation.row!r}.*request_seconds = 60: send fewer",
        ):
            tablet.mutate([mutation])
        request_budget.clear()
        assert tablet.read_rows([b"a", b"b"], ReadSpec()) == before
        tablet.mutate([mutation])
        assert tablet.read_rows([b"a", b"b"], ReadSpec()) != before

    bench.run(main)


def test_many_newest_versions_of_a_column_are_looked_for_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    read = version_deletes.read_row

    def counted(state: TabletState, row: bytes, spec: ReadSpec) -> list[Cell]:
        looked.append(spec.max_versions)
        return read(state, row, spec)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", b"q", time, b"v") for time in (1, 2, 3)])])
        tablet.mutate([RowMutation(b"r", [(DELETE_VERSION, b"f", b"q", SERVER_TIME, b"")] * 2)])
        assert looked == [2]
        [(_, cells)] = tablet.read_rows([b"r"], ReadSpec(max_versions=100))
        assert [cell[1] for cell in cells] == [1]

    monkeypatch.setattr(version_deletes, "read_row", counted)
    bench.run(main)
