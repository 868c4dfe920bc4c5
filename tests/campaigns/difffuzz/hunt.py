"""Runs programs until enough calls were made; shows what differs, small."""

import collections
import json
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.campaigns.difffuzz import filters
from tests.campaigns.difffuzz.differences import Difference
from tests.campaigns.difffuzz.minimise import Minimiser
from tests.campaigns.difffuzz.profiles import random_program
from tests.campaigns.difffuzz.running import Runner
from tests.campaigns.difffuzz.sides import Broken

_TOGETHER: Final = 10
"""So many programs get their tables at a time."""
_OF_A_KIND: Final = 2
"""So many differences of one kind are made small; the others are counted."""
_MOST_BROKEN: Final = 100
_OF_A_FLUSH: Final = "flush: HBase answers as hbtable does until it has flushed"


@dataclass(frozen=True)
class Limits:
    """Of a hunt; `minimise_seconds` for one difference."""

    calls: int
    seconds: float = 1e9
    lines: int = 100
    minimise_seconds: float = 90


class Hunt:
    """One campaign. `calls` were made, and `found` differences came again on fresh tables."""

    def __init__(
        self,
        runner: Runner,
        seed: int,
        limits: Limits,
        profiles: list[str],
        known: Collection[str],
        save: Path | None = None,
    ) -> None:
        """`profiles`: none is all, by their weights; `known`: which of KNOWN may be called for."""
        self._runner, self._seed, self._limits, self._profiles, self._known = runner, seed, limits, profiles, known
        self._save = save
        self._minimiser = Minimiser(runner, limits.minimise_seconds)
        self._kinds: collections.Counter[tuple[str, str, str, str]] = collections.Counter()
        self.calls = self.found = 0
        self._number = self._broken = self._lost = 0

    def run(self, only: str | None = None) -> None:
        """`only`: one program, by its seed."""
        begin = time.monotonic()
        print(f"seed {self._seed}", flush=True)
        try:
            while self.calls < self._limits.calls and time.monotonic() - begin < self._limits.seconds:
                self._programs([only] if only else [f"{self._seed}/{self._number + k}" for k in range(_TOGETHER)])
                if only or self._broken > _MOST_BROKEN:
                    break
                if self._number % 100 == 0:
                    print(f"   ... {self.calls} calls, {time.monotonic() - begin:.0f} s", flush=True)
        except KeyboardInterrupt:
            print("interrupted")
        self._summary()

    def _programs(self, seeds: list[str]) -> None:
        programs = [
            random_program(seed, self._limits.lines, self._profile(number), self._known)
            for number, seed in enumerate(seeds, self._number)
        ]
        self._number += len(seeds)
        before = self._runner.calls
        try:
            results = self._runner.run_all(programs)
        except Broken as error:
            self._broken += len(programs)
            print(f"{seeds[0]} not run: {str(error)[:300]}", flush=True)
            return
        self.calls += self._runner.calls - before
        for seed, program, found in zip(seeds, programs, results, strict=True):
            if found is None:
                self._broken += 1
                print(f"program {seed} ({program['profile']}) not run: {self._runner.why_broken}", flush=True)
            for difference in found or ():
                self._report(seed, program, difference)

    def _profile(self, number: int) -> str | None:
        return self._profiles[number % len(self._profiles)] if self._profiles else None

    def _report(self, seed: str, program: dict[str, Any], difference: Difference) -> None:
        if program["profile"] == "mixed" and self._is_of_a_flush(program, difference):
            self._runner.rules[_OF_A_FLUSH] += 1
            return
        kind = difference.signature()
        self._kinds[kind] += 1
        if self._kinds[kind] > _OF_A_KIND:
            self.found += 1
            return
        small = self._minimiser.smallest(program, difference)
        if small is None:
            self._lost += 1
            print(f"-- seed {seed}, line {difference.at} ({program['profile']}) did not come again: {kind}")
            _show(program, difference, 0)
            return
        if program["profile"] == "mixed" and self._is_of_a_flush(*small):
            self._runner.rules[_OF_A_FLUSH] += 1
            return
        self.found += 1
        print(f"== after {self.calls} calls, seed {seed}, profile {program['profile']}: {': '.join(kind)}")
        _show(*small)
        if self._save:
            one = {"seed": seed, "kind": kind, "program": small[0], "hbase": small[1].h, "hbtable": small[1].x}
            with self._save.open("a") as file:
                file.write(json.dumps(one) + "\n")

    def _is_of_a_flush(self, program: dict[str, Any], difference: Difference) -> bool:
        """Whether HBase answers as hbtable does, all through the program, when it alone does not flush."""
        cut = dict(program, lines=program["lines"][: difference.at + 1])
        unflushed = [_of_hbtable(cut, ("$flush",)), _of_hbtable(cut, ("$flush", "$major"))]
        again, *others = self._runner.run_all([cut, *unflushed])
        return bool(again) and [] in others

    def _summary(self) -> None:
        print(
            f"seed {self._seed}: {self.calls} calls in {self._number} programs, {self._broken} not run; "
            f"{len(self._kinds)} kinds of difference, {self._lost} did not come again"
        )
        for kind, count in self._kinds.most_common():
            print(f"  {count:5}  {' | '.join(kind)}")
        print(f"kinder by rule: {json.dumps(dict(self._runner.rules.most_common()))}", flush=True)


def _of_hbtable(program: dict[str, Any], methods: Collection[str]) -> dict[str, Any]:
    """The program, in which hbtable alone is told these."""
    lines = [dict(line, of_hbtable=True) if line["m"] in methods else line for line in program["lines"]]
    return dict(program, lines=lines)


def replayed(path: Path, runner: Runner) -> None:
    """Runs the programs again that a hunt has saved, and shows what differs now."""
    for line in path.read_text().splitlines():
        saved = json.loads(line)
        found = runner.run_all([saved["program"]])[0]
        state = "not run" if found is None else "differs" if found else "equal"
        print(f"{saved['seed']} {saved['kind'][:3]}: {state}")
        for difference in found or ():
            _show(saved["program"], difference)


def _short(x: Any, size: int = 1500) -> str:
    return json.dumps(x).replace("k" * 300, "k^300").replace("q" * 200, "q^200")[:size]


def _show(program: dict[str, Any], difference: Difference, lines: int | None = None) -> None:
    for number, table in enumerate(program["tables"]):
        print(f"   table {number}: {json.dumps(table['families'])}  splits {json.dumps(table.get('splits', []))}")
    for line in program["lines"][:lines]:
        filtered = f'  filter "{filters.text(line["filter"])}"' if line.get("filter") else ""
        print(f"   {line['m']} {_short(line['a'])}{filtered}")
    print(f"   HBase   {_short(difference.h)}\n   hbtable {_short(difference.x)}", flush=True)
