"""Makes a program small while it goes on to differ in the same way."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

from tests.campaigns.difffuzz import filters
from tests.campaigns.difffuzz.differences import Difference
from tests.campaigns.difffuzz.running import Runner

Program = dict[str, Any]
Small = tuple[Program, Difference]

_TOGETHER: Final = 6
"""So many are tried at a time, because HBase's tables are dear to make."""
_READS: Final = ("get", "scanner", "$scan", "isTable")


class Minimiser:
    """Of one runner; `seconds` for each difference."""

    def __init__(self, runner: Runner, seconds: float) -> None:
        self._runner, self._seconds = runner, seconds
        self._end = 0.0
        self._want: tuple[str, str, str, str] = ("", "", "", "")

    def smallest(self, program: Program, difference: Difference) -> Small | None:
        """None when it does not come again."""
        self._want = difference.signature()
        self._end = time.monotonic() + self._seconds
        best = self._first([dict(program, lines=program["lines"][: difference.at + 1])])
        if best is None:
            return None
        steps = (self._without_reads, self._one_row, self._halves, self._schema, self._arguments)
        for step in (*steps, self._halves, self._arguments):
            best = step(best)
        return best

    def _first(self, candidates: list[Program]) -> Small | None:
        """The first that still differs, up to the line where it does."""
        for k in range(0, len(candidates), _TOGETHER):
            if time.monotonic() > self._end:
                return None
            some = candidates[k : k + _TOGETHER]
            for candidate, differences in zip(some, self._runner.run_all(some), strict=True):
                for one in differences or ():
                    if one.signature() == self._want:
                        return dict(candidate, lines=candidate["lines"][: one.at + 1]), one
        return None

    def _without_reads(self, best: Small) -> Small:
        lines = best[0]["lines"]
        if lines[-1]["m"].startswith("scanner"):
            return best
        kept = [line for line in lines[:-1] if not line["m"].startswith(_READS)] + lines[-1:]
        return self._first([dict(best[0], lines=kept)]) or best

    def _one_row(self, best: Small) -> Small:
        rows = sorted({row for line in best[0]["lines"] for row in _rows(line["a"])})
        return (self._first([_of_row(best[0], row) for row in rows]) or best) if len(rows) > 1 else best

    def _halves(self, best: Small) -> Small:
        """Leaves out half of the lines, then smaller parts of what is left; the last line is the one that differs."""
        size = max(1, (len(best[0]["lines"]) - 1) // 2)
        while size and len(best[0]["lines"]) > 1:
            *before, last = best[0]["lines"]
            cuts = [before[:i] + before[i + size :] for i in range(0, len(before), size)]
            hit = self._first([dict(best[0], lines=[*cut, last]) for cut in cuts])
            best = hit or best
            size = min(size, max(1, len(best[0]["lines"]) - 1)) if hit else size // 2
        return best

    def _schema(self, best: Small) -> Small:
        while hit := self._first(list(_simpler_tables(best[0]))):
            best = hit
        return best

    def _arguments(self, best: Small) -> Small:
        while hit := self._first(list(_simpler_lines(best[0]))):
            best = hit
        return best


def _rows(arguments: dict[str, Any]) -> list[str]:
    """That a call names."""
    if "row" in arguments:
        return [arguments["row"]]
    several = arguments.get("rowBatches") or arguments.get("increments") or ()
    inside = [arguments[key]["row"] for key in ("append", "increment") if key in arguments]
    return arguments.get("rows") or [one["row"] for one in several] or inside


def _of_row(program: Program, row: str) -> Program:
    """Without the calls, and the parts of calls, on other rows; the last line stays as it is."""
    lines = []
    for line in program["lines"][:-1]:
        arguments, named = line["a"], _rows(line["a"])
        if "rowBatches" in arguments and row in named:
            arguments = dict(arguments, rowBatches=[one for one in arguments["rowBatches"] if one["row"] == row])
        if not named or row in named:
            lines.append(dict(line, a=arguments))
    return dict(program, lines=lines + program["lines"][-1:])


def _simpler_tables(program: Program) -> Iterator[Program]:
    used = json.dumps([program["lines"], [line.get("filter") for line in program["lines"]]])
    for number, table in enumerate(program["tables"]):
        for simpler in _simpler_table(table, used):
            tables = list(program["tables"])
            tables[number] = simpler
            yield dict(program, tables=tables)


def _simpler_table(table: dict[str, Any], used: str) -> Iterator[dict[str, Any]]:
    families = table["families"]
    if table.get("splits"):
        yield dict(table, splits=[])
    for number, family in enumerate(families):
        if len(families) > 1 and f'"{family["name"]}' not in used:
            yield dict(table, families=families[:number] + families[number + 1 :])
        for key in family:
            if key not in ("name", "versions"):
                less = {name: value for name, value in family.items() if name != key}
                yield dict(table, families=[*families[:number], less, *families[number + 1 :]])


def _simpler_lines(program: Program) -> Iterator[Program]:
    lines = program["lines"]
    for number in reversed(range(len(lines))):
        for simpler in _simpler_line(lines[number]):
            yield dict(program, lines=[*lines[:number], simpler, *lines[number + 1 :]])


def _simpler_line(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "filter" in line:
        for tree in filters.smaller(line["filter"]):
            yield dict(line, filter=tree)
    for arguments in _simpler_arguments(line["a"]):
        yield dict(line, a=arguments)


def _simpler_arguments(arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("mutations", "rowBatches", "rows", "columns", "increments", "calls"):
        for less in _with_one_less(arguments.get(key) or []):
            yield dict(arguments, **{key: less})
    batches = arguments.get("rowBatches") or []
    for number, batch in enumerate(batches):
        for less in _with_one_less(batch["mutations"]):
            changed = dict(batch, mutations=less)
            yield dict(arguments, rowBatches=[*batches[:number], changed, *batches[number + 1 :]])
    if "append" in arguments:
        one = arguments["append"]
        pairs = list(zip(one["columns"], one["values"], strict=True))
        for less in _with_one_less(pairs):
            columns, values = zip(*less, strict=True)
            yield dict(arguments, append=dict(one, columns=list(columns), values=list(values)))
    for key in arguments.get("scan", ()):
        yield dict(arguments, scan={name: value for name, value in arguments["scan"].items() if name != key})
    if arguments.get("n", 1000) != 1000:
        yield dict(arguments, n=1000)
    if arguments.get("attributes"):
        yield dict(arguments, attributes={})


def _with_one_less(several: list[Any]) -> Iterator[list[Any]]:
    if len(several) > 1:
        for number in range(len(several)):
            yield several[:number] + several[number + 1 :]
