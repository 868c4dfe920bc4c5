"""examples/analytics beside plain Python over a happybase scan, and over the clicks that it was given."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import run_example
from tests.harness.tiers import long_marks
from tests.harness.warm_server import WarmServer

Columns = dict[bytes, bytes]
BEGIN = 1_795_800_000_000
"""Some hours before midnight."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WarmServer]:
    with WarmServer(tmp_path / "data", ["log.durability=os"]) as server:
        yield server


def made_clicks() -> list[dict[str, Any]]:
    chance, time, found = random.Random(5), BEGIN, []
    for _ in range(1500):
        time += chance.randrange(60_000)
        site, visitor = chance.choice(["a.test", "a.test.more", "b.test"]), str(chance.randrange(25))
        found.append({"site": site, "visitor": visitor, "time": time, "page": f"/{chance.randrange(6)}:x"})
    return found


def day_of(millis: int) -> str:
    return str(datetime.fromtimestamp(millis / 1000, UTC).date())


def sessions_of(clicks: list[dict[str, Any]]) -> dict[tuple[str, int, str], list[tuple[int, str]]]:
    """Hits by (site, begin, visitor)."""
    of_one: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for click in clicks:
        of_one[click["site"], click["visitor"]].append((click["time"], click["page"]))
    found = {}
    for (site, visitor), hits in of_one.items():
        ends = [at for at in range(1, len(hits)) if hits[at][0] - hits[at - 1][0] > 30 * 60_000]
        for first, end in zip([0, *ends], [*ends, len(hits)], strict=True):
            found[site, hits[first][0], visitor] = hits[first:end]
    return found


def summaries_of(clicks: dict[bytes, Columns]) -> dict[bytes, dict[bytes, int]]:
    visitors: defaultdict[bytes, set[bytes]] = defaultdict(set)
    numbers: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
    for row, hits in clicks.items():
        site, begin, visitor = row.split(b"/")
        numbers[site + b"/" + day_of(int(begin)).encode()][b"total:sessions"] += 1
        for name, page in hits.items():
            of_day = site + b"/" + day_of(int(name[len("hit:") : len("hit:") + 13])).encode()
            visitors[of_day].add(visitor)
            numbers[of_day][b"total:views"] += 1
            numbers[of_day][b"views:" + page] += 1
    for of_day, those in visitors.items():
        numbers[of_day][b"total:visitors"] = len(those)
        numbers[of_day].setdefault(b"total:sessions", 0)
    return {of_day: dict(found) for of_day, found in numbers.items()}


@pytest.mark.parametrize("on", ["processes", pytest.param("dask", marks=long_marks("analytics on Dask"))])
def test_summaries_are_those_of_plain_python(server: WarmServer, tmp_path: Path, on: str) -> None:
    port, clicks = ["--port", str(server.port)], made_clicks()
    (tmp_path / "clicks").write_text("".join(json.dumps(click) + "\n" for click in clicks))
    run_example("analytics", "create", *port)
    assert run_example("analytics", "summarize", "--on", on, *port) == "0 sessions, 0 days of sites\n"
    assert run_example("analytics", "load", str(tmp_path / "clicks"), *port) == "1500 clicks\n"
    told = run_example("analytics", "summarize", "--on", on, *port)
    with closing(server.connect()) as connection:
        raw, found = dict(connection.table("clicks").scan()), dict(connection.table("summaries").scan())
    sessions = sessions_of(clicks)
    assert len(sessions) > 100
    assert list(raw) == sorted(f"{site}/{begin}/{visitor}".encode() for site, begin, visitor in sessions)
    for (site, begin, visitor), hits in sessions.items():
        columns = raw[f"{site}/{begin}/{visitor}".encode()]
        assert [(int(name[4:17]), page.decode()) for name, page in sorted(columns.items())] == sorted(hits)
    expected = summaries_of(raw)
    assert {row: {name: int.from_bytes(data[name], "big") for name in data} for row, data in found.items()} == expected
    assert told == f"{len(sessions)} sessions, {len(expected)} days of sites\n"
    assert len({day_of(click["time"]) for click in clicks}) > 1

    views: Counter[str] = Counter()
    lines = []
    for row, data in sorted(expected.items()):
        if row.startswith(b"a.test/"):
            numbers = [f"{data[f'total:{name}'.encode()]} {name}" for name in ("visitors", "sessions", "views")]
            lines.append(f"{row.decode().removeprefix('a.test/')}: {', '.join(numbers)}")
            views += {name[6:].decode(): data[name] for name in data if name.startswith(b"views:")}
    pages = sorted(views.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
    shown = run_example("analytics", "dashboard", "a.test", *port).splitlines()
    assert shown == lines + [f"{page}: {count} views" for page, count in pages]
