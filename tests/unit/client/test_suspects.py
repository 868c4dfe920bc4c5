"""Requests that servers died of are refused after the second death, by every process, until something clears them."""

import pytest

from hbtable.client.suspects import FILE, Suspects
from hbtable.errors import LimitExceeded, ServerLost, Unavailable
from hbtable.fs.under_way import NAME, Mark, MarksFile
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanPosition, ScanRequest
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

SPEC = ReadSpec({b"f": frozenset((b"a", b"b"))}, filter=b"PrefixFilter('x')")
REQUEST = ScanRequest(RowRange(b"a", b"c"), SPEC)
ANSWER = ScanPage([], None)
MARK = Mark(b"0123456789abcdef", "t with the filter ü")


class Cluster:
    """Two processes that call servers, and one lock service."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime(1)
        service = MemoryLockService(self.runtime)
        self.session = service.open_session("one")
        self.one = Suspects(self.runtime, self.session)
        self.other = Suspects(self.runtime, service.open_session("other"))

    def run(self, main) -> None:
        def begin() -> None:
            self.one.start()
            self.other.start()
            main()

        self.runtime.run(begin)


def dies():
    raise ServerLost("no answer")


def lose(suspects: Suspects, owner: str, request: ScanRequest = REQUEST) -> None:
    with pytest.raises(ServerLost):
        suspects.scan(owner, "t", request, dies)


def asks(suspects: Suspects, owner: str, request: ScanRequest = REQUEST) -> ScanPage:
    return suspects.scan(owner, "t", request, lambda: ANSWER)


def test_the_second_death_is_the_last():
    cluster = Cluster()

    def main() -> None:
        lose(cluster.one, "s1")
        lose(cluster.one, "s2")
        with pytest.raises(LimitExceeded, match=r"on table t with the filter PrefixFilter\('x'\) .* 2 tablet servers"):
            asks(cluster.one, "s3")
        cluster.runtime.sleep(1)
        with pytest.raises(LimitExceeded):
            asks(cluster.other, "s3")
        for another in (ReadSpec(filter=SPEC.filter), ReadSpec(SPEC.columns, filter=b"PrefixFilter('y')")):
            assert asks(cluster.one, "s3", ScanRequest(REQUEST.range, another)) is ANSWER
        later = ScanRequest(REQUEST.range, SPEC, position=ScanPosition(b"b", 0))
        assert asks(cluster.one, "s3", later) is ANSWER

    cluster.run(main)


def test_no_answer_of_a_server_that_lives_on_is_no_death():
    cluster = Cluster()

    def main() -> None:
        for _ in range(5):
            lose(cluster.one, "s1")
        assert asks(cluster.one, "s1") is ANSWER
        assert asks(cluster.one, "s2") is ANSWER

    cluster.run(main)


def test_a_death_that_cannot_be_written_down_counts_once():
    cluster = Cluster()
    refused: list[str] = []

    def main() -> None:
        def refuse(path: str, *written: bytes) -> None:
            refused.append(path)
            cluster.session.read = refuse
            raise Unavailable("the lock service has no leader")

        cluster.session.create = refuse
        lose(cluster.one, "s1")
        assert asks(cluster.one, "s2") is ANSWER
        assert FILE in refused

    cluster.run(main)


def test_an_answer_clears_it_for_everybody():
    cluster = Cluster()

    def main() -> None:
        lose(cluster.one, "s1")
        assert asks(cluster.one, "s2") is ANSWER
        cluster.runtime.sleep(1)
        lose(cluster.other, "s2")
        assert asks(cluster.other, "s3") is ANSWER
        lose(cluster.other, "s3")
        assert asks(cluster.other, "s4") is ANSWER

    cluster.run(main)


@pytest.mark.parametrize("way", ["a day", "an operator"])
def test_it_is_forgotten_after_a_day_or_when_an_operator_says_so(way: str):
    cluster = Cluster()

    def main() -> None:
        lose(cluster.one, "s1")
        lose(cluster.one, "s2")
        with pytest.raises(LimitExceeded):
            asks(cluster.one, "s3")
        if way == "a day":
            cluster.runtime.wall_offset_millis += 25 * 3600 * 1000
        else:
            cluster.session.delete(FILE)
        assert asks(cluster.one, "s3") is ANSWER

    cluster.run(main)


@pytest.mark.parametrize("data", [b"", b"rubbish", b'{"format": 2, "requests": 3}', b'{"format": 1, "requests": [1]}'])
def test_a_file_that_cannot_be_read_says_nothing(data: bytes):
    cluster = Cluster()

    def main() -> None:
        cluster.session.create(FILE, data)
        cluster.runtime.sleep(1)
        lose(cluster.one, "s1")
        assert asks(cluster.one, "s2") is ANSWER

    cluster.run(main)


def test_marks_tell_the_next_process_what_was_under_way(tmp_path):
    marks = MarksFile(str(tmp_path))
    assert marks.left_over() == []
    place = marks.take(MARK)
    marks.free(marks.take(Mark(b"f" * 16, "done")))
    again = MarksFile(str(tmp_path))
    assert again.left_over() == [MARK]
    marks.close()
    marks.free(place)
    assert MarksFile(str(tmp_path)).left_over() == []


def test_marks_are_bounded_in_number_and_length(tmp_path):
    marks = MarksFile(str(tmp_path))
    places = [marks.take(Mark(bytes((number,)) * 16, "ü" * 1000)) for number in range(70)]
    assert places.count(-1) == 6
    assert len(MarksFile(str(tmp_path)).left_over()) == 64
    for place in places:
        marks.free(place)


@pytest.mark.parametrize("data", [b"", b"HBUW\x00\x00\x00\x02" + b"\x01" * 300, b"HBUW\x00\x00\x00\x01\x01abc"])
def test_marks_of_another_version_or_cut_off_are_passed_over(tmp_path, data: bytes):
    (tmp_path / NAME).write_bytes(data)
    assert MarksFile(str(tmp_path)).left_over() == []


def test_without_a_file_there_are_no_marks(tmp_path):
    marks = MarksFile(str(tmp_path / "missing"))
    assert marks.take(MARK) == -1
    marks.free(-1)
    marks.close()


def test_a_process_that_died_twice_with_it_refuses_it_in_its_third_life(tmp_path):
    runtime = SimulatedRuntime(1)
    service = MemoryLockService(runtime)

    def life() -> Suspects:
        suspects = Suspects(runtime, service.open_session("life"), MarksFile(str(tmp_path)))
        suspects.start()
        return suspects

    def main() -> None:
        for _ in range(2):
            suspects = life()
            never = runtime.event()
            for _ in range(3):  # of three that are the same, each life counts one
                runtime.spawn(suspects.scan, "s", "t", REQUEST, never.wait)
            runtime.sleep(1)
            assert asks(suspects, "s", ScanRequest(REQUEST.range, ReadSpec(filter=b"KeyOnlyFilter()"))) is ANSWER
        suspects = life()
        with pytest.raises(LimitExceeded):
            asks(suspects, "s")
        (tmp_path / NAME).unlink()
        assert asks(suspects, "s") is ANSWER
        assert (tmp_path / NAME).exists()

    runtime.run(main)
    runtime.crash()
