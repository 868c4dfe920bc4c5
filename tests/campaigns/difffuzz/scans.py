"""Compares whole scans. Where HBase cannot answer, it is asked an equivalent request; where a filtered scan differs,
the model of filters answers it from HBase's own cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.campaigns.difffuzz import compare, filters, model_answers
from tests.campaigns.difffuzz.alphabet import LONG_MAX
from tests.campaigns.difffuzz.compare import Answer
from tests.campaigns.difffuzz.differences import Difference
from tests.campaigns.difffuzz.program import Line
from tests.campaigns.difffuzz.sides import Side

if TYPE_CHECKING:
    from tests.campaigns.difffuzz.running import Runner

_NEEDS_ALL: Final = " AND RowFilter(>=, 'binary:')"
"""Beside it HBase no longer loads families on demand."""
_MOST_PAGES: Final = 5000
_CANNOT_PARSE: Final = 6


class ScanComparison:
    """Of one runner's servers. `unexplained`: report a filtered scan, too, where hbtable's answer is the documented one
    and no known peculiarity explains HBase's."""

    def __init__(self, runner: Runner, unexplained: bool) -> None:
        self._runner, self._unexplained = runner, unexplained

    def compare(self, at: int, line: Line, arguments: dict[str, Any]) -> Difference | None:
        run, tree, size = self._runner, line.get("filter"), arguments["n"]
        scan = dict(arguments["scan"])
        if tree:
            scan["filterString"] = filters.text(tree)
        equivalent, replaced = compare.without_union(scan)
        used = ["column-union"] if replaced else []
        h, x = self._fetch(run.hbase, equivalent, size), self._fetch(run.hbtable, scan, size)
        if tree and "err" in h and "ok" in x:
            h, equivalent = self._asked_otherwise(h, equivalent, tree, size, used)
        if "batch-with-row-filter" in used and "ok" in h and "ok" in x:
            if any(len(row.get("columns") or row.get("sortedColumns") or ()) > scan["batchSize"] for row in x["ok"]):
                return Difference(at, line, ("a piece larger than batchSize", ""), h, x)
            x = {"ok": compare.merged(x["ok"])}
        found = compare.difference(h, x)
        rule = found and compare.kinder(dict(line, m="scannerGetList", a=arguments), h, x)
        if not found or rule:
            run.rules.update(used + ([rule] if rule else []))
            return None
        note = ""
        if tree and "ok" in h and "ok" in x:
            peculiarity, note = self._judged(equivalent, tree, h, x)
            if peculiarity:
                run.rules.update([*used, f"filter-artefact: {peculiarity}"])
                return None
        return Difference(at, line, found, h, x, note)

    def _fetch(self, side: Side, scan: dict[str, Any], size: int) -> Answer:
        """All rows, from open to close, or the error."""
        run = self._runner
        run.calls += 3
        opened = {"tableName": run.tables[0], "scan": scan, "attributes": {}}
        answer = side.call("scannerOpenWithScan", opened, {})
        if "ok" not in answer:
            return run.named(side, answer)
        rows: list[Any] = []
        handles = {0: answer["ok"]}
        for _ in range(_MOST_PAGES):
            answer = side.call("scannerGetList", {"id": {"$scanner": 0}, "nbRows": size}, handles)
            if not answer.get("ok"):
                break
            rows += answer["ok"]
        side.call("scannerClose", {"id": {"$scanner": 0}}, handles)
        return run.named(side, answer if "err" in answer else {"ok": rows})

    def _asked_otherwise(
        self, h: Answer, scan: dict[str, Any], tree: filters.Tree, size: int, used: list[str]
    ) -> tuple[Answer, dict[str, Any]]:
        """HBase's answer to the first equivalent request that it takes, and the request."""
        hbase = self._runner.hbase
        if h["err"].get("code") == _CANNOT_PARSE:
            scan = dict(scan, filterString=filters.text(tree, True))
            h = self._fetch(hbase, scan, size)
            used.append("filter-brackets")
        if (scan.get("batchSize") or 0) > 0 and "RetriesExhausted" in _java_class(h):
            scan = {key: value for key, value in scan.items() if key != "batchSize"}
            h = self._fetch(hbase, scan, size)
            used.append("batch-with-row-filter")
        on_demand = "err" in h and "loading CFs" in h["err"].get("first_line", "")
        if on_demand or (scan.get("reversed") and "DoNotRetry" in _java_class(h)):
            scan = dict(scan, filterString=f"({filters.text(tree, True)}){_NEEDS_ALL}")
            h = self._fetch(hbase, scan, size)
            used.append("reverse-on-demand")
        return h, scan

    def _judged(self, asked: dict[str, Any], tree: filters.Tree, h: Answer, x: Answer) -> tuple[str, str]:
        """(the peculiarity of HBase that this is, or "", else a note)."""
        run, before = self._runner, asked.get("timestamp", LONG_MAX)
        cells = run.hbase.dump(run.tables[0], before) if before > 0 else []  # type: ignore[attr-defined]
        in_pieces = (asked.get("batchSize") or 0) > 0
        rows = [compare.merged(y["ok"]) if in_pieces else y["ok"] for y in (h, x)]
        scan = {key: value for key, value in asked.items() if key != "filterString"}
        sound, why = model_answers.explained(cells, scan, tree, *rows, lambda rows: run.named(run.hbase, rows))
        if sound and why and (why != "none" or "ColumnCountGetFilter" in filters.leaves(tree)):
            return why, ""
        if sound and not self._unexplained:
            return "not explained, hbtable as documented", ""
        if sound:
            return "", "hbtable as documented, HBase unexplained"
        of_hbase = "as documented" if why == "none" else f"explained by {why}" if why else "unexplained"
        return "", f"hbtable not as documented, HBase {of_hbase}"


def _java_class(answer: Answer) -> str:
    return answer.get("err", {}).get("java_class") or ""
