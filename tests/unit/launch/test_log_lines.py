"""The log's queue: nobody waits for a reader, and what was dropped is counted and told."""

import logging
import os
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
