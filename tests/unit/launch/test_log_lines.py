"""The log's queue: nobody waits for a reader, and what was dropped is counted and told."""

import errno
import logging
import os
import threading
from collections.abc import Iterator

import pytest

from hbtable.launch.log_lines import LogLines
from tests.harness.waiting import eventually


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def logger_of(lines: LogLines) -> logging.Logger:
    logger = logging.Logger("test")
    logger.addHandler(lines)
    return logger


def test_lines_arrive_in_order(pipe: tuple[int, int]) -> None:
    lines = LogLines(pipe[1])
    logger = logger_of(lines)
    for number in range(100):
        logger.info("line %d", number)
    lines.flush()
    assert os.read(pipe[0], 1 << 16).decode().splitlines() == [f"line {number}" for number in range(100)]


def test_a_pipe_that_nobody_reads_stops_nobody(pipe: tuple[int, int]) -> None:
    lines = LogLines(pipe[1], queued_lines=100)
    logger = logger_of(lines)
    for number in range(20_000):  # 400 KB: without the thread the call number 3,000 or so would never return
        logger.info("line %06d of many", number)
    assert lines.dropped > 0
    os.set_blocking(pipe[0], False)
    heard = bytearray()

    def is_told() -> bool:
        try:
            heard.extend(os.read(pipe[0], 1 << 16))
        except BlockingIOError:
            logger.info("still there")
        return b"log lines were dropped here: nobody read them in time" in heard

    eventually(is_told, 60, "that lines were dropped")
    eventually(lambda: is_told() and lines.is_idle(), 60, "all is written")


def test_a_line_that_cannot_be_formatted_is_said_and_stops_nobody(pipe: tuple[int, int]) -> None:
    lines = LogLines(pipe[1])
    logger = logger_of(lines)
    logger.info("%d", "no number")
    logger.info("\ud800")
    lines.flush()
    heard = os.read(pipe[0], 1 << 16)
    assert heard == b"a log line of test could not be formatted: '%d'\n\\ud800\n"


def test_a_closed_stderr_drops_and_counts() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    lines = LogLines(writing)
    logger_of(lines).info("nobody")
    eventually(lambda: lines.dropped == 1, 60, "the line is counted")
    os.close(writing)


def test_a_pipe_that_does_not_block_loses_no_line(pipe: tuple[int, int]) -> None:
    """Who shares a pipe or a terminal with others may have made it so for all of them."""
    os.set_blocking(pipe[1], False)
    lines = LogLines(pipe[1])
    logger = logger_of(lines)
    for number in range(4000):
        logger.info("line %06d, longer than what the pipe takes", number)
    heard = bytearray()
    os.set_blocking(pipe[0], False)

    def all_heard() -> bool:
        try:
            heard.extend(os.read(pipe[0], 1 << 16))
        except BlockingIOError:
            pass
        return b"line 003999" in heard

    eventually(all_heard, 60, "all lines")
    assert lines.dropped == 0


class SmallDisk:
    """Takes so many bytes, as a disk does: the first ones of what is given, then none."""

    def __init__(self, room: int, error: int = errno.ENOSPC) -> None:
        self.room = room
        self.error = error
        self.taken = bytearray()

    def write(self, _: int, data: bytes) -> int:
        count = min(self.room, len(data))
        if not count:
            raise OSError(self.error, os.strerror(self.error))
        self.room -= count
        self.taken += data[:count]
        return count


def test_a_full_disk_loses_no_line_and_breaks_none() -> None:
    disk = SmallDisk(105)
    lines = LogLines(-1, write=disk.write)
    logger = logger_of(lines)
    for number in range(50):
        logger.info("line %03d", number)
    eventually(lambda: lines.problem() == "No space left on device", 60, "the disk is full")
    assert not lines.is_idle()
    disk.room = 1 << 20
    logger.info("line 050")
    eventually(lines.is_idle, 60, "all is written")
    assert disk.taken.decode().splitlines() == [f"line {number:03d}" for number in range(51)]
    assert (lines.dropped, lines.problem()) == (0, "")


def test_a_full_disk_is_tried_again_though_nothing_more_is_said() -> None:
    disk = SmallDisk(3)
    lines = LogLines(-1, write=disk.write)
    logger_of(lines).info("line")
    eventually(lambda: disk.room == 0, 60, "the disk is full")
    disk.room = 1 << 20
    eventually(lambda: disk.taken == b"line\n", 60, "the rest of the line")


def test_what_a_full_disk_did_not_take_and_the_queue_neither_is_told_behind_what_it_took() -> None:
    disk = SmallDisk(0)
    lines = LogLines(-1, 10, lambda lost, why: b"lost %d: %s" % (lost, why.encode()), disk.write)
    logger = logger_of(lines)
    logger.info("first")
    eventually(lambda: lines.problem() != "", 60, "the disk is full")
    for number in range(25):
        logger.info("line %d", number)
    assert lines.dropped == 15
    disk.room = 1 << 20
    eventually(lines.is_idle, 60, "all is written")
    told = disk.taken.decode().splitlines()
    assert told == ["first", *(f"line {number}" for number in range(10)), "lost 15: No space left on device"]


def test_lines_that_nobody_can_take_are_counted_until_somebody_does() -> None:
    pipe = SmallDisk(0, errno.EPIPE)
    lines = LogLines(-1, told=lambda lost, why: b"lost %d: %s" % (lost, why.encode()), write=pipe.write)
    logger = logger_of(lines)
    for number in range(3):
        logger.info("line %d", number)
        eventually(lambda: lines.dropped == number + 1, 60, "it is counted")  # noqa: B023
        eventually(lines.is_idle, 60, "the try is over")
    assert lines.problem() == "Broken pipe"
    pipe.room = 1 << 20
    logger.info("heard")
    eventually(lines.is_idle, 60, "all is written")
    assert pipe.taken.decode().splitlines() == ["heard", "lost 3: Broken pipe"]
    assert (lines.dropped, lines.problem()) == (3, "")


def test_a_queue_that_nobody_empties_is_a_problem(pipe: tuple[int, int]) -> None:
    lines = LogLines(pipe[1], queued_lines=1)
    logger = logger_of(lines)

    def is_stuck() -> bool:
        logger.info("x" * 10_000)
        return lines.problem() == "nobody read them in time"

    eventually(is_stuck, 60, "the queue is full")
    os.read(pipe[0], 1 << 20)


def test_lines_that_are_dropped_count_for_their_loggers() -> None:
    """Those that did not fit into the queue, and those of a broken pipe, the one that it took a half of among them."""
    disk, first, others = SmallDisk(6 + 9 + 4, errno.EPIPE), threading.Event(), threading.Event()

    def write(descriptor: int, data: bytes) -> int:
        first.set()
        others.wait()
        return disk.write(descriptor, data)

    lines = LogLines(-1, 4, write=write)
    loggers = {name: logging.Logger(name) for name in "abc"}
    for logger in loggers.values():
        logger.addHandler(lines)
    loggers["a"].info("first")
    assert first.wait(60)
    for name in "abccbb":
        loggers[name].info("this is %s", name)
    assert lines.dropped_of == {"b": 2}
    others.set()
    eventually(lambda: lines.is_idle() and lines.problem() != "", 60, "the pipe is broken")
    assert lines.dropped_of == {"b": 3, "c": 2}
    assert lines.dropped == 5
