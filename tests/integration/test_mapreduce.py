"""hbtable.mapreduce on each engine beside plain Python over a happybase scan: word count and an inverted index."""

import os
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hbtable
from hbtable import mapreduce
from hbtable.mapreduce.work_folder import WorkFolder
from tests.harness.server import ServerProcess
from tests.harness.server_processes import kill_servers, server_pids

pytestmark = pytest.mark.integration

PAGES = {
    f"{number % 5:03}.example.{number:03}": " ".join(f"word{number % divisor}" for divisor in range(1, 12))
    for number in range(240)
}
ENGINES = ["processes", pytest.param("dask", marks=pytest.mark.verify)]
Columns = dict[bytes, bytes]


def word_counts() -> Counter[bytes]:
    """Of PAGES, in plain Python."""
    return Counter(word for text in PAGES.values() for word in text.encode().split())


def inverted_index() -> dict[bytes, Columns]:
    """The same of the table that postings() and index() make of them."""
    found: defaultdict[bytes, Columns] = defaultdict(dict)
    for row, text in PAGES.items():
        for word in text.encode().split():
            found[word][b"p:" + row.encode()] = b""
    return found


def words(row: bytes, columns: Columns) -> Iterator[tuple[bytes, int]]:
    mapreduce.count("pages")
    for word in columns[b"contents:"].split():
        yield word, 1


def sum_of(_: bytes, counts: Iterator[int]) -> Iterator[int]:
    yield sum(counts)


def total(word: bytes, counts: Iterator[int]) -> Iterator[tuple[bytes, Columns]]:
    yield word, {b"n:count": b"%d" % sum(counts)}


def postings(row: bytes, columns: Columns) -> Iterator[tuple[bytes, bytes]]:
    for word in set(columns[b"contents:"].split()):
        yield word, row


def index(word: bytes, rows: Iterator[bytes]) -> Iterator[tuple[bytes, Columns]]:
    yield word, {b"p:" + row: b"" for row in rows}


def line(word: bytes, counts: Iterator[int]) -> Iterator[bytes]:
    yield b"%b %d" % (word, sum(counts))


def words_of_a_line(_: int, text: bytes) -> Iterator[tuple[bytes, int]]:
    return ((word, 1) for word in text.split())


def fails_once(row: bytes, columns: Columns) -> Iterable[tuple[bytes, int]]:
    """Counts, too, in the attempt that fails."""
    mapreduce.count("begun")
    if os.environ["MARK"] and not os.path.exists(os.environ["MARK"]):
        Path(os.environ["MARK"]).touch()
        raise OSError("the first attempt")
    return words(row, columns)


def dies_once(row: bytes, columns: Columns) -> Iterable[tuple[bytes, int]]:
    if not os.path.exists(os.environ["MARK"]):
        Path(os.environ["MARK"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return words(row, columns)


def weighs(_: int, text: bytes) -> Iterator[tuple[bytes, int]]:
    mapreduce.count("weight", int(text))
    mapreduce.count("nothing", 0)
    yield text, 1


def always_fails(row: bytes, columns: Columns) -> Iterable[tuple[bytes, int]]:
    raise OSError("as ever")


def breaks_off(word: bytes, counts: Iterator[int]) -> Iterator[tuple[bytes, Columns]]:
    if word == b"word7" and not os.path.exists(os.environ["MARK"]):
        raise OSError("broken off")
    return total(word, counts)


def webtable(db: hbtable.Database) -> hbtable.Table:
    table = db.create_table("webtable", {"contents": {}, "anchor": {}}, split_rows=["001", "003"])
    with table.batch() as batch:
        for row, text in PAGES.items():
            batch.put(row, {"contents:": text, "anchor:x": "not asked for"})
    return table


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("mapreduce") / "data", ["log.durability=os"])
    server.arguments = ["--servers", "2"]
    with server:
        with hbtable.connect("127.0.0.1", server.port) as db:
            webtable(db)
        yield server


@pytest.fixture
def db(server: ServerProcess) -> Iterator[hbtable.Database]:
    with hbtable.connect("127.0.0.1", server.port) as db:
        yield db
        for name in db.tables():
            if name != b"webtable":
                db.delete_table(name, disable=True)


def plain(server: ServerProcess, name: str) -> dict[bytes, Columns]:
    connection = server.connect()
    try:
        return dict(connection.table(name).scan())
    finally:
        connection.close()


def counted(server: ServerProcess) -> dict[bytes, Columns]:
    found = Counter(word for data in plain(server, "webtable").values() for word in data[b"contents:"].split())
    assert sum(found.values()) == 240 * 11
    return {word: {b"n:count": b"%d" % count} for word, count in found.items()}


@pytest.mark.parametrize("on", ENGINES)
def test_word_count_and_inverted_index_are_those_of_plain_python(
    server: ServerProcess, db: hbtable.Database, on: Any
) -> None:
    counts, told = db.create_table("counts", ["n"]), list[tuple[str, int, int]]()
    result = mapreduce.run(
        db.table("webtable"), words, total, counts, sum_of,
        columns=["contents:"], on=on, progress=lambda *done: told.append(done),
    )  # fmt: skip
    assert plain(server, "counts") == counted(server)
    assert {name: result.counters[name] for name in ("map input", "map output", "pages", "output")} == {
        "map input": 240,
        "map output": 240 * 11,
        "pages": 240,
        "output": len(counted(server)),
    }
    assert told[-1] == ("reduce", 4, 4)
    times = {time for _, data in counts.scan(include_timestamp=True) for _, time in data.values()}
    assert times == {result.timestamp}

    mapreduce.run(db.table("webtable"), postings, index, db.create_table("index", ["p"]), columns=["contents:"], on=on)
    expected: defaultdict[bytes, Columns] = defaultdict(dict)
    for row, data in plain(server, "webtable").items():
        for word in data[b"contents:"].split():
            expected[word][b"p:" + row] = b""
    assert plain(server, "index") == expected


def test_a_killed_server_a_split_tablet_and_failed_attempts_change_nothing(
    server: ServerProcess, db: hbtable.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    counts = db.create_table("counts", ["n"])

    disturbed: list[str] = []

    def disturb(kind: str, done: int, tasks: int) -> None:
        if kind == "map" and done >= 1 and not disturbed:
            disturbed.append(kind)
            db.split_table("webtable", "002")
            kill_servers(server_pids(server)[:1])

    result = mapreduce.run(db.table("webtable"), fails_once, total, counts, progress=disturb)
    assert disturbed
    assert plain(server, "counts") == counted(server)
    assert result.counters["retried tasks"] >= 1
    assert result.counters["begun"] == result.counters["pages"] == 240  # those of the failed attempt are forgotten


def test_a_process_that_is_killed_is_replaced(
    server: ServerProcess, db: hbtable.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    mapreduce.run(db.table("webtable"), dies_once, total, db.create_table("counts", ["n"]))
    assert plain(server, "counts") == counted(server)


@pytest.mark.parametrize("on", ENGINES)
def test_a_job_goes_on_with_the_rows_and_the_time_of_its_first_run(
    server: ServerProcess, db: hbtable.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: Any
) -> None:
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    expected, counts, web = counted(server), db.create_table("counts", ["n"]), db.table("webtable")
    with pytest.raises(OSError, match="broken off"):
        mapreduce.run(web, words, breaks_off, counts, on=on, work=tmp_path / "work", attempts=1, workers=1)
    first = {time for _, data in counts.scan(include_timestamp=True) for _, time in data.values()}
    with pytest.raises(hbtable.InvalidRequest, match="holds another job"):
        mapreduce.run(web, postings, index, counts, on=on, work=tmp_path / "work")
    (tmp_path / "mark").touch()
    web.put("late", {"contents:": "late"})
    try:
        result = mapreduce.run(web, words, breaks_off, counts, on=on, work=tmp_path / "work", attempts=1, workers=1)
    finally:
        web.delete("late")
    assert plain(server, "counts") == expected
    assert first <= {result.timestamp}
    assert result.counters["pages"] == 240


def test_files_in_and_out(tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    files[0].write_text("one two\r\ntwo\n")
    files[1].write_text("two three")
    result = mapreduce.run(files, words_of_a_line, line, tmp_path / "out", sum_of, reducers=2, workers=1)
    lines = sorted(one for file in (tmp_path / "out").iterdir() for one in file.read_text().splitlines())
    assert lines == ["one 1", "three 1", "two 3"]
    assert result.counters["map input"] == 3


@pytest.mark.parametrize("on", ENGINES)
def test_counters_are_sums_also_where_they_are_no_more_than_nothing(tmp_path: Path, on: Any) -> None:
    """A sum was left out as soon as it was not above 0, and what was counted before with it."""
    files = [tmp_path / name for name in "abcd"]
    for file, weight in zip(files, ("-3", "5", "-2", "-4"), strict=True):
        file.write_text(weight)
    for work in (None, tmp_path / "work"):
        result = mapreduce.run(files, weighs, total, None, on=on, work=work, workers=1)
        assert result.counters == {
            "map input": 4, "map output": 4, "reduce input": 4, "output": 4, "retried tasks": 0,
            "weight": -4, "nothing": 0,
        }  # fmt: skip


@pytest.mark.parametrize("on", ENGINES)
def test_a_job_of_an_empty_table_has_its_own_counters(db: hbtable.Database, on: Any) -> None:
    result = mapreduce.run(db.create_table("empty", ["n"]), words, total, None, on=on, workers=1)
    own = ("map input", "map output", "reduce input", "output", "retried tasks")
    assert result.counters == dict.fromkeys(own, 0)


def test_a_job_does_not_go_on_into_a_table_that_was_made_anew(
    db: hbtable.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    web, counts = db.table("webtable"), db.create_table("counts", ["n"])
    with pytest.raises(OSError, match="broken off"):
        mapreduce.run(web, words, breaks_off, counts, work=tmp_path / "work", attempts=1, workers=1)
    db.truncate_table("counts", disable=True)
    with pytest.raises(hbtable.InvalidRequest, match="holds another job: 'output' was table counts "):
        mapreduce.run(web, words, breaks_off, counts, work=tmp_path / "work", attempts=1, workers=1)


def test_the_last_error_of_a_task_is_the_jobs(db: hbtable.Database) -> None:
    with pytest.raises(OSError, match="as ever") as caught:
        mapreduce.run(db.table("webtable"), always_fails, total, None, attempts=2, workers=1)
    assert any("attempt 2 of 2" in note for note in caught.value.__notes__)


def test_what_is_wrong_is_said_before_a_task_runs(db: hbtable.Database, tmp_path: Path) -> None:
    web: Any = db.table("webtable")
    for arguments, message in (
        ((web, None, total, None), "the mapper"),
        (("webtable", words, total, None), "a table or a list of files"),
        (([str(tmp_path / "absent")], words, total, None), "is no file"),
        ((web, words, total, 5), "a table or a folder"),
    ):
        with pytest.raises(hbtable.InvalidRequest, match=message):
            mapreduce.run(*arguments)
    with pytest.raises(hbtable.WrongValue, match="'processes', 'dask'"):
        mapreduce.run(web, words, total, None, on="hadoop")  # type: ignore[arg-type]
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(hbtable.InvalidRequest, match="others than this user"):
        mapreduce.run(web, words, total, None, work=tmp_path / "open")


def test_dask_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    (tmp_path / "a").write_text("one")
    with pytest.raises(hbtable.InvalidRequest, match=r"pip install 'hbtable\[dask\]'"):
        mapreduce.run([tmp_path / "a"], words_of_a_line, line, None, on="dask")


def test_what_somebody_else_put_into_the_folder_is_not_run(tmp_path: Path) -> None:
    """Pickles are programs. A folder that was open to all may have some when it is closed."""
    folder = WorkFolder(tmp_path / "work")
    folder.keep("map-0", [1, 2])
    assert list(folder.kept("map-0")) == [1, 2]
    assert (folder.path / "map-0").stat().st_mode & 0o777 == 0o600
    (folder.path / "map-0").chmod(0o666)
    with pytest.raises(hbtable.InvalidRequest, match="another user's, or others can write to it"):
        list(folder.kept("map-0"))
    (folder.path / "linked").symlink_to(folder.path / "map-0")
    with pytest.raises(OSError, match="symbolic link"):
        list(folder.kept("linked"))
