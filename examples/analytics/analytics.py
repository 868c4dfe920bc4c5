"""The paper's Google Analytics (section 8.1): raw clicks by site and session, and summaries of them by MapReduce.

    analytics.py create                     makes the tables
    analytics.py load FILE                  puts clicks, a line of JSON each, ascending by time:
                                            {"site": "example.com", "visitor": "7", "time": MILLISECONDS, "page": "/"}
    analytics.py summarize [--on dask]      computes the summaries of each site and day
    analytics.py dashboard example.com      prints a site's days, and its most viewed pages

Each takes --port, of an hbtable server on this machine.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

import hbtable
from hbtable import mapreduce

SESSION_MILLIS = 30 * 60 * 1000
"""A visitor who does nothing for so long begins a new session."""
TABLES: dict[str, dict[str, hbtable.FamilyOptions]] = {
    "clicks": {"hit": {"max_versions": 1, "compression": "ZSTD"}},
    "summaries": {"total": {"max_versions": 1, "in_memory": True}, "views": {"max_versions": 1}},
}


class Summary(NamedTuple):
    """What sessions of one site did on one day: between map and reduce, and its sum."""

    visitors: frozenset[bytes]
    sessions: int
    views: Counter[bytes]


def load(clicks: hbtable.Table, lines: Iterable[str]) -> int:
    """A row a session, named by site, begin and visitor: sessions of a site lie together, by time. How many clicks.
    A file that is loaded twice leaves the same."""
    begun: dict[tuple[str, str], tuple[int, int]] = {}
    count = 0
    with clicks.batch(batch_size=1000) as batch:
        for count, line in enumerate(lines, 1):
            click = json.loads(line)
            site, visitor, time = click["site"], click["visitor"], click["time"]
            begin, last = begun.get((site, visitor), (time, time))
            if time - last > SESSION_MILLIS:
                begin = time
            begun[site, visitor] = begin, time
            batch.put(f"{site}/{begin:013}/{visitor}", {f"hit:{time:013}/{count}": click["page"]})
    return count


def sessions(row: bytes, columns: dict[bytes, bytes]) -> Iterable[tuple[bytes, Summary]]:
    """Map: a session into the days that it has hits on. It counts as a session of the first."""
    site, _, visitor = row.split(b"/", 2)
    days: dict[str, Counter[bytes]] = {}
    for column, page in sorted(columns.items()):
        millis = int(column.removeprefix(b"hit:").partition(b"/")[0])
        day = datetime.fromtimestamp(millis // 1000, UTC).date().isoformat()
        days.setdefault(day, Counter())[page] += 1
    for number, (day, views) in enumerate(days.items()):
        yield site + b"/" + day.encode(), Summary(frozenset([visitor]), int(number == 0), views)


def added(_: bytes, summaries: Iterator[Summary]) -> Iterable[Summary]:
    """Combine: visitors are told apart, so that one who comes twice is counted once."""
    visitors, count, views = set[bytes](), 0, Counter[bytes]()
    for one in summaries:
        visitors |= one.visitors
        count += one.sessions
        views += one.views
    yield Summary(frozenset(visitors), count, views)


def summary(row: bytes, summaries: Iterator[Summary]) -> Iterable[tuple[bytes, dict[bytes, bytes]]]:
    """Reduce: the row of a site and day, in numbers as counters and Arrow have them."""
    for one in added(row, summaries):
        totals = {b"visitors": len(one.visitors), b"sessions": one.sessions, b"views": one.views.total()}
        columns = {b"total:" + name: number.to_bytes(8, "big") for name, number in totals.items()}
        yield row, columns | {b"views:" + page: number.to_bytes(8, "big") for page, number in one.views.items()}


def summarize(db: hbtable.Database, on: Literal["processes", "dask"] = "processes") -> mapreduce.JobResult:
    """All sites and days, as of now. Pages and days only become more, so this replaces what was there."""
    return mapreduce.run(db.table("clicks"), sessions, summary, db.table("summaries"), added, on=on)


def dashboard(summaries: hbtable.Table, site: str) -> None:
    """Reads the small family for the days. For pages it sums the cells of all days in Arrow's columns."""
    totals = ["total:visitors", "total:sessions", "total:views"]
    for day in summaries.to_arrow(dict.fromkeys(totals, pa.int64()), row_prefix=f"{site}/").read_all().to_pylist():
        numbers = ", ".join(f"{day[name]} {name.partition(':')[2]}" for name in totals)
        print(f"{day['row'].decode().partition('/')[2]}: {numbers}")
    cells = summaries.to_arrow(["views"], row_prefix=f"{site}/").read_all()
    views = pa.array([int.from_bytes(value, "big") for value in cells["value"].to_pylist()], pa.int64())
    pages = pa.table({"page": cells["column"], "views": views}).group_by("page").aggregate([("views", "sum")])
    for page in pages.sort_by([("views_sum", "descending"), ("page", "ascending")]).slice(0, 5).to_pylist():
        print(f"{page['page'].decode().removeprefix('views:')}: {page['views_sum']} views")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("create", "load", "summarize", "dashboard"))
    parser.add_argument("argument", nargs="?", default="", help="a file, or a site")
    parser.add_argument("--port", type=int, default=9090)
    parser.add_argument("--on", choices=("processes", "dask"), default="processes", help="what runs the tasks")
    given = parser.parse_args()
    with hbtable.connect("127.0.0.1", given.port) as db:
        if given.command == "create":
            for name, families in TABLES.items():
                db.create_table(name, families)
        elif given.command == "load":
            with Path(given.argument).open() as lines:
                print(f"{load(db.table('clicks'), lines)} clicks")
        elif given.command == "summarize":
            counters = summarize(db, given.on).counters
            print(f"{counters['map input']} sessions, {counters['output']} days of sites")
        else:
            dashboard(db.table("summaries"), given.argument)


if __name__ == "__main__":  # processes that run tasks import this file
    try:
        main()
    except (hbtable.HbtableError, OSError) as error:
        sys.exit(f"analytics.py: {error}")
