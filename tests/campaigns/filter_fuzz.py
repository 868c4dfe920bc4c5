"""Random filters over random cells, through a whole database: however hostile, the hub gives way in time, the answer is
that of the filter evaluated by itself, and of java.util.regex where it is a pattern alone and Java is there.

    python -m tests.campaigns.filter_fuzz [--filters 2000] [--most-bytes 67104768] [--seed N]

The hub's longest stretch is measured in the processor's time of its thread, beside that of a scan without a filter over
the same cells: reading and copying a cell of 64 MB takes its time as well.
"""

import argparse
import contextlib
import os
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hbtable.errors import InvalidRequest, LimitExceeded
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import parse
from hbtable.launch.embedded import EmbeddedDatabase
from hbtable.launch.embedded_cluster import EmbeddedOptions
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.role import TabletServerOptions
from tests.harness import java_patterns, random_filters

STRETCH_SECONDS = 0.05
"""More than without a filter. A search in the hub takes 3 ms by its estimate, a pattern to parse up to 20."""
SMALL_BYTES = 200
LARGEST_BYTES = (64 << 20) - 4096
"""A row with a larger cell and small ones beside it exceeds an answer (answer_bytes)."""
EVERYTHING = b"RowFilter(>=,'binary:')"


class Stretch:
    """The longest time of the hub's thread between two moments at which it lets others run."""

    def __init__(self, database: EmbeddedDatabase) -> None:
        self._database = database
        self._longest = 0.0
        self._stopped = False
        self._call(self._begin)

    def _call(self, function):
        return self._database._portal.call(function)

    def _begin(self) -> None:
        self._database._portal.runtime.spawn(self._tick, name="stretch")

    def _tick(self) -> None:
        while not self._stopped:
            before = time.thread_time()
            self._database._portal.runtime.sleep(0.0005)  # its own waiting is no processor's time
            self._longest = max(self._longest, time.thread_time() - before)

    def take(self) -> float:
        """Since the last time."""
        self._call(lambda: self._database._portal.runtime.sleep(0.002))  # or the end of the last one is not seen yet
        longest, self._longest = self._longest, 0.0
        return longest

    def stop(self) -> None:
        self._stopped = True


def random_value(rng: random.Random, most_bytes: int) -> bytes:
    """Of any size up to that, small ones as often as large ones."""
    size = min(most_bytes, int(2 ** (rng.random() * most_bytes.bit_length())))
    if rng.random() < 0.3:
        return rng.choice(java_patterns.TEXTS).encode()
    if rng.random() < 0.4:  # nothing in it comes twice, so that an automaton meets new states to the end
        return rng.randbytes(size).translate(b"ab" * 128)
    alphabet = rng.choice((b"a", b"abc. \r\n", "aé".encode(), "日本".encode(), b"\xff\xc3a"))
    piece = bytes(rng.choices(alphabet, k=min(size, 5000)))
    return (piece * (size // len(piece) + 1))[:size] + rng.choice((b"", b"!", b"\r\n", b"\n")) if piece else b""


Table = list[tuple[bytes, list[tuple[bytes, bytes]]]]


def random_rows(rng: random.Random, most_bytes: int) -> Table:
    """Ascending. One cell in all is large, or none."""
    large = rng.randrange(12)
    rows = [(b"r%d" % row, [b"f:q%d" % column for column in range(3)]) for row in range(4)]
    return [
        (row, [(column, random_value(rng, most_bytes if 3 * place + at == large else SMALL_BYTES))
               for at, column in enumerate(columns)])
        for place, (row, columns) in enumerate(rows)
    ]  # fmt: skip


Found = list[tuple[bytes, list[tuple[bytes, bytes]]]]


def alone(text: bytes, rows: Table) -> Found:
    """The filter by itself, with every search right here."""
    running = start(parse(text))
    found: Found = []
    for row, cells in rows:
        if running.finished:
            break
        if running.skips_row(row):
            continue
        kept = running.apply(row, [(column, 1, value) for column, value in cells], 1)
        if kept:
            found.append((row, [(column, value) for column, _, value in kept]))
    return found


def over_a_database(text: bytes, table) -> Found:
    return [(row, sorted(cells.items())) for row, cells in table.scan(filter=text)]


def again(text: bytes, table, stretch: Stretch) -> float:
    """How much longer the hub stands with the filter than without it, at the least: a flush or a garbage collection may
    fall into either."""
    differences = []
    for _ in range(3):
        stretch.take()
        over_a_database(EVERYTHING, table)
        floor = stretch.take()
        with contextlib.suppress(LimitExceeded, InvalidRequest):  # what is refused may have taken its time, too
            over_a_database(text, table)
        differences.append(stretch.take() - floor)
    return min(differences)


WORST = (
    rb"[ab]*a[ab]{150}c",
    rb"(x?a?){0,100}(b?a?){0,100}c",
    rb"(x?a?){0,500}(b?a?){0,500}c",
    rb"^(?=(a|a)+$)b",
    rb"(.*)(.*)(.*)\bx",
)
"""Over a text without repetition each keeps an engine busy for seconds a megabyte, or for ever."""


def worst(database: EmbeddedDatabase, stretch: Stretch, size: int, stretch_seconds: float) -> list[str]:
    """What was wrong with the patterns that are known to be costly."""
    table = database.create_table("worst", {"f": {"max_versions": 1}})
    table.put(b"r", {b"f:q": random.Random(size).randbytes(size).translate(b"ab" * 128) + "é".encode()})
    wrong = []
    for pattern in WORST:
        text = b"ValueFilter(=,'regexstring:%b')" % pattern
        stretch.take()
        with contextlib.suppress(LimitExceeded):
            over_a_database(text, table)
        more = stretch.take()
        if more > stretch_seconds:
            more = again(text, table, stretch)
        if more > stretch_seconds:
            wrong.append(f"the hub stood for {more:.3f} s: {text!r}")
    return wrong


def campaign(filters: int, seed: int, folder: Path, most_bytes: int, stretch_seconds: float, loud: bool) -> list[str]:
    """What was wrong."""
    rng = random.Random(seed)
    wrong: list[str] = []
    counts = {"answered": 0, "refused": 0, "ended": 0}
    options = EmbeddedOptions(TabletServerOptions(tablet=TabletOptions(max_cell_bytes=2 * most_bytes)))
    longest = 0.0
    with EmbeddedDatabase(folder / "data", options) as database:
        stretch = Stretch(database)
        wrong += worst(database, stretch, min(most_bytes, 300_000), stretch_seconds)
        table = database.create_table("t", {"f": {"max_versions": 1}})
        number = 0
        while number < filters:
            rows = random_rows(rng, most_bytes)
            for row, cells in rows:
                for column, value in cells:
                    table.put(row, {column: value}, timestamp=number + 1)
            stretch.take()
            assert over_a_database(EVERYTHING, table) == rows
            floor = stretch.take()
            small = sum(len(value) for _, cells in rows for _, value in cells) < 12 * SMALL_BYTES
            for _ in range(25):
                number += 1
                text = random_filters.tree(rng)
                stretch.take()
                try:
                    found = over_a_database(text, table)
                    counts["answered"] += 1
                except LimitExceeded:
                    counts["ended"] += 1
                    found = None
                except InvalidRequest:
                    counts["refused"] += 1
                    continue
                finally:
                    more = stretch.take() - floor
                    if more > stretch_seconds:
                        more = min(more, again(text, table, stretch))
                    longest = max(longest, more)
                    if more > stretch_seconds:
                        wrong.append(f"the hub stood for {more:.3f} s longer than without it: {text!r:.300}")
                if found is not None and small:
                    try:
                        expected = alone(text, rows)
                    except LimitExceeded:
                        continue  # a worker has other moments to be slow in
                    if found != expected:
                        wrong.append(f"{text!r}: {found} instead of {expected}, over {rows}"[:3000])
            if loud:
                print(f"{number} filters, {counts}, longest stretch beyond reading {longest:.4f} s", flush=True)
        stretch.stop()
    return wrong


def beside_java(patterns: int, seed: int, folder: Path) -> list[str]:
    """ValueFilters of one pattern each, over texts in a table."""
    rng = random.Random(seed)
    texts: Sequence[str] = java_patterns.TEXTS
    # None that are made to take long: Java would not come back.
    cases = [(rng.choice((java_patterns.pattern(rng), rng.choice(java_patterns.everyday()))), texts)
             for _ in range(patterns)]  # fmt: skip
    answers = java_patterns.java_answers(cases, folder)
    wrong = []
    with EmbeddedDatabase(folder / "java") as database:
        table = database.create_table("t", ["f"])
        for place, text in enumerate(texts):
            table.put(b"%03d" % place, {b"f:q": text.encode()})
        for (pattern, _), answer in zip(cases, answers, strict=True):
            if "E" in answer or "S" in answer:
                continue
            expected = [b"%03d" % place for place, one in enumerate(answer) if one == "1"]
            quoted = pattern.encode().replace(b"'", b"''")
            try:
                found = [row for row, _ in table.scan(filter=b"ValueFilter(=,'regexstring:%b')" % quoted)]
            except (InvalidRequest, LimitExceeded):
                continue  # java_patterns.py looks at these
            if found != expected:
                wrong.append(f"{pattern!r}: {found} instead of {expected}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filters", type=int, default=2000)
    parser.add_argument("--most-bytes", type=int, default=LARGEST_BYTES)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    with tempfile.TemporaryDirectory() as folder:
        wrong = campaign(
            arguments.filters, arguments.seed, Path(folder), arguments.most_bytes, STRETCH_SECONDS, loud=True
        )
        if java_patterns.available():
            wrong += beside_java(arguments.filters, arguments.seed, Path(folder))
    for one in wrong[:50]:
        print(one)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
