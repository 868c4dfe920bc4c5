"""Every scan with a filter that was recorded from a real HBase, answered by merge.rows and filters alone.

The files and the accepted deviations: compat-tests/recorded (its README explains the format).
"""

import json
from pathlib import Path

import pytest

from hbtable.encoding.cell_key import cell_key
from hbtable.errors import BadFilter
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import parse
from hbtable.merge.rules import FamilyRules
from hbtable.merge.visibility import rows
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT
from hbtable.model.ranges import RowRange, successor

RECORDED = Path(__file__).parents[3] / "compat-tests" / "recorded"
WRITES = {"mutateRowTs", "deleteAllTs"}
NOT_DATA = {"createTable", "disableTable", "deleteTable"}


def load(name):
    lines = [json.loads(line) for line in (RECORDED / name).read_text("ascii").splitlines()]
    return [line for line in lines if "header" not in line]


def raw(text):
    return text.encode("latin-1")


class Recorded:
    """One transcript: its table as pairs, its scans as they were asked."""

    def __init__(self, name):
        self.lines = load(name)
        self.pairs = []
        self.rules = {}
        self.sequence = 0
        self.opens = {}
        self.fetches = {}
        for line in self.lines:
            self.take(line)
        self.pairs.sort()

    def take(self, line):
        method, arguments = line["m"], line["a"]
        if method == "createTable":
            for family in arguments["columnFamilies"]:
                self.rules[raw(family["name"]).partition(b":")[0]] = FamilyRules(family["maxVersions"])
        elif method == "mutateRowTs":
            for mutation in arguments["mutations"]:
                self.write(arguments, mutation["column"], mutation.get("isDelete", False), mutation.get("value", ""))
        elif method == "deleteAllTs":
            self.write(arguments, arguments["column"], True, "")
        elif method == "scannerOpenWithScan":
            self.opens[line["save"]] = line
        elif method in ("scannerGet", "scannerGetList"):
            self.fetches.setdefault(arguments["id"]["$scanner"], []).append(line)
        else:
            assert method in NOT_DATA | {"scannerClose"}

    def write(self, arguments, column, delete, value):
        self.sequence += 1
        family, colon, qualifier = raw(column).partition(b":")
        kind = PUT if not delete else DELETE_COLUMN if colon else DELETE_FAMILY
        row = raw(arguments["row"])
        self.pairs.append((cell_key(row, family, qualifier, arguments["timestamp"], kind, self.sequence), raw(value)))

    def answer(self, scan, page_rows=0, cheap=False):
        """The scan's TRowResults as recorded JSON. `page_rows`: the filter is stopped and continued every so many
        rows. `cheap`: the reader uses needs_versions."""
        expression = parse(raw(scan["filterString"]))
        is_reversed = scan.get("reversed", False)
        wanted = scan_range(scan)
        running = start(expression, is_reversed)
        versions = 2**31 - 1 if running.needs_versions or not cheap else 1
        columns = columns_of(scan)
        found = [
            row
            for row in rows([self.pairs], self.rules, columns, 0, scan.get("timestamp", MAX_TIMESTAMP), versions, 0)
            if wanted.holds(row[0])
        ]
        results = []
        for place, (row, cells) in enumerate(reversed(found) if is_reversed else found):
            if page_rows and place % page_rows == 0:
                running = start(expression, is_reversed, running.state())
            if running.finished:
                break
            if running.skips_row(row):
                continue
            kept = running.apply(row, cells, 1)
            size = scan.get("batchSize") or len(kept)
            results += [as_json(scan, row, kept[begin : begin + size]) for begin in range(0, len(kept), size or 1)]
        return results


def scan_range(scan):
    begin, end = raw(scan.get("startRow", "")), raw(scan.get("stopRow", ""))
    if begin and begin == end:
        return RowRange(begin, successor(begin))
    if not scan.get("reversed"):
        return RowRange(begin, end)
    return RowRange(successor(end) if end else b"", successor(begin) if begin else b"")


def columns_of(scan):
    if not scan.get("columns"):
        return None
    wanted = {}
    for column in scan["columns"]:
        family, colon, qualifier = raw(column).partition(b":")
        wanted[family] = wanted.get(family, frozenset()) | {qualifier} if colon else None
    return wanted


def as_json(scan, row, cells):
    named = [
        (column.decode("latin-1"), {"value": value.decode("latin-1"), "timestamp": timestamp})
        for column, timestamp, value in cells
    ]
    if scan.get("sortColumns"):
        return {
            "row": row.decode("latin-1"),
            "sortedColumns": [{"columnName": name, "cell": cell} for name, cell in named],
        }
    return {"row": row.decode("latin-1"), "columns": dict(named)}


TRANSCRIPTS = {name: Recorded(name) for name in ("filters-12.jsonl", "filter-errors-13.jsonl")}
SCANS = [(name, scanner) for name, recorded in TRANSCRIPTS.items() for scanner in recorded.opens]


def rows_recorded(transcript, scanner):
    """Every way in which the answers of one scanner may read, and whether the recording goes to the scan's end."""
    ways = [[]]
    ended = False
    for line in transcript.fetches.get(scanner, []):
        assert "ok" in line["r"], line
        ended = not line["r"]["ok"] or len(line["r"]["ok"]) < line["a"].get("nbRows", 1)
        accepted = [line["r"]["ok"]]
        if line.get("tag") == "filter-artefact":
            accepted += [other["ok"] for other in line["alts"]]
        ways = [way + answer for way in ways for answer in accepted]
    return ways, ended


def merged(results):
    """Pieces of rows put together again."""
    together = []
    for result in results:
        if together and together[-1]["row"] == result["row"]:
            together[-1]["columns"].update(result["columns"])
        else:
            together.append({"row": result["row"], "columns": dict(result["columns"])})
    return together


@pytest.mark.parametrize(("name", "scanner"), SCANS)
def test_a_recorded_scan(name, scanner):
    transcript = TRANSCRIPTS[name]
    opened = transcript.opens[scanner]
    scan = opened["a"]["scan"]
    tag = opened.get("tag")
    if tag == "sloppy-filter" or ("err" in opened["r"] and tag != "bracket-bug"):
        with pytest.raises(BadFilter) as refused:
            parse(raw(scan["filterString"]))
        assert 0 <= refused.value.position <= len(scan["filterString"])
        return
    asked = scanner if tag not in ("bracket-bug", "batch-filter-open") else opened["twin_scanner"]
    ways, ended = rows_recorded(transcript, asked)
    for page_rows, cheap in ((0, False), (1, False), (3, True), (0, True)):
        found = transcript.answer(scan, page_rows, cheap)
        if tag == "batch-filter-open":
            assert all(len(piece["columns"]) <= scan["batchSize"] for piece in found)
            found = merged(found)
        if not ended:
            found = found[: max(map(len, ways))]
        assert found in ways
