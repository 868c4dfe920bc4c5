"""The walks of docs/architecture.md beside what really runs: files and functions that a put and a scan enter, in order.

A real server in this process is profiled while happybase talks to it.
"""

import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import greenlet
import pytest
from happybase.table import TScan

from tests.integration.test_thrift_gateway import Running

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"^\d+\. ", re.MULTILINE)
LINK = re.compile(r"\]\(\.\./(hbtable/[\w/]+\.py)\)(?:,? `(\w+(?:\.\w+)?)`)?")
NOT_ALWAYS = {
    "hbtable/tablet/writes/gate.py": "only if it is shut",
    "hbtable/metadata/split_repair.py": "only after a crash between the two changes",
    "hbtable/metadata/tiling.py": "only while the left child's row does not stand",
    "hbtable/master/files/garbage.py": "when neither child names a file any more",
}
EVERYWHERE = {"encoding", "lockservice", "metrics", "model", "runtime"}
"""Packages that everything uses: a walk need not stop at each."""

Stop = tuple[str, str]
"""A file below ROOT and a function of it."""


class Recorder:
    """Every function of hbtable that is entered between begin() and end(), and in which task."""

    def __init__(self) -> None:
        self._recording = False
        self._entered: list[tuple[object, Stop]] = []
        self._names: dict[str, str] = {}

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        if self._recording and event == "call":
            path = frame.f_code.co_filename
            name = self._names.get(path)
            if name is None:
                below = Path(path).is_relative_to(ROOT / "hbtable")
                name = self._names[path] = str(Path(path).relative_to(ROOT)) if below else ""
            if name:
                self._entered.append((greenlet.getcurrent(), (name, frame.f_code.co_name)))

    def begin(self) -> None:
        self._recording = True

    def end(self) -> None:
        self._recording = False

    def all(self) -> set[Stop]:
        return {stop for _, stop in self._entered}

    def of_the_connection(self) -> list[Stop]:
        """In order, of the task that serves it alone: others do what is due at any time."""
        (task,) = {task for task, (file, function) in self._entered if function == "_calls"}
        return [stop for one, stop in self._entered if one is task]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """Profiles threads that start from now on."""
    made = Recorder()
    threading.setprofile(made.profile)
    yield made
    threading.setprofile(None)  # type: ignore[arg-type]


@pytest.fixture
def server(recorder: Recorder, tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "data")
    running.start()
    with closing(running.connect()) as connection:
        connection.create_table("t", {"f": {}})
        connection.table("t").put(b"row000", {b"f:a": b"its place is known from now on"})
    yield running
    running.stop()


def walk(heading: str) -> list[Stop]:
    """The stops of its numbered steps in order; a function's name is empty where none is named."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert section, f"there is no walk {heading!r}"
    lines = itertools.takewhile(lambda line: line[0].isdigit() or line[0] == " ", _from_first_step(section))
    steps = "".join(lines)
    return [(file, function.rpartition(".")[2]) for file, function in LINK.findall(steps)]


def _from_first_step(section: str) -> list[str]:
    found = STEP.search(section)
    assert found
    return section[found.start() :].splitlines(keepends=True)


def nobody_came(stops: list[Stop], entered: set[Stop]) -> list[str]:
    files = {file for file, _ in entered}
    return [file for file, _ in stops if file not in files and file not in NOT_ALWAYS]


def check_stops(stops: list[Stop], entered: set[Stop]) -> None:
    assert nobody_came(stops, entered) == []
    files = {file for file, _ in entered}
    assert [stop for stop in stops if stop[1] and stop[0] in files and stop not in entered] == [], "it is not called"


def check_order(stops: list[Stop], entered: list[Stop]) -> None:
    """Each file's first stop, by when its function was first called, or anything of it where none is named."""
    firsts = dict(reversed(stops))
    when = {
        file: next((at for at, stop in enumerate(entered) if stop[0] == file and function in ("", stop[1])), None)
        for file, function in firsts.items()
    }
    shown = [file for file in dict.fromkeys(file for file, _ in stops) if when[file] is not None]
    assert shown == sorted(shown, key=lambda file: when[file] or 0), "they come in another order"


def packages(files: Iterator[str]) -> set[str]:
    return {file.split("/")[1] for file in files}


def test_a_put_goes_where_the_walk_goes(server: Running, recorder: Recorder) -> None:
    recorder.begin()
    with closing(server.connect()) as connection:
        connection.table("t").put(b"row001", {b"f:a": b"1"})
    recorder.end()
    stops = walk("A put, from socket to disk")
    assert len(stops) > 15
    check_stops(stops, recorder.all())
    check_order(stops, recorder.of_the_connection())
    entered, shown = (packages(file for file, _ in some) for some in (recorder.of_the_connection(), stops))
    assert entered - shown <= EVERYWHERE, "the walk leaves packages out"


def test_a_scan_goes_where_the_walk_goes(server: Running, recorder: Recorder) -> None:
    with closing(server.connect()) as connection, connection.table("t").batch() as batch:
        for number in range(200):
            batch.put(b"row%03d" % number, {b"f:a": b"1"})
    recorder.begin()
    with closing(server.connect()) as connection:
        client: Any = connection.client
        scanner = client.scannerOpenWithScan(b"t", TScan(caching=100), {})
        rows = [result.row for result in client.scannerGetList(scanner, 100)]
        server.split(b"t", b"row140")
        rows += [result.row for result in client.scannerGetList(scanner, 100)]
        assert len(connection.table("t").regions()) == 2
    recorder.end()
    assert rows == [b"row%03d" % number for number in range(200)]
    stops = walk("A scan across a split")
    assert len(stops) > 10
    check_stops(stops, recorder.all())
    check_order(stops[: stops.index(("hbtable/tabletserver/split.py", ""))], recorder.of_the_connection())


def test_a_wrong_turn_would_be_noticed() -> None:
    stops = walk("A put, from socket to disk")
    entered = [(file, function) for file, function in stops if file not in NOT_ALWAYS]
    check_stops(stops, set(entered))
    for missing in {file for file, _ in entered}:
        assert nobody_came(stops, {stop for stop in entered if stop[0] != missing})
    with pytest.raises(AssertionError, match="it is not called"):
        check_stops(stops, {(file, "another") for file, _ in entered})
    with pytest.raises(AssertionError, match="another order"):
        check_order(stops, list(reversed(entered)))
