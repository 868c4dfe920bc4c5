"""A flood of warnings about clients is a few lines and a number, and hides nothing about other clients."""

import logging

import pytest

from hbtable.access.log_limiter import LINES, LINES_OF_ONE, LogLimiter


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def log_limiter(now: list[float], caplog: pytest.LogCaptureFixture) -> LogLimiter:
    caplog.set_level(logging.WARNING)
    return LogLimiter(logging.getLogger("clients"), lambda: now[0])


def test_a_flood_is_a_few_lines_and_a_number(
    log_limiter: LogLimiter, now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for port in range(1000):
        log_limiter.warning("%s is wrong: %d", f"10.0.0.5:{port}", port)
    assert caplog.messages == [f"10.0.0.5:{port} is wrong: {port}" for port in range(LINES_OF_ONE)]
    now[0] = 61.0
    log_limiter.warning("%s is wrong again", "10.0.0.5:1")
    left = 1000 - LINES_OF_ONE
    assert caplog.messages[LINES_OF_ONE:] == [
        f"{left} more warnings about clients were left out, {left} of them about 10.0.0.5",
        "10.0.0.5:1 is wrong again",
    ]


def test_it_hides_neither_another_client_nor_another_warning(
    log_limiter: LogLimiter, now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for port in range(1000):
        log_limiter.warning("%s is wrong", f"[2001:db8::{port:x}]:9")  # all addresses of one network
    log_limiter.warning("%s is wrong", "10.0.0.6:1")
    log_limiter.warning("%s is silent", "[2001:db8::1]:9")
    assert caplog.messages[LINES_OF_ONE:] == ["10.0.0.6:1 is wrong", "[2001:db8::1]:9 is silent"]


def test_many_clients_together_have_a_bound_too(
    log_limiter: LogLimiter, now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5000):
        for _ in range(2):
            log_limiter.warning("%s is wrong", f"10.0.{number >> 8}.{number & 255}:1")
    log_limiter.warning("%s is wrong", "10.0.1.0:1")
    assert len(caplog.messages) == LINES
    now[0] = 61.0
    log_limiter.warning("%s is wrong", "10.0.0.0:1")
    assert (
        caplog.messages[-2] == f"{10_001 - LINES} more warnings about clients were left out, 3 of them about 10.0.1.0"
    )
