"""Pages of a scan over many tablets: never short before the end, forward and backward, with the filter's state."""

from dataclasses import replace

import pytest

from hbtable.errors import (
    BadFilter,
    DataDamaged,
    LimitExceeded,
    NoSuchFamily,
    TableNotEnabled,
    TableNotFound,
    UnsupportedFormat,
)
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.table import TableState

ROWS = [b"%02d" % number for number in range(40)]
SPLITS = (b"05", b"06", b"06\x00", b"20", b"30x", b"39z")


@pytest.fixture
def table(cluster, client):
    cluster.put_table(b"t", splits=SPLITS)
    cluster.rows[16] = {row: {b"f:%d" % column: (5, b"v") for column in range(3)} for row in ROWS}
    return client.table(b"t")


def pages(table, request):
    """All pages, as lists of rows; every page but the last must be full."""
    out = []
    while True:
        page = table.scan_page(request)
        out.append(page.rows)
        if page.next is None:
            return out
        size = sum(len(row) + sum(len(column) + len(value) for column, _, value in cells) for row, cells in page.rows)
        assert len(page.rows) == request.max_rows or size >= request.max_bytes
        request = replace(request, position=page.next)


def keys(found):
    return [row for page in found for row, _ in page]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("max_rows", [1, 2, 3, 7, 39, 40, 1000])
def test_every_row_comes_once_and_in_order_whatever_the_page(table, max_rows, reverse):
    found = pages(table, ScanRequest(max_rows=max_rows, reversed=reverse))
    assert keys(found) == (ROWS[::-1] if reverse else ROWS)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "start, stop",
    [(b"05", b"06"), (b"05", b"06\x00"), (b"04", b"21"), (b"", b"05"), (b"30", b""), (b"30x", b"39z"), (b"x", b""),
     (b"06", b"06"), (b"07", b"06"), (b"06\x00", b"20"), (b"05\x00", b"20\x00")],
)  # fmt: skip
def test_ranges_end_where_they_should(table, start, stop, reverse):
    rows = RowRange(start, stop)
    expected = [row for row in ROWS if rows.holds(row)]
    for max_rows in (1, 2, 1000):
        found = pages(table, ScanRequest(rows, max_rows=max_rows, reversed=reverse))
        assert keys(found) == (expected[::-1] if reverse else expected)


@pytest.mark.parametrize("reverse", [False, True])
def test_pages_also_end_by_bytes(table, reverse):
    found = pages(table, ScanRequest(max_bytes=50, reversed=reverse))
    assert len(found) > 5
    assert keys(found) == (ROWS[::-1] if reverse else ROWS)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("max_rows", [1, 2, 5, 1000])
def test_wide_rows_come_in_pieces_that_go_on_in_the_next_page(table, reverse, max_rows):
    found = pages(table, ScanRequest(cells_per_row=2, max_rows=max_rows, reversed=reverse))
    cells = [(row, column) for page in found for row, piece in page for column, _, _ in piece]
    expected = [(row, b"f:%d" % column) for row in (ROWS[::-1] if reverse else ROWS) for column in range(3)]
    assert cells == expected


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("max_rows", [1, 4, 5, 1000])
@pytest.mark.parametrize("wanted", [0, 3, 5, 13, 40, 50])
def test_a_filter_remembers_across_tablets_and_pages(table, reverse, max_rows, wanted):
    request = ScanRequest(spec=ReadSpec(filter=b"Page %d" % wanted), max_rows=max_rows, reversed=reverse)
    assert keys(pages(table, request)) == (ROWS[::-1] if reverse else ROWS)[:wanted]


def test_a_finished_filter_asks_no_further_tablet(table, cluster):
    table.scan_page(ScanRequest(max_rows=1))
    cluster.calls()
    page = table.scan_page(ScanRequest(spec=ReadSpec(filter=b"Page 2")))
    assert page.filter_finished
    assert [call for call in cluster.calls() if call[0] == "scan"] == [("scan", 100)]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_on_through_moves_and_a_table_made_anew(table, cluster, reverse):
    request = ScanRequest(max_rows=9, reversed=reverse)
    seen = []
    for turn in range(10):
        page = table.scan_page(request)
        seen += [row for row, _ in page.rows]
        if page.next is None:
            break
        request = replace(request, position=page.next)
        for record in list(cluster.servers["s0"].tablets.values()):
            cluster.serve(record, f"s{turn % 2}")
    assert seen == (ROWS[::-1] if reverse else ROWS)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("max_rows", [1, 3, 1000])
@pytest.mark.parametrize("filter_text", [None, b"Page 100"])
def test_time_ranges_of_families_go_to_every_tablet(table, cluster, max_rows, reverse, filter_text):
    for row in ROWS:
        cluster.rows[16][row][b"g:1"] = (7, b"w")
    request = ScanRequest(
        spec=ReadSpec(filter=filter_text), max_rows=max_rows, reversed=reverse, family_times={b"f": (6, 9)}
    )
    found = [(row, cells) for page in pages(table, request) for row, cells in page]
    assert found == [(row, [(b"g:1", 7, b"w")]) for row in (ROWS[::-1] if reverse else ROWS)]


def test_a_server_that_does_not_know_time_ranges_of_families_is_named_and_not_asked_without_them(table, cluster):
    """An older release, in an upgrade of a role at a time."""
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        raise UnsupportedFormat("server-1 does not know scan_with_times; upgrade the older one")

    for server in cluster.servers.values():
        server.scan_with_times = refuse
    with pytest.raises(UnsupportedFormat, match="upgrade the older one"):
        table.scan_page(ScanRequest(family_times={b"f": (6, 9)}))
    assert len(asked) == 1
    assert len(table.scan_page(ScanRequest()).rows) == len(ROWS)


@pytest.mark.parametrize("rows", [RowRange(), RowRange(b"b", b"a")])
def test_an_empty_range_reports_the_table_as_any_other(cluster, client, rows):
    cluster.put_table(b"e")
    assert client.table(b"e").scan_page(ScanRequest(rows)) == ScanPage([], None, tablets=int(not rows.is_empty()))
    with pytest.raises(TableNotFound):
        client.table(b"missing").scan_page(ScanRequest(rows))
    cluster.put_table(b"d", state=TableState.DISABLED)
    with pytest.raises(TableNotEnabled):
        client.table(b"d").scan_page(ScanRequest(rows))


def test_an_empty_range_reports_mistakes_as_any_other(cluster, client):
    """Found by programs that are run over happybase and the library: the gateway looks when a scanner is opened."""
    cluster.put_table(b"e", families=(b"f",))
    table, rows = client.table(b"e"), RowRange(b"c", b"b")
    with pytest.raises(NoSuchFamily, match="Column family h does not exist in table e; it has f"):
        table.scan_page(ScanRequest(rows, ReadSpec({b"h": None})))
    with pytest.raises(BadFilter):
        table.scan_page(ScanRequest(rows, ReadSpec(filter=b"NoFilter(")))


def test_an_empty_table_is_one_empty_page(cluster, client):
    cluster.put_table(b"e", splits=(b"g", b"p"))
    for reverse in (False, True):
        assert pages(client.table(b"e"), ScanRequest(reversed=reverse)) == [[]]


def test_one_row_pages_cost_one_call_each(table, cluster):
    request = ScanRequest(max_rows=1)
    page = table.scan_page(request)
    cluster.calls()
    for _ in range(3):
        page = table.scan_page(replace(request, position=page.next))
    assert cluster.calls() == [("scan", 100)] * 3
    table.mutate([RowMutation(b"x", [(PUT, b"f", b"q", 5, b"")])])


@pytest.mark.parametrize("reverse", [False, True])
def test_pages_that_servers_cut_short_are_filled_up(table, cluster, reverse):
    for server in cluster.servers.values():
        server.most_rows = 2
    assert [len(page) for page in pages(table, ScanRequest(max_rows=15, reversed=reverse))] == [15, 15, 10]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("start", "stop", "tablets"), [(b"", b"", 7), (b"05", b"06", 1), (b"06", b"21", 3)])
def test_each_tablet_is_counted_once_whatever_the_page(table, start, stop, tablets, reverse):
    for max_rows in (1, 2, 7, 1000):
        request, counted = ScanRequest(RowRange(start, stop), max_rows=max_rows, reversed=reverse), 0
        while True:
            page = table.scan_page(request)
            counted += page.tablets
            if page.next is None:
                break
            request = replace(request, position=page.next)
        assert counted == tablets, max_rows


@pytest.mark.parametrize("error", [DataDamaged("sst/1", 0, "a bit"), LimitExceeded("row 30 is too large")])
@pytest.mark.parametrize(("reverse", "before"), [(False, ROWS[:20]), (True, ROWS[:19:-1])])
@pytest.mark.parametrize("filter", [None, b"Page 1000"])
def test_rows_of_earlier_tablets_come_before_the_error_of_a_later_one(table, cluster, error, reverse, before, filter):
    refused = ROWS[19] if reverse else ROWS[20]

    def refuse(method, tablet_id):
        for server in cluster.servers.values():
            record = server.tablets.get(tablet_id)
            if method == "scan" and record is not None and record.table_id == 16 and record.range.holds(refused):
                raise error

    for server in cluster.servers.values():
        server.before = refuse
    request = ScanRequest(spec=ReadSpec(filter=filter), reversed=reverse)
    page = table.scan_page(request)
    assert keys([page.rows]) == before
    with pytest.raises(type(error)):
        table.scan_page(replace(request, position=page.next))
    for server in cluster.servers.values():
        server.before = None
    rest = pages(table, replace(request, position=page.next))
    assert before + keys(rest) == (ROWS[::-1] if reverse else ROWS)


def test_a_page_ends_behind_a_very_wide_row(cluster, client):
    """Its cells count, though nobody goes through them for it."""
    cluster.put_table(b"wide", splits=(b"b",))
    cluster.rows[16] = {b"a": {b"f:%06d" % column: (5, b"v") for column in range(30_000)}}
    table = client.table(b"wide")
    page = table.scan_page(ScanRequest(max_bytes=100_000))
    assert keys([page.rows]) == [b"a"]
    assert page.next is not None  # and not what follows in the next tablet
