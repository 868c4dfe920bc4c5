"""A database is opened and closed by threads at once, and by a signal handler at each step that it interrupts."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hbtable.errors import AlreadyExists, Unavailable
from hbtable.launch import closing, embedded, shared_database
from hbtable.launch.embedded import EmbeddedDatabase
from hbtable.launch.embedded_cluster import EmbeddedOptions
from hbtable.launch.storage import Storage
from hbtable.runtime.interface import Runtime
from tests.harness.interruption import Interruption
from tests.harness.tiers import long_marks

FILES = {closing.__file__, embedded.__file__, shared_database.__file__}
ID = (1, 2)


class FakeCluster:
    """Starts and stops at once."""

    def __init__(self, runtime: Runtime) -> None:
        self.lost = runtime.event()

    def start(self) -> None:
        pass

    def stop(self, clean: bool) -> None:
        pass


class FakeStorage(Storage):
    """One folder, which only one database may have."""

    root = "/fake"
    folder_id = ID
    outlives = True
    taken = False

    def __init__(self) -> None:
        assert not FakeStorage.taken, "the folder is taken twice"
        FakeStorage.taken = True

    def check_held(self) -> None:
        pass

    def check_files(self) -> None:
        pass

    def reached_by(self, ways_in: Sequence[str]) -> None:
        pass

    def cluster(self, runtime: Runtime, options: EmbeddedOptions) -> Any:
        return FakeCluster(runtime), None

    def close(self) -> None:
        assert FakeStorage.taken
        FakeStorage.taken = False


@pytest.fixture(autouse=True)
def fake_storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shared_database, "storage_at", lambda path, read_only: FakeStorage())
    monkeypatch.setattr(shared_database, "folder_at", lambda path: ID)
    yield
    FakeStorage.taken = False


class Program:
    """Opens the folder twice, uses it and closes it; the handler does the same, or closes what there is."""

    def __init__(self) -> None:
        self.handles: list[EmbeddedDatabase] = []

    def work(self) -> object:
        try:
            with EmbeddedDatabase("/fake") as first:
                self.handles.append(first)
                with EmbeddedDatabase("/fake") as second:
                    self.handles.append(second)
                    first.close()
                    return second._call(divmod, 7, 2)
        except Unavailable:
            return "closed"

    def open_again(self) -> object:
        try:
            with EmbeddedDatabase("/fake") as database:
                return database._call(divmod, 7, 2)
        except AlreadyExists as error:
            return "told" if "just being opened by this thread" in str(error) else str(error)

    def close_all(self) -> object:
        for handle in self.handles:
            handle.close()
        return "closed"

    def drop_all(self) -> object:
        while self.handles:
            self.handles.pop().__del__()
        return "closed"


@pytest.mark.slow  # a database for each step: some seconds
@pytest.mark.filterwarnings("ignore:.*was left open:ResourceWarning")
@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(Program.open_again, marks=long_marks("a handler opens again at each step")),
        Program.close_all,
        Program.drop_all,
    ],
)
def test_a_handler_at_any_step_goes_on_and_so_does_what_it_interrupts(handler: Callable[[Program], object]) -> None:
    seen: set[tuple[str, object]] = set()
    for step in range(1, 1000):
        program = Program()
        answers = Interruption(program.work, lambda: handler(program), step, FILES, "line").answers  # noqa: B023  at once
        seen |= set(answers.items())
        assert not FakeStorage.taken, f"interrupted before step {step}, it leaves the folder taken"
        assert not shared_database._OPEN
        if "handler" not in answers:
            break
    else:
        raise AssertionError("the work has an end")
    answers_of_work = {answer for name, answer in seen if name == "work"}
    assert answers_of_work == ({(3, 1)} if handler is Program.open_again else {(3, 1), "closed"})
    if handler is Program.open_again:
        assert {answer for name, answer in seen if name == "handler"} == {(3, 1), "told"}


def test_threads_that_open_and_close_at_once_share_one_database_at_a_time() -> None:
    def work() -> int:
        answered = 0
        for _ in range(60):
            with EmbeddedDatabase("/fake") as database:
                answered += database._call(divmod, 7, 2) == (3, 1)
        return answered

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            working = [pool.submit(work) for _ in range(6)]
            assert [future.result() for future in working] == [60] * 6
    finally:
        sys.setswitchinterval(before)
    assert not FakeStorage.taken
    assert not shared_database._OPEN
