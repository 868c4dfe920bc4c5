"""Runs a program on both servers, call by call, and says where they differ."""

import collections
import json
import time
from collections.abc import Iterator
from typing import Any, Final

from tests.campaigns.difffuzz import compare
from tests.campaigns.difffuzz.differences import Difference
from tests.campaigns.difffuzz.program import Line
from tests.campaigns.difffuzz.scans import ScanComparison
from tests.campaigns.difffuzz.sides import Broken, Side, replay

WRITES: Final = replay.WRITES | {"$delete", "$together"}
OPENS: Final = replay.SCAN_OPENS
STORAGE: Final = {"$flush", "$major", "$split", "$truncate", "$add", "$modify", "$remove", "$delete"}
_MOST_OF_A_PROGRAM: Final = 3


class Runner:
    """Counts the calls, and the uses of each rule by which hbtable may answer otherwise."""

    def __init__(self, hbase: Side, hbtable: Side, prefix: str, unexplained: bool = False) -> None:
        """`unexplained`: see ScanComparison."""
        self.hbase, self.hbtable, self._prefix = hbase, hbtable, prefix
        self.rules: collections.Counter[str] = collections.Counter()
        self.calls = 0
        self.why_broken = ""
        self._scans = ScanComparison(self, unexplained)
        self._tables_made = 0

    def run_all(self, programs: list[dict[str, Any]]) -> list[list[Difference] | None]:
        """For each program its differences, or None where it could not be run. Broken if a table cannot be made."""
        out: list[list[Difference] | None] = []
        for program, names in zip(programs, self._tables_for(programs), strict=True):
            try:
                out.append(list(self._differences(program, names)))
            except Broken as error:
                out.append(None)
                self.why_broken = str(error)
            for side in self._both():
                side.drop(names)
        return out

    def _both(self) -> tuple[Side, Side]:
        return self.hbase, self.hbtable

    def _tables_for(self, programs: list[dict[str, Any]]) -> list[list[str]]:
        """Fresh tables for each, made together because HBase's creations mostly wait."""
        out = []
        for program in programs:
            names = []
            for table in program["tables"]:
                self._tables_made += 1
                names.append(f"{self._prefix}{int(time.time()) % 10**6}_{self._tables_made}")
                for side in self._both():
                    side.create(names[-1], table["families"], table.get("splits", ()))
            out.append(names)
        for side in self._both():
            side.created()
        return out

    # ------------------------------------------------------------------------------------------------ one program

    def _differences(self, program: dict[str, Any], names: list[str]) -> Iterator[Difference]:
        self.tables = names
        self.names = {name: f"$T{number}" for number, name in enumerate(names)}
        self._base = int(time.time() * 1000)
        self.times = {side: compare.Times(self._base) for side in self._both()}
        self._handles: dict[Side, dict[int, Any]] = {side: {} for side in self._both()}
        self._refused: set[int] = set()
        for found, difference in enumerate(
            filter(None, (self._step(at, line) for at, line in enumerate(program["lines"]))), 1
        ):
            yield difference
            if difference.changes_state() or found >= _MOST_OF_A_PROGRAM:
                return

    def _resolved(self, x: Any) -> Any:
        if isinstance(x, dict):
            if "$base" in x:
                return self._base + x["$base"]
            if "$table" in x:
                return self.tables[x["$table"]]
            return {key: self._resolved(value) for key, value in x.items()}
        if isinstance(x, list):
            return [self._resolved(value) for value in x]
        return x

    def _step(self, at: int, line: Line) -> Difference | None:
        method, arguments = line["m"], self._resolved(line["a"])
        if method == "$sleep":
            time.sleep(arguments["ms"] / 1000)
            return None
        if method in STORAGE:
            return self._storage(at, line, arguments)
        if method == "$scan":
            return self._scans.compare(at, line, arguments)
        if method == "$together":
            answers = [self._together(side, at, arguments["calls"]) for side in self._both()]
            found = compare.difference(*answers)
            return Difference(at, line, found, *answers) if found else None
        scanner = arguments.get("id")
        if isinstance(scanner, dict) and scanner["$scanner"] in self._refused:
            return None
        return self._call(at, line, arguments)

    def _call(self, at: int, line: Line, arguments: dict[str, Any]) -> Difference | None:
        equivalent, replaced = compare.without_union(arguments)
        h = self._on(self.hbase, at, line, equivalent)
        x = self._on(self.hbtable, at, line, arguments)
        if replaced:
            self.rules["column-union"] += 1
        found = compare.difference(h, x)
        if not found:
            return None
        rule = self._rule(line, arguments, h, x)
        if not rule:
            return Difference(at, line, found, h, x)
        self.rules[rule] += 1
        if line["m"] in OPENS:
            self._refused.add(line["save"])
        return None

    def _rule(self, line: Line, arguments: dict[str, Any], h: compare.Answer, x: compare.Answer) -> str | None:
        method = line["m"]
        if method == "getTableNamesWithIsTableEnabled" and "err" in h:
            return "artefact: HBase stumbles over a table that is being dropped"
        rule = compare.kinder(dict(line, a=arguments), h, x)
        if not rule and method in OPENS and "ok" in h and "err" in x:
            fetch = {"id": {"$scanner": line["save"]}, "nbRows": 1}
            first = self.hbase.call("scannerGetList", fetch, self._handles[self.hbase])
            if "err" in first and (not compare.difference(first, x) or compare.kinder(line, first, x)):
                return "open-reports-error"
        return rule

    def _before_a_write(self, side: Side, at: int) -> None:
        """Two writes never share a millisecond, or which of them a time is of could not be said."""
        times = self.times[side]
        start = int(time.time() * 1000)
        while start <= times.end + 2:
            time.sleep(0.0005)
            start = int(time.time() * 1000)
        times.write(at, start)

    def _on(self, side: Side, at: int, line: Line, arguments: dict[str, Any]) -> compare.Answer:
        """One call on one side, its answer with its times named."""
        method = line["m"]
        if method in WRITES:
            self._before_a_write(side, at)
        answer = side.call(method, arguments, self._handles[side])
        self.calls += 1
        if method in WRITES:
            self.times[side].end = int(time.time() * 1000)
        replay.own_tables(method, answer, self.tables)
        if method in OPENS:
            self._handles[side][line["save"]] = answer.get("ok")
            if "ok" in answer:
                answer = {"ok": "$scanner"}
        return self.named(side, answer)

    def named(self, side: Side, answer: Any) -> Any:
        return compare.named(answer, self.times[side], self.names)

    def _together(self, side: Side, at: int, calls: list[dict[str, Any]]) -> compare.Answer:
        """The answers of calls at once, without their order: of equal calls each may get any."""
        self._before_a_write(side, at)
        answers = side.call_together(calls)
        self.calls += len(calls)
        self.times[side].end = int(time.time() * 1000) + len(calls)  # HBase gives each change of a cell a later time
        return {"ok": sorted((self.named(side, answer) for answer in answers), key=json.dumps)}

    def _storage(self, at: int, line: Line, arguments: dict[str, Any]) -> Difference | None:
        answers: list[compare.Answer] = []
        for side in self._both():
            if side is self.hbase and line.get("of_hbtable"):
                answers.append({"ok": None})
                continue
            self.calls += 1
            try:
                self._store(side, at, line["m"], arguments)
                answers.append({"ok": None})
            except Broken as error:
                answers.append({"err": {"type": str(error)}})
        h, x = answers
        return Difference(at, line, ("one side refuses", ""), h, x) if ("ok" in h) != ("ok" in x) else None

    def _store(self, side: Side, at: int, method: str, arguments: dict[str, Any]) -> None:
        name = self.tables[0]
        if method == "$flush":
            side.flush(name)
        elif method == "$major":
            side.major(name)
        elif method == "$split":
            side.split(name, arguments["row"])
            side.major(name)  # HBase compacts the halves by itself, sooner or later
        elif method == "$truncate":
            side.truncate(name, arguments["keep"])
        elif method == "$add":
            side.add(name, arguments["family"])
        elif method == "$modify":
            side.modify(name, arguments["family"])
        elif method == "$remove":
            side.remove(name, arguments["family"])
        else:
            self._before_a_write(side, at)
            side.delete(name, **arguments)
            self.times[side].end = int(time.time() * 1000)
