"""The folders of jobs: what is kept in one goes on as the same job or not at all, and an output has one job's parts."""

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

import hbtable
from hbtable import mapreduce
from hbtable.errors import Corruption
from hbtable.mapreduce.work_folder import WorkFolder
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.integration

ENGINES = ["processes", pytest.param("dask", marks=pytest.mark.verify)]
WORDS = ["one two two", "two three", "three three", "one"]
LINES = ["one 2", "three 3", "two 3"]
Columns = dict[bytes, bytes]


def words(offset: int, text: bytes) -> Iterator[tuple[bytes, int]]:
    with Path(os.environ["CALLS"]).open("ab") as calls:
        calls.write(b".")
    return ((word, 1) for word in text.split())


def other_words(offset: int, text: bytes) -> Iterator[tuple[bytes, int]]:
    return ((word.upper(), 1) for word in text.split())


def sum_of(_: bytes, counts: Iterator[int]) -> Iterator[int]:
    yield sum(counts)


def line(word: bytes, counts: Iterator[int]) -> Iterator[bytes]:
    yield b"%b %d" % (word, sum(counts))


def line_or_break(word: bytes, counts: Iterator[int]) -> Iterator[bytes]:
    if word == b"two" and os.environ["BREAKS"]:
        raise OSError("broken off")
    return line(word, counts)


def times(factor: int, word: bytes, counts: Iterator[int]) -> Iterator[bytes]:
    if os.environ["BREAKS"]:
        raise OSError("broken off")
    yield b"%b %d" % (word, factor * sum(counts))


class Times:
    """A reducer with a state."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, word: bytes, counts: Iterator[int]) -> Iterator[bytes]:
        return times(self.factor, word, counts)


def number(row: bytes, columns: Columns) -> Iterator[tuple[bytes, int]]:
    yield row, int(columns[b"n:count"])


def one_more(row: bytes, numbers: Iterator[int]) -> Iterator[tuple[bytes, Columns]]:
    yield row, {b"n:count": b"%d" % (sum(numbers) + 1)}


LIMIT, UNREAD = 3, 3
CALLED = 0


def limited(offset: int, text: bytes) -> Iterator[tuple[bytes, int]]:
    """Reads a constant of its module, in a function of its own, and counts in one that it changes."""
    global CALLED
    CALLED += 1
    return ((word, 1) for word in text.split() if len(word) > LIMIT)


def waits_or_fails(offset: int, text: bytes) -> Iterator[tuple[bytes, int]]:
    """Fails once another task waits, for what never comes."""
    mark = Path(os.environ["CALLS"])
    if text == b"fails":
        eventually(mark.exists, SOON_SECONDS, "a task that waits")
        raise OSError("as ever")
    mark.touch()
    try:
        eventually(lambda: not mark.exists(), SOON_SECONDS, "what never comes")
    finally:
        mark.with_suffix(".ended").touch()
    return iter(())


@contextlib.contextmanager
def broken_off(kind: str, tasks: int) -> Iterator[Any]:
    """The job in the with block, which takes this as its progress, breaks off when so many tasks are done."""

    def told(what: str, done: int, _: int) -> None:
        if (what, done) == (kind, tasks):
            raise OSError("broken off")

    with pytest.raises(OSError, match="broken off"):
        yield told


class Job:
    """Counts words of files, and breaks off as long as it is told to."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files = [folder / f"{number}.txt" for number in range(4)]
        for file, text in zip(self.files, WORDS, strict=True):
            file.write_text(text)
        self.out, self.work, self.calls = folder / "out", folder / "work", folder / "calls"
        self._environment = monkeypatch
        monkeypatch.setenv("CALLS", str(self.calls))
        self.breaks(True)

    def breaks(self, breaks: bool) -> None:
        self._environment.setenv("BREAKS", "1" if breaks else "")

    def run(self, **changed: Any) -> mapreduce.JobResult:
        given: dict[str, Any] = {"input": self.files, "mapper": words, "reducer": line_or_break, "output": self.out}
        given |= {"work": self.work, "reducers": 2, "workers": 1, "attempts": 1}
        return mapreduce.run(**{**given, **changed})

    def broken_off(self, **changed: Any) -> None:
        with pytest.raises(OSError, match="broken off"):
            self.run(**changed)
        self.breaks(False)

    def begin(self, **changed: Any) -> None:
        """No task of it runs."""
        with broken_off("map", 0) as progress:
            self.run(progress=progress, **changed)

    def lines(self) -> list[str]:
        return sorted(one for file in self.out.iterdir() for one in file.read_text().splitlines())


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    with contextlib.suppress(ModuleNotFoundError):
        dask: Any = import_module("dask")
        monkeypatch.setitem(dask.config.config, "scheduler", "synchronous")
    return Job(tmp_path, monkeypatch)


def test_a_kept_file_that_was_cut_or_changed_anywhere_is_not_whole(tmp_path: Path) -> None:
    """At the end of a thousand values, too, where the pickles end."""
    folder = WorkFolder(tmp_path / "work", "a")
    values = list(range(1001))
    folder.keep("x", values)
    assert folder.is_whole("x")
    assert list(folder.kept("x")) == values
    assert not WorkFolder(tmp_path / "work", "b").is_whole("x"), "it is another job's"
    data = (tmp_path / "work" / "x").read_bytes()
    torn = [data[:size] for size in (*range(100), *range(100, len(data) - 100, 31), *range(len(data) - 100, len(data)))]
    torn += [data + b"\0"]
    torn += [data[:size] + bytes(len(data) - size) for size in range(0, len(data) - 8, 97)]
    torn += [data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :] for at in range(0, len(data), 41)]
    for some in torn:
        (tmp_path / "work" / "x").write_bytes(some)
        assert not folder.is_whole("x")
        with pytest.raises(Corruption, match="give an empty 'work' folder"):
            list(folder.kept("x"))


@pytest.mark.parametrize("on", ENGINES)
def test_what_was_torn_is_made_again(job: Job, on: Any) -> None:
    job.broken_off(on=on)
    pairs = sorted(job.work.glob("pairs-*"))
    assert len(pairs) == 8
    for file in pairs[2:4]:
        file.write_bytes(file.read_bytes()[:-9])
    job.calls.unlink()
    job.run(on=on)
    assert job.lines() == LINES
    assert job.calls.read_bytes() == b".", "one of four files is mapped again"


@pytest.mark.parametrize("on", ENGINES)
def test_the_tasks_that_are_done_are_not_done_again(job: Job, on: Any) -> None:
    told: list[tuple[str, int, int]] = []
    job.broken_off(on=on)
    job.run(on=on, progress=lambda *done: told.append(done))
    assert job.calls.read_bytes() == b"...."
    assert told[0] == ("map", 4, 4)
    assert job.lines() == LINES


@pytest.mark.parametrize("on", ENGINES)
def test_a_part_that_is_gone_is_made_again(job: Job, on: Any) -> None:
    job.breaks(False)
    with broken_off("reduce", 2) as progress:
        job.run(on=on, progress=progress)
    (job.out / "part-00000").unlink()
    job.run(on=on)
    assert job.lines() == LINES
    assert job.calls.read_bytes() == b"...."


@pytest.mark.parametrize("on", ENGINES)
def test_a_job_that_has_ended_begins_anew(tmp_path: Path, job: Job, on: Any) -> None:
    """It gave the first one's counters and time, and read nothing."""
    with hbtable.open(tmp_path / "data") as db:
        table, out = db.create_table("t", ["n"]), db.create_table("out", ["n"])
        table.put("a", {"n:count": "1"})
        given: dict[str, Any] = {"on": on, "work": job.work, "reducers": 2, "workers": 1}
        first = mapreduce.run(table, number, one_more, out, **given)
        table.put("a", {"n:count": "5"})
        table.put("b", {"n:count": "7"})
        second = mapreduce.run(table, number, one_more, out, **given)
        assert dict(out.scan()) == {b"a": {b"n:count": b"6"}, b"b": {b"n:count": b"8"}}
        assert (first.counters["map input"], second.counters["map input"]) == (1, 2)
        assert second.timestamp > first.timestamp
        db.truncate_table("out", disable=True)
        mapreduce.run(table, number, one_more, out, **given)
        assert len(list(out.scan())) == 2
        mapreduce.run(table, number, one_more, None, **given)  # another job may have the folder of one that has ended


@pytest.mark.parametrize("over", ["the program", *taking_turns(["the folder"], 2)])
def test_a_table_that_was_dropped_or_emptied_is_another_one(tmp_path: Path, over: str) -> None:
    """What the job had written is gone, and went on with it was half of the output. Over a port: test_mapreduce.py."""
    with hbtable.open(tmp_path / "data") as db, contextlib.ExitStack() as stack:
        db.share()
        user = db if over == "the program" else stack.enter_context(hbtable.connect(folder=tmp_path / "data"))
        for name in ("input", "output"):
            for anew in ("dropped", "truncated"):
                for table in ("input", "output"):
                    db.create_table(table, ["n"]).put("a", {"n:count": "1"})
                given: dict[str, Any] = {"mapper": number, "reducer": one_more, "work": tmp_path / (name + anew)}
                given |= {one: user.table(one) for one in ("input", "output")}
                with broken_off("reduce", 1) as progress:
                    mapreduce.run(**given, reducers=1, progress=progress)
                if anew == "dropped":
                    db.delete_table(name, disable=True)
                    db.create_table(name, ["n"])
                else:
                    db.truncate_table(name, disable=True)
                with pytest.raises(hbtable.InvalidRequest, match=f"holds another job: '{name}' was table {name} "):
                    mapreduce.run(**given, reducers=1)
                for table in ("input", "output"):
                    db.delete_table(table, disable=True)


@pytest.mark.parametrize("name", ["row_prefix", "columns"])
def test_arguments_alike_for_a_hundred_bytes_are_told_apart(tmp_path: Path, name: str) -> None:
    with hbtable.open(tmp_path / "data") as db:
        table = db.create_table("t", ["n"])

        def given(last: str) -> dict[str, Any]:
            value: Any = "n:" + 100 * "x" + last
            return {"work": tmp_path / "work", name: [value] if name == "columns" else value}

        with broken_off("map", 0) as progress:
            mapreduce.run(table, number, one_more, None, **given("a"), progress=progress)
        with pytest.raises(hbtable.InvalidRequest, match=f"holds another job: '{name}' ") as caught:
            mapreduce.run(table, number, one_more, None, **given("b"))
        assert len(str(caught.value)) < 1000
        mapreduce.run(table, number, one_more, None, **given("a"))


def test_a_function_is_known_by_the_constants_that_it_reads(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by others, nor by what it changes itself."""
    here = import_module(limited.__module__)
    job.begin(mapper=limited)
    monkeypatch.setattr(here, "UNREAD", 4)
    monkeypatch.setattr(here, "CALLED", 4)
    job.begin(mapper=limited)
    for other in (4, 3.0, "3", (3, b""), None):
        monkeypatch.setattr(here, "LIMIT", other)
        with pytest.raises(hbtable.InvalidRequest, match="holds another job: 'mapper' "):
            job.begin(mapper=limited)


def test_a_folder_of_another_version_is_not_read(tmp_path: Path) -> None:
    """They are pickles, of classes of that version."""
    folder = WorkFolder(tmp_path / "work", "a")
    folder.keep("x", [1])
    file = tmp_path / "work" / "x"
    head, _, rest = file.read_bytes().partition(b"\n")
    ours = (hbtable.__version__, ".".join(map(str, sys.version_info[:2])))
    assert head.decode() == "hbtable job 2 a, of hbtable {} and Python {}".format(*ours)
    for other in (head.replace(ours[0].encode(), b"9.9.9"), head.replace(ours[1].encode(), b"3.99")):
        file.write_bytes(other + b"\n" + rest)
        with pytest.raises(Corruption, match="begins as no file of this job, by hbtable "):
            list(folder.kept("x"))


OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("mapper", {"mapper": other_words}),
    ("reducer", {"reducer": line}),
    ("combiner", {"combiner": sum_of}),
    ("reducers", {"reducers": 3}),
    ("reducer", {"reducer": functools.partial(times, 3)}),
    ("reducer", {"reducer": Times(3)}),
]
FIRST: dict[str, Any] = {"partial": functools.partial(times, 2), "Times": Times(2)}


@pytest.mark.parametrize(("name", "changed"), OTHERS, ids=[f"{one[0]} {place}" for place, one in enumerate(OTHERS)])
def test_a_job_with_another_argument_is_another_job(job: Job, name: str, changed: dict[str, Any]) -> None:
    first = FIRST.get(type(changed.get("reducer")).__name__)
    job.begin(**({"reducer": first} if first else {}))
    with pytest.raises(hbtable.InvalidRequest, match=f"holds another job: '{name}' ") as caught:
        job.run(**changed)
    assert "give it a folder of its own" in str(caught.value)


def test_a_job_of_other_files_or_another_output_is_another_job(job: Job, tmp_path: Path) -> None:
    job.begin()
    with pytest.raises(hbtable.InvalidRequest, match="holds another job: 'input' "):
        job.run(input=job.files[:3])
    with pytest.raises(hbtable.InvalidRequest, match="holds another job: 'output' "):
        job.run(output=tmp_path / "elsewhere")
    job.files[0].write_text("one two two four")
    with pytest.raises(hbtable.InvalidRequest, match="holds another job: 'input' "):
        job.run()


@pytest.mark.verify
def test_two_lambdas_are_two_functions(job: Job) -> None:
    def counted(factor: int) -> Any:
        return lambda offset, text: ((word, factor) for word in text.split())

    job.begin(on="dask", mapper=counted(1))
    job.breaks(False)
    with pytest.raises(hbtable.InvalidRequest, match="holds another job: 'mapper' "):
        job.run(on="dask", mapper=lambda offset, text: [(text, 1)])
    with pytest.raises(hbtable.InvalidRequest, match="holds another job: 'mapper' "):
        job.run(on="dask", mapper=counted(2))
    job.run(on="dask", mapper=counted(1))
    assert job.lines() == LINES


def test_other_rows_columns_or_another_table_are_another_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hbtable.open(tmp_path / "one") as one, hbtable.open(tmp_path / "two") as two:
        for db in (one, two):
            db.create_table("t", ["n"]).put("a", {"n:count": "1"})
        given: dict[str, Any] = {"mapper": number, "reducer": one_more, "work": tmp_path / "work"}

        with broken_off("map", 0) as progress:
            mapreduce.run(
                one.table("t"), **given, columns=["n:count"], row_prefix="a", output=one.table("t"), progress=progress
            )
        others: list[tuple[str, dict[str, Any]]] = [
            ("columns", {"columns": ["n"]}),
            ("row_prefix", {"row_prefix": "b"}),
            ("input", {"input": two.table("t")}),
            ("output", {"output": two.table("t")}),
        ]
        for name, changed in others:
            same: dict[str, Any] = {
                "input": one.table("t"),
                "columns": ["n:count"],
                "row_prefix": "a",
                "output": one.table("t"),
            }
            with pytest.raises(hbtable.InvalidRequest, match=f"holds another job: '{name}' "):
                mapreduce.run(**given, **{**same, **changed})


def test_what_cannot_be_known_again_is_refused(job: Job) -> None:
    with pytest.raises(hbtable.InvalidRequest, match="the mapper holds what cannot be pickled"):
        job.run(mapper=functools.partial(cast("Any", words), threading.Lock()))


def test_an_output_has_the_parts_of_one_job(job: Job) -> None:
    job.breaks(False)
    job.run(work=None, reducers=5)
    assert job.lines() == LINES
    with pytest.raises(hbtable.InvalidRequest, match=r"the output folder .* has files already \(part-00000"):
        job.run(work=None, input=job.files[:1])
    assert job.lines() == LINES


def test_a_job_that_writes_to_its_input_reads_what_was_there_when_it_began(tmp_path: Path) -> None:
    """Also where a map task has to be done again."""
    with hbtable.open(tmp_path / "data") as db:
        table = db.create_table("t", {"n": {"max_versions": 3}})
        table.put("a", {"n:count": "1"})
        given: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "reducers": 1}
        with broken_off("reduce", 1) as progress:
            mapreduce.run(table, number, one_more, table, **given, progress=progress)
        assert table.row("a") == {b"n:count": b"2"}
        for name in ("map-0", "pairs-0-0", "reduce-0"):
            (tmp_path / "work" / name).unlink()
        mapreduce.run(table, number, one_more, table, **given)
        assert table.row("a") == {b"n:count": b"2"}


def test_a_task_that_fails_ends_the_others(job: Job) -> None:
    """It was told when all had ended by themselves."""
    for file, text in zip(job.files, ["waits", "fails", "waits", "waits"], strict=True):
        file.write_text(text)
    with pytest.raises(OSError, match="as ever"):
        job.run(mapper=waits_or_fails, workers=2)
    assert not job.calls.with_suffix(".ended").exists()


def test_a_folder_into_which_others_may_put_theirs_is_refused(job: Job, tmp_path: Path) -> None:
    (tmp_path / "everybody").mkdir()
    (tmp_path / "everybody").chmod(0o777)
    with pytest.raises(hbtable.InvalidRequest, match="in which everybody may put another file into its place"):
        job.run(work=tmp_path / "everybody" / "work")
    assert not job.calls.exists()
