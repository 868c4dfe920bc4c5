"""A stranger's text is no line of the log: not in a message, not in an error's traceback."""

import ast
import logging
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hbtable.launch.log_format import LineFormatter
from hbtable.launch.log_lines import LogLines
from tests.architecture.product_trees import PRODUCT, product_files, product_tree
from tests.harness.commands import LONG_SECONDS

INJECTED = "P\n2026-11-24 10:00:00,000 INFO hbtable: all is well\r\x1b[2J\u2028x\x9b\x00"


@pytest.fixture
def told() -> Iterator[tuple[logging.Logger, int, LogLines]]:
    reading, writing = os.pipe()
    logger, lines = logging.Logger("hbtable.test"), LogLines(writing)
    lines.setFormatter(LineFormatter())
    logger.addHandler(lines)
    yield logger, reading, lines
    os.close(reading)
    os.close(writing)


def lines_of(told: tuple[logging.Logger, int, LogLines]) -> list[str]:
    told[2].flush()
    return os.read(told[1], 1 << 16).decode().splitlines()


def test_a_message_is_one_line(told: tuple[logging.Logger, int, LogLines]) -> None:
    told[0].warning("did not let %s in: %s", "10.0.0.7:1", INJECTED)
    told[0].warning(INJECTED)
    first, second = lines_of(told)
    assert first.endswith(
        "WARNING hbtable.test: did not let 10.0.0.7:1 in: P\\x0A2026-11-24 10:00:00,000 INFO hbtable: all is well"
        "\\x0D\\x1B[2J\\xE2\\x80\\xA8x\\xC2\\x9B\\x00"
    )
    assert second.endswith("\\x00")


def test_lines_of_a_traceback_are_indented(told: tuple[logging.Logger, int, LogLines]) -> None:
    def failing() -> None:
        try:
            raise ValueError(INJECTED)
        except ValueError as error:
            raise KeyError(INJECTED) from error

    try:
        failing()
    except KeyError:
        told[0].exception("it failed", stack_info=True)
    first, *more = lines_of(told)
    assert first.endswith("ERROR hbtable.test: it failed")
    assert "    Traceback (most recent call last):" in more
    assert all(line.startswith("    ") and line.isprintable() for line in more), more


def test_the_log_of_a_process_is_made_so() -> None:
    program = "import logging, sys; from hbtable.launch.process import log_to_stderr; log_to_stderr()\n"
    program += f"logging.getLogger('a').error('%s', {INJECTED!r}); logging.shutdown()"
    ended = subprocess.run(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, check=True, timeout=LONG_SECONDS
    )
    assert len(ended.stderr.splitlines()) == 1


WAYS_TO_A_LOG = ("basicConfig", "StreamHandler", "FileHandler", "print_exc")


def test_nothing_else_writes_a_log() -> None:
    """Every other way to a log's line would be one past the formatter: handlers, and tracebacks that are printed."""
    found = {
        str(path.relative_to(PRODUCT))
        for path in product_files()
        if any(way in path.read_text(encoding="utf-8") for way in WAYS_TO_A_LOG)  # to parse all takes four seconds
        for node in ast.walk(product_tree(path))
        if isinstance(node, ast.Attribute) and node.attr in WAYS_TO_A_LOG
    }
    assert found <= {"launch/process.py"}
