"""One random program: {'profile', 'tables': [{'families', 'splits'}], 'lines': [{'m', 'a'}, ...]}.

Arguments are as in compat-tests/recorded/replay.py (Latin-1 strings, {"$scanner": k}), and {"$table": k},
{"$base": d} (the run's start + d ms). Lines that begin with $ are no Thrift calls: $scan (a whole scan: open, fetches
of n rows, close), $flush, $major, $split, $truncate, $add, $modify, $remove, $delete (a version, a family's version),
$sleep, $together (calls of several clients at once). A line of storage with `of_hbtable` is told to hbtable alone.
"""

import random
from collections.abc import Collection
from typing import Any

from tests.campaigns.difffuzz.alphabet import (
    FOREVER,
    HOUR,
    LONG_MAX,
    PROFILES,
    QUALIFIERS,
    ROWS,
    SMALL_TIMES,
    VALUES,
    WITH_ATTRIBUTES,
)

Line = dict[str, Any]


class Program:
    """Its schema, and what its calls are made of. `profiles` fills it with what `reads` and `writes` make."""

    def __init__(self, seed: str, profile: str | None = None, known: Collection[str] = ()) -> None:
        """`known`: which of KNOWN may be called for, too."""
        self.r = r = random.Random(seed)
        self.known = known
        self.profile = profile or r.choices(list(PROFILES), list(PROFILES.values()))[0]
        self.rows = r.sample(ROWS, r.choice([2, 3, 5]))
        self.qualifiers = r.sample(QUALIFIERS, r.choice([2, 3, 5]))
        self.values, self.small_times = VALUES, SMALL_TIMES
        self.lines: list[Line] = []
        self.scanners = 0
        self.last_put: dict[tuple[str, str], str] = {}  # (row, column) -> value, for checkAndPut to hit
        self.many_tablets = False
        self.mortal_puts = 0
        self.whole_families = 0.3  # how often a read asks for a family instead of a column
        self.whole_counters = 0.05  # how often the column of a counter is named as its family, without a colon
        self.future = r.random() < 0.5
        self.families = [self.family(name) for name in r.sample(["f", "g", "fa"], r.choice([1, 2, 2, 3]))]
        self.tables = [{"families": [dict(family) for family in self.families], "splits": self.splits()}]

    def as_dict(self) -> dict[str, Any]:
        return {"profile": self.profile, "tables": self.tables, "lines": self.lines}

    # ------------------------------------------------------------------------------------------------ schema

    def family(self, name: str) -> dict[str, Any]:
        r = self.r
        family: dict[str, Any] = {"name": name, "versions": r.choice([1, 1, 2, 3, 5])}
        if self.profile in ("flushes", "keepdeleted", "families"):  # each change of a table flushes
            family["versions"] = 1000
        if r.random() < 0.3:
            family["bloom"] = r.choice(["ROW", "ROWCOL"])
        if r.random() < 0.2:
            family["compression"] = "GZ"
        if r.random() < 0.1:
            family["memory"] = True
        if self.profile == "keepdeleted":
            family["keepDeleted"] = r.choice(["TRUE", "TRUE", "TTL", "FALSE"])
        if self.profile == "newversions":
            family["newVersions"] = r.random() < 0.8
        if self.profile == "ttl":
            family["ttl"] = r.choice([2, 3, FOREVER])
            if r.random() < 0.4:
                family["versions"], family["min"] = 5, r.choice([1, 2])
                if "min-versions-of-a-column" not in self.known:
                    self.whole_families = 1.0
        return family

    def splits(self) -> list[str]:
        if self.r.random() < 0.8 or self.profile in ("filters", "admin", "families", "concurrent"):
            return []
        self.many_tablets = True
        return sorted({self.r.choice(ROWS[1:8]) for _ in range(2)} | {"b"}, key=lambda row: row.encode("latin-1"))

    @property
    def family_names(self) -> list[str]:
        return [family["name"] for family in self.families]

    # ------------------------------------------------------------------------------------------------ parts

    def chance(self, likelihood: float) -> bool:
        return self.r.random() < likelihood

    def emit(self, method: str, arguments: dict[str, Any], **more: Any) -> None:
        if method in WITH_ATTRIBUTES and self.chance(0.7):
            arguments.setdefault("attributes", {})
        if method.startswith("mutateRow"):
            for batch in arguments.get("rowBatches") or [arguments]:
                for mutation in batch["mutations"]:
                    if not mutation.get("isDelete"):
                        self.last_put[batch["row"], mutation["column"]] = mutation.get("value", "")
        self.lines.append(dict(m=method, a=arguments, **more))

    def table(self) -> dict[str, int]:
        return {"$table": 0}

    def row(self) -> str:
        return self.r.choice(self.rows)

    def column(self, whole: float = 0.0) -> str:
        family = self.r.choice(self.family_names)
        return family if self.chance(whole) else f"{family}:{self.r.choice(self.qualifiers)}"

    def value(self) -> str:
        return self.r.choice(self.values)

    def write_time(self) -> int | dict[str, int]:
        x = self.r.random()
        if x < 0.8:
            return self.r.choice(SMALL_TIMES)
        if x < 0.83:
            return 0
        if x < 0.88:
            return {"$base": -HOUR}
        if x < 0.96:
            return {"$base": HOUR if self.future else -HOUR}
        return LONG_MAX if x < 0.99 else -1

    def read_time(self) -> int | dict[str, int]:
        x = self.r.random()
        if x < 0.7:
            return self.r.choice(SMALL_TIMES)
        if x < 0.73:
            return 0
        if x < 0.78:
            return {"$base": 1 - HOUR}
        if x < 0.9:
            return {"$base": HOUR if x < 0.84 else HOUR + 1}
        return LONG_MAX if x < 0.99 else -1

    def storage(self) -> None:
        self.emit(self.r.choice(["$flush", "$flush", "$major"]), {})
