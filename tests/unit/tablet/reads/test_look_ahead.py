"""Scans and reads whose filter asks a worker process: the same rows, few questions, and an error that stays its own."""

import pytest

from hbtable.errors import LimitExceeded
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.runtime.interface import WorkerDied
from tests.harness.tablet_bench import Bench, everything, put

LOOKING = rb"ValueFilter(=,'regexstring:(?=v)v.*[05]')"


def filled(bench: Bench):
    tablet = bench.open()
    tablet.mutate([put(b"%03d" % number, b"f:a", b"v%d" % number) for number in range(300)])
    return tablet


def counted(bench: Bench) -> list[int]:
    """How many parts each question is about."""
    asked: list[int] = []
    ask = bench.runtime.run_in_process

    def counting(kind, job, parts, seconds, *turn):
        asked.append(len(parts) - 3)
        return ask(kind, job, parts, seconds, *turn)

    bench.runtime.run_in_process = counting
    return asked


@pytest.mark.parametrize("max_rows", [1, 3, 1000])
@pytest.mark.parametrize("backwards", [False, True])
def test_pages_of_any_size_give_the_rows_that_pass(bench: Bench, max_rows: int, backwards: bool) -> None:
    def main() -> None:
        tablet = filled(bench)
        request = ScanRequest(spec=ReadSpec(filter=LOOKING), max_rows=max_rows, reversed=backwards)
        expected = [b"%03d" % number for number in range(300) if set(str(number)) & {"0", "5"}]
        assert [row for row, _ in everything(tablet, request)] == (expected[::-1] if backwards else expected)

    bench.run(main)


def test_a_scan_asks_about_many_rows_at_once(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        asked = counted(bench)
        page = tablet.scan(ScanRequest(spec=ReadSpec(filter=LOOKING)))
        assert page.rows
        assert sum(asked) == 300
        assert len(asked) <= 11, "1, 1, 2, 4, ... 128, and the rest"

    bench.run(main)


def test_a_row_with_many_cells_is_one_question(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:%d" % number, b"v%d" % number) for number in range(50)])
        asked = counted(bench)
        assert len(tablet.read_rows([b"r"], ReadSpec(filter=LOOKING))[0][1]) == 10
        assert asked == [50]

    bench.run(main)


def test_a_worker_that_dies_ends_the_request_with_the_reason(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        ask = bench.runtime.run_in_process

        def dying(kind, job, parts, seconds, *turn):
            raise WorkerDied("took more than 1 s")

        bench.runtime.run_in_process = dying
        reason = r"regexstring '\(\?=v\)v\.\*\[05\]' could not be looked for in 2 bytes: the worker process took more"
        for read in (
            lambda: tablet.scan(ScanRequest(spec=ReadSpec(filter=LOOKING))),
            lambda: tablet.read_rows([b"001"], ReadSpec(filter=LOOKING)),
        ):
            with pytest.raises(LimitExceeded, match=reason):
                read()
        bench.runtime.run_in_process = ask
        assert tablet.read_rows([b"005"], ReadSpec(filter=LOOKING))

    bench.run(main)
